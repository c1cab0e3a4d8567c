// SPDX-License-Identifier: Apache-2.0
// One program for any number of rows: the oracle (with trips it is the program that lowering makes for that number),
// runs at many sizes with one compilation, and mutants that must be caught.

#include <gtest/gtest.h>

#include <random>

#include "backends/compiled_runner.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "driver/execute.h"
#include "isamap/compile.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "program/row_loops.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

const HardwareModel& machine() {
  static const HardwareModel model = machine_of_file("x86_avx2");
  return model;
}

SymbolicKernel product_of_rows(const std::string& facts = "{min: 0, max: 4096, likely: [200, 1]}") {
  return symbolic_kernel("kernel: projection\ndims: {M: " + facts + R"(, N: 40, K: 24}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)");
}

const std::string softmax = R"(kernel: softmax
dims: {M: {min: 0, max: 4096, likely: 64}, N: 21}
tensors: {X: {shape: [M, N]}, H: {shape: [M]}, E: {shape: [M, N]}, L: {shape: [M]}, Y: {shape: [M, N]}}
compute:
  - H[i] max= X[i,j]
  - E[i,j] = exp(X[i,j] - H[i])
  - L[i] += E[i,j]
  - Y[i,j] = E[i,j] / L[i]
)";

const std::string strided_batch = R"(kernel: conv
dims: {N: {min: 0, max: 100, likely: 4}, P: 7}
tensors: {I: {shape: [N, 3, 2*P + 1, 10]}, F: {shape: [4, 3, 3, 3]}, O: {shape: [N, 4, P, 8]}}
compute:
  - O[n,k,p,q] += I[n,c,2*p+r,q+s] * F[k,c,r,s]
)";

const std::string window = R"(kernel: window
dims: {H: {min: 4, max: 500, likely: 101}, P: "(H - 3)/2 + 1"}
tensors: {I: {shape: [H, 20]}, F: {shape: [3, 20]}, O: {shape: [P, 20]}}
compute:
  - O[p,c] += I[2*p+r,c] * F[r,c]
)";

/// Several tests use one program.
const SymbolicCompilation& compiled(const SymbolicKernel& kernel) {
  static std::map<std::string, SymbolicCompilation> known;
  const std::string key = print(kernel.sample) + print(kernel.facts);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 30;
  SymbolicCompilation result = compile_symbolic(kernel, machine(), options);
  EXPECT_TRUE(result.program) << render(result.problems);
  return known[key] = std::move(result);
}

bool runs_here() { return availability(machine()).how == ExecutionMode::native; }

void run_many(const std::string& text, const std::string& size, std::int64_t low, std::int64_t high) {
  if (!runs_here()) GTEST_SKIP() << availability(machine()).why;
  const SymbolicKernel kernel = symbolic_kernel(text);
  const SymbolicCompilation& program = compiled(kernel);
  ASSERT_TRUE(program.program);
  const auto runner = make_symbolic_runner(*program.program, machine());
  std::mt19937 random(7);
  std::vector<std::int64_t> sizes;
  for (std::int64_t value = low; value <= high; ++value) sizes.push_back(value);
  for (int n = 0; n < 2; ++n)
    sizes.push_back(std::uniform_int_distribution<std::int64_t>(low, kernel.facts.sizes[0].max)(random));
  for (const std::int64_t value : sizes) {
    const auto checked = run_at(*runner, kernel, {{size, value}}, availability(machine()).how);
    ASSERT_TRUE(checked) << size << " = " << value << "\n" << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << size << " = " << value << ": " << checked->first_difference;
  }
  EXPECT_EQ(runner->compilations(), 1);
}

TEST(SymbolicRows, WhereAKernelHasThem) {
  const auto rows = rows_of(product_of_rows());
  ASSERT_TRUE(rows) << render(rows.diagnostics());
  EXPECT_EQ(print(rows->count), "M");
  EXPECT_EQ(with_rows(product_of_rows(), *rows, 5).tensors[2].shape, (std::vector<std::int64_t>{5, 40}));
  const auto strided = rows_of(symbolic_kernel(window));
  ASSERT_TRUE(strided) << render(strided.diagnostics());
  EXPECT_EQ(strided->factor.at(TensorId{0}), 2);
  EXPECT_EQ(with_rows(symbolic_kernel(window), *strided, 5).tensors[0].shape[0], 11);
}

TEST(SymbolicRows, RefusalsNameTheSizeToBind) {
  const auto why = [](const std::string& text) {
    const auto rows = rows_of(symbolic_kernel(text));
    return rows ? "" : rows.diagnostics().front().message + "; " + rows.diagnostics().front().hint;
  };
  const std::string head = "kernel: k\ndims: {M: {max: 64, likely: 8}}\n";
  EXPECT_EQ(
      why(head + "tensors: {A: {shape: [4, M]}, C: {shape: [4, M]}}\ncompute: ['C[i,j] = A[i,j]']\n"),
      "no program for all sizes: dimension 1 of 'A' is M, and only the outermost one may be symbolic; bind sizes: "
      "--sizes M=8");
  EXPECT_EQ(why(head + "tensors: {A: {shape: [M]}, C: {shape: [4]}}\ncompute: ['C[i] += A[k]']\nwhere: {i: 4}\n"),
            "no program for all sizes: k of statement s0 is summed over; bind sizes: --sizes M=8");
  EXPECT_NE(why(head + "tensors: {A: {shape: [M], outside: 0}, C: {shape: [M]}}\ncompute: ['C[i] = A[i-1]']\n")
                .find("at neighbouring rows with `outside`"),
            std::string::npos);
  EXPECT_EQ(why("kernel: pad\ndims: {M: {max: 64, likely: 8}, N: M + 3}\n"
                "tensors: {A: {shape: [M], outside: 0.5}, C: {shape: [N]}}\ncompute: ['C[i] = A[i]']\nwhere: {i: N}\n"),
            "no program for all sizes: statement s0 reads 'A' beyond its M rows; bind sizes: --sizes M=8");
  EXPECT_NE(why(head + "tensors: {T: {shape: [M]}, C: {shape: [M]}, A: {shape: [M]}}\n"
                       "compute: ['T[i] = A[i]', 'C[i] = T[63*i/63]']\n"),
            "x");
  EXPECT_EQ(why(head + "tensors: {A: {shape: [M]}, C: {shape: [M]}}\ncompute: ['C[i] = A[i] / f32(value(M))']\n"),
            "no program for all sizes: statement s0 computes with M; bind sizes: --sizes M=8");
}

TEST(SymbolicRows, PartsServeEveryNumberOfRows) {
  for (const SymbolicKernel& kernel :
       {product_of_rows(), symbolic_kernel(softmax), symbolic_kernel(strided_batch), symbolic_kernel(window)}) {
    const SymbolicCompilation& program = compiled(kernel);
    ASSERT_TRUE(program.program);
    const RowVersion& all = program.program->versions.back();
    EXPECT_TRUE(all.when.empty());
    EXPECT_LE(program.program->versions.size(), 4U);
    EXPECT_EQ(uncovered_rows(all), std::nullopt) << kernel.sample.name;
    for (std::size_t p = 0; p < all.parts.size(); ++p) {  // mutant: without one part some number is not served
      RowVersion less = all;
      less.parts.erase(less.parts.begin() + static_cast<std::ptrdiff_t>(p));
      if (all.parts[p].rows == 1 || less.parts.empty()) {
        EXPECT_NE(uncovered_rows(less), std::nullopt) << kernel.sample.name << " " << all.parts[p].rows;
      }
    }
  }
}

/// Comments tell extents.
void drop_comments(std::vector<Node>& nodes) {
  std::erase_if(nodes, [](const Node& node) { return std::holds_alternative<Comment>(node.is); });
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) drop_comments(loop->body);
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      drop_comments(guard->then);
      drop_comments(guard->otherwise);
    }
  }
}

/// With trips set, a part is node by node the program that lowering makes for that number of rows.
TEST(SymbolicRows, APartWithTripsIsTheProgramOfThatSize) {
  const SymbolicKernel kernel = product_of_rows();
  const SymbolicCompilation& program = compiled(kernel);
  ASSERT_TRUE(program.program);
  const Rows rows = *rows_of(kernel);
  int compared = 0;
  for (std::size_t v = 0; v < program.schedules.size(); ++v)
    for (const RowPart& part : program.program->versions[v].parts) {
      if (part.loops.empty()) continue;
      for (const std::int64_t tiles : {2, 4, 5, 9}) {
        const auto lowered = lower(program.schedules[v], with_rows(kernel, rows, tiles * part.rows), machine());
        ASSERT_TRUE(lowered) << render(lowered.diagnostics());
        Program with = with_trips(part.program, part.loops, tiles * part.rows), without = *lowered;
        drop_comments(with.body);
        drop_comments(without.body);
        EXPECT_TRUE(with.body == without.body) << tiles << "\n"
                                               << print(with, machine()) << "\nand\n"
                                               << print(without, machine());
        ++compared;
      }
    }
  EXPECT_GT(compared, 0);
}

/// Compilers that inline them into the entry keep no tile in registers.
TEST(SymbolicRows, PartsAreNotInlined) {
  const SymbolicCompilation& program = compiled(product_of_rows());
  ASSERT_TRUE(program.program);
  const auto unit = print_symbolic_cpp(*program.program, machine());
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_NE(unit->text.find("\n[[gnu::noinline]] static void "), std::string::npos);
  EXPECT_EQ(unit->text.find("\nstatic void "), std::string::npos);
}

const std::string large_weights =
    "kernel: projection\ndims: {M: {min: 0, max: 600, likely: 200}, N: 128, K: 96}\n"
    "tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}\n"
    "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n";

/// Tiles and the rows before them are the program of that number of rows with its last tile moved to the front.
TEST(SymbolicRows, TheRemainderIsOfTheSamePass) {
  const SymbolicKernel kernel = symbolic_kernel(large_weights);
  const SymbolicCompilation& program = compiled(kernel);
  ASSERT_TRUE(program.program);
  const Rows rows = *rows_of(kernel);
  const RowVersion& all = program.program->versions.back();
  ASSERT_FALSE(all.remainder_first.empty());
  for (std::size_t remainder = 1; remainder <= all.remainder_first.size(); ++remainder) {
    const RowPart& part = all.remainder_first[remainder - 1];
    const auto before = static_cast<std::int64_t>(remainder);
    EXPECT_LT(before, part.rows);
    for (const std::int64_t tiles : {2, 5}) {
      const std::int64_t count = tiles * part.rows + before;
      const auto lowered = lower(program.schedules.back(), with_rows(kernel, rows, count), machine());
      ASSERT_TRUE(lowered) << render(lowered.diagnostics());
      EXPECT_EQ(row_loops(*lowered, machine(), count, rows.factor, part.rows), std::nullopt);
      EXPECT_FALSE(remainder_first(*lowered, machine(), count, rows.factor, part.rows, before + 1));  // mutant
      auto moved = remainder_first(*lowered, machine(), count, rows.factor, part.rows, before);
      ASSERT_TRUE(moved) << remainder;
      EXPECT_EQ(moved->loops, part.loops);
      Program with = with_trips(part.program, part.loops, tiles * part.rows);
      drop_comments(with.body);
      drop_comments(moved->program.body);
      EXPECT_TRUE(with.body == moved->program.body) << remainder << " " << tiles;
    }
  }
  // Small weights stay in the nearest cache: a second pass is as good, and less code.
  EXPECT_TRUE(compiled(product_of_rows()).program->versions.back().remainder_first.empty());
}

TEST(SymbolicRows, RemaindersInOnePassAtManySizes) { run_many(large_weights, "M", 0, 22); }

TEST(SymbolicRows, AProductAtManySizes) {
  run_many(
      "kernel: projection\ndims: {M: {min: 0, max: 600, likely: 200}, N: 40, K: 24}\n"
      "tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}\n"
      "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n",
      "M", 0, 25);
}
TEST(SymbolicRows, SoftmaxAtManySizes) { run_many(softmax, "M", 0, 9); }
TEST(HeavySymbolicRows, AtMoreSizes) {
  run_many(large_weights, "M", 23, 45);
  run_many(softmax, "M", 10, 18);
}
TEST(SymbolicRows, ABatchOfStridedWindowsAtManySizes) { run_many(strided_batch, "N", 0, 9); }
TEST(SymbolicRows, HeavyStridedRowsAtManySizes) { run_many(window, "H", 4, 24); }

/// One row has no loop in front of the code that packs, which is the same but for the names of its loops.
TEST(SymbolicRows, SumsInPartsArePackedAlikeForEveryRemainder) {
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: parts
dims: {M: {max: 60, likely: 24}, N: 40, K: 24}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)");
  const auto schedule = parse_schedule(R"(schedule: parts
kernel: parts
target: x86_avx2
nest:
  - stage B in ram as [j/8, k, j%8] aot
  - for k by 12
  - for i by 4
  - for j by 8
  - stage C in vec
  - for k by 1
  - stage B in vec
  - for i by 1 unroll
  - stage A in vec
  - do s0 with fma_f32(j=j)
)",
                                       "s.yaml", *bind(kernel, {{"M", 24}}), machine());
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  CompileOptions options;
  options.hand_written = *schedule;
  const SymbolicCompilation program = compile_symbolic(kernel, machine(), options);
  ASSERT_TRUE(program.program) << render(program.problems);
  const RowVersion& version = program.program->versions.back();
  EXPECT_FALSE(version.parts.front().loops.empty());
  EXPECT_FALSE(version.parts.back().program.prepack.empty());
  if (!runs_here()) GTEST_SKIP() << availability(machine()).why;
  const auto runner = make_symbolic_runner(*program.program, machine());
  for (const std::int64_t rows : {0, 1, 4, 7, 60}) {
    const auto checked = run_at(*runner, kernel, {{"M", rows}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << rows << ": " << checked->first_difference;
  }
}

/// A copy of the output of all images: no loop walks them. An image costs the same in a block of several.
TEST(SymbolicRows, BlocksAreAsLargeAsTheyAreCheaper) {
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: weights
dims: {N: {max: 60, likely: 4}}
tensors: {I: {shape: [N, 8, 12, 12], outside: 0}, F: {shape: [40, 8, 3, 3], constant: true}, O: {shape: [N, 40, 12, 12]}}
compute:
  - O[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]
)");
  const auto schedule = parse_schedule(R"(schedule: weights
kernel: weights
target: x86_avx2
nest:
  - stage F in ram as [k/16, c, r, s, k%16] aot
  - stage O in ram as [n, k/16, p, q, k%16]
  - for n by 1
  - for k by 16
  - for p by 1
  - for q by 4
  - stage O in vec
  - for c by 1
  - for r by 1
  - for s by 1
  - stage F in vec
  - for q by 1 unroll
  - stage I in vec
  - for k by 8 unroll
  - do s0 with fma_f32(j=k) outside I skip
)",
                                       "s.yaml", *bind(kernel, {{"N", 4}}), machine());
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  CompileOptions options;
  options.hand_written = *schedule;
  const SymbolicCompilation program = compile_symbolic(kernel, machine(), options);
  ASSERT_TRUE(program.program) << render(program.problems);
  const std::vector<RowPart>& parts = program.program->versions[0].parts;
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].rows, 1);
  std::vector<std::int64_t> rows;  // several statements: rows hide latencies
  for (const RowPart& part : compiled(symbolic_kernel(softmax)).program->versions.back().parts)
    rows.push_back(part.rows);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{64, 8, 7, 6, 5, 4, 3, 2, 1}));
  if (!runs_here()) GTEST_SKIP() << availability(machine()).why;
  const auto runner = make_symbolic_runner(*program.program, machine());
  for (const std::int64_t images : {0, 1, 5}) {
    const auto checked = run_at(*runner, kernel, {{"N", images}}, ExecutionMode::native);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << images << ": " << checked->first_difference;
  }
}

TEST(SymbolicRows, NoBlockHasMoreRowsThanTheFactsAllow) {
  std::string few = softmax;
  few.replace(few.find("max: 4096, likely: 64"), std::string("max: 4096, likely: 64").size(), "max: 4");
  std::vector<std::int64_t> rows;
  for (const RowPart& part : compiled(symbolic_kernel(few)).program->versions.back().parts) rows.push_back(part.rows);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{4, 3, 2, 1}));
  run_many(few, "M", 0, 4);
}

/// A schedule of blocks of 16 rows is none of 300 rows: each part is priced, whatever its schedule is.
TEST(SymbolicRows, PartsArePricedWhereTheirScheduleDoesNotServeAllRows) {
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: gemm
dims: {M: {max: 400}, N: 300, K: 301}
tensors: {A: {shape: [M, K]}, B: {shape: [N, K]}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[j,k]
)");
  CompileOptions options;
  options.schedule.max_evaluations = 300;
  const SymbolicCompilation compiled = compile_symbolic(kernel, machine(), options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  std::map<std::int64_t, double> cycles;
  for (const std::int64_t rows : {0, 1, 17, 100, 300}) {
    const auto cost = predicted_at(compiled, machine(), {{"M", rows}}, options.schedule.costs);
    ASSERT_TRUE(cost) << rows << " rows";
    cycles[rows] = cost->cycles;
  }
  EXPECT_GT(cycles[1], 0);
  EXPECT_GT(cycles[17], cycles[1]);
  EXPECT_GT(cycles[300], 2 * cycles[100]);
  EXPECT_LT(cycles[300], 4 * cycles[100]);
}

TEST(SymbolicRows, MutantsAreCaught) {
  if (!runs_here()) GTEST_SKIP() << availability(machine()).why;
  const SymbolicKernel kernel = product_of_rows();
  const SymbolicCompilation& program = compiled(kernel);
  ASSERT_TRUE(program.program);
  const auto is_right = [&](const SymbolicProgram& mutant, std::int64_t size) {
    const auto runner = make_symbolic_runner(mutant, machine());
    const auto checked = run_at(*runner, kernel, {{"M", size}}, availability(machine()).how);
    return checked && checked->correct;
  };
  EXPECT_TRUE(is_right(*program.program, 201));
  SymbolicProgram moved = *program.program;
  for (auto& [tensor, step] : moved.step) step += 1;
  EXPECT_FALSE(is_right(moved, 201));
  SymbolicProgram fewer = *program.program;
  fewer.versions.erase(fewer.versions.begin(), fewer.versions.end() - 1);
  ASSERT_GT(fewer.versions.back().parts.size(), 1U);
  const std::int64_t remainder = fewer.versions.back().parts.back().rows;
  fewer.versions.back().parts.pop_back();
  EXPECT_FALSE(is_right(fewer, 10 * fewer.versions.back().parts.front().rows + remainder));
}

TEST(SymbolicRows, ALoopWhoseVariableHasOtherUsesIsNone) {
  const SymbolicKernel kernel = product_of_rows();
  const SymbolicCompilation& program = compiled(kernel);
  ASSERT_TRUE(program.program);
  const Rows rows = *rows_of(kernel);
  for (const RowPart& part : program.program->versions.back().parts) {
    if (part.loops.empty()) continue;
    ASSERT_EQ(row_loops(part.program, machine(), 32 * part.rows, rows.factor, part.rows), part.loops);
    Program guarded = part.program;  // the last step would differ
    guarded.body = {Node{Guard{{AffineExpr(1)}, part.program.body, {}, ""}}};
    EXPECT_EQ(row_loops(guarded, machine(), 32 * part.rows, rows.factor, part.rows), part.loops);
    std::function<void(std::vector<Node>&)> guard_bodies = [&](std::vector<Node>& nodes) {
      for (Node& node : nodes)
        if (auto* loop = std::get_if<Loop>(&node.is)) {
          guard_bodies(loop->body);
          if (part.loops.contains(loop->variable))
            loop->body = {Node{Guard{{AffineExpr(1) - AffineExpr::dim(loop->variable)}, loop->body, {}, ""}}};
        }
    };
    guard_bodies(guarded.body);
    guard_bodies(std::get<Guard>(guarded.body[0].is).then);
    EXPECT_EQ(row_loops(guarded, machine(), 32 * part.rows, rows.factor, part.rows), std::nullopt);
    EXPECT_EQ(row_loops(part.program, machine(), 33 * part.rows, rows.factor, part.rows), std::nullopt);
  }
}

}  // namespace
}  // namespace isamap
