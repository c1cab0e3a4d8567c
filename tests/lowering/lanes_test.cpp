// SPDX-License-Identifier: Apache-2.0
// Vectorized reductions: the transformed kernel is equivalent, schedules record the transformation, and the search uses
// it if the reduction has stride 1.

#include <fmt/format.h>

#include "ir/text/parse.h"
#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "scheduler/vectorized_reductions.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

std::string statements_of(const Kernel& kernel) {
  std::string text;
  for (const Computation& c : kernel.statements) {
    const std::string printed = print(c, kernel.tensors);
    text += c.name + ": " + printed.substr(0, printed.find(" over ")) + "\n";
  }
  return text;
}

/// Tensors of the kernel are the first of the kernel in lanes.
void expect_same_values(const Kernel& kernel, const std::vector<VectorizedReduction>& parts) {
  const auto laned = vectorize_reductions(kernel, parts);
  ASSERT_TRUE(laned) << render(laned.diagnostics());
  EXPECT_EQ(render(verify(*laned)), "");
  EXPECT_EQ(arguments(*laned), arguments(kernel));
  Random random(5);
  std::vector<TensorData> expected, found;
  for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
  for (std::size_t t = 0; t < laned->tensors.size(); ++t)
    found.push_back(t < expected.size() ? expected[t] : make_data(laned->tensors[t]));
  interpret(kernel, expected);
  interpret(*laned, found);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) EXPECT_EQ(expected[t].bytes, found[t].bytes) << print(*laned);
}

Kernel column(std::int64_t rows, std::int64_t length) {
  return formula("y[i] += A[i,k] * x[k]", "i=" + std::to_string(rows) + ",k=" + std::to_string(length));
}

TEST(Lanes, AreStatementsOfTheirOwn) {
  const auto whole = vectorize_reductions(column(3, 32), {{"s0", "k", 16, 1}});
  ASSERT_TRUE(whole) << render(whole.diagnostics());
  EXPECT_EQ(statements_of(*whole),
            "s0_parts: y_parts[i,k_lane] += A[i,k_lane + 16*k_round] * x[k_lane + 16*k_round]\n"
            "s0: y[i] += y_parts[i,k_lane]\n");
  const auto tail = vectorize_reductions(column(3, 37), {{"s0", "k", 16, 1}});
  ASSERT_TRUE(tail) << render(tail.diagnostics());
  EXPECT_EQ(statements_of(*tail),
            "s0_parts: y_parts[i,k_lane] += A[i,k_lane + 16*k_round] * x[k_lane + 16*k_round]\n"
            "s0_tail: y_tail[i,k_lane] = A[i,k_lane + 32] * x[k_lane + 32]\n"
            "s0_whole: y_whole[i] += y_parts[i,k_lane]\n"
            "s0_rest: y_rest[i] += y_tail[i,k_lane]\n"
            "s0: y[i] = y_whole[i] + y_rest[i]\n");
}

/// y[i,0], as reductions of models that keep their axes write it, is y[i] for the lanes.
TEST(Lanes, AxesOfOneElementAreLeftOut) {
  for (const int length : {32, 37}) {
    const Kernel kernel = *parse_kernel(fmt::format(
        "kernel k\ntensor x: f32[3,{0}]\ntensor y: f32[3,1]\ns0: y[i,0] max= x[i,k] over i: 3, k: {0}\n", length));
    expect_same_values(kernel, {{"s0", "k", 16, 1}});
    const auto laned = vectorize_reductions(kernel, {{"s0", "k", 16, 1}});
    EXPECT_EQ(laned->tensors[2].shape, (std::vector<std::int64_t>{3, 16}));
  }
  const Kernel wide =
      *parse_kernel("kernel k\ntensor x: f32[3,32]\ntensor y: f32[3,2]\ns0: y[i,0] max= x[i,k] over i: 3, k: 32\n");
  EXPECT_EQ(vectorize_reductions(wide, {{"s0", "k", 16, 1}}).diagnostics()[0].message,
            "lanes s0 k 16: y is written at 0, which is no plain dim");
}

/// The dims of lanes are new ones, and a tail begins no elements that others write.
TEST(Lanes, KeepToTheirStatement) {
  expect_same_values(formula("y[k_lane] += A[k_lane,k] * x[k]", "k_lane=3,k=37"), {{"s0", "k", 16, 1}});
  expect_same_values(formula("y[k_round] += A[k_round,k] * x[k]", "k_round=3,k=32"), {{"s0", "k", 8, 2}});
  Kernel two = formula("y[i] max= A[i,k]", "i=4,k=37");
  two.tensors[two.statements.front().write.tensor.index()].shape = {8};
  Computation other = two.statements.front();
  other.name = "s1";
  other.write.index = {AffineExpr::dim("i") + 4};
  two.statements.push_back(other);
  ASSERT_EQ(render(verify(two)), "");
  const auto refused = vectorize_reductions(two, {{"s0", "k", 16, 1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.diagnostics()[0].message,
            "lanes s0 k 16: y is written by s1, too, and 16 lanes of 1 leave a rest of the 37 points of k");
}

TEST(Lanes, ComputeTheSame) {
  for (const std::int64_t length : {8, 9, 16, 23, 24, 40})
    for (const std::int64_t rows : {0, 1, 5}) {
      expect_same_values(column(rows, length), {{"s0", "k", 8, 1}});
      expect_same_values(column(rows, length), {{"s0", "k", 4, 2}});
      expect_same_values(column(rows, length), {{"s0", "k", 2, 3}});
      const std::string dims = "i=" + std::to_string(rows) + ",k=" + std::to_string(length);
      expect_same_values(formula("y[i] max= A[i,k]", dims), {{"s0", "k", 8, 1}});
      expect_same_values(formula("y[i] min= A[i,k]", dims), {{"s0", "k", 8, 1}});
      expect_same_values(formula("C[i,j] += A[i,k,r] * B[j,k,r]", dims + ",j=3,r=2"), {{"s0", "k", 8, 1}});
      expect_same_values(formula("C[i,j] += s32(A[i,k]) * s32(B[j,k])", dims + ",j=2", "A=s8,B=s8,C=s32"),
                         {{"s0", "k", 2, 4}});
    }
}

TEST(Lanes, RefusalsNameWhatWasFound) {
  const auto why = [](const Kernel& kernel, const VectorizedReduction& parts) {
    const auto made = vectorize_reductions(kernel, {parts});
    return made ? std::string("taken") : render(made.diagnostics());
  };
  EXPECT_NE(why(column(3, 15), {"s0", "k", 16, 1}).find("k of s0 has 15 points; 16 lanes of 1 need at least 16"),
            std::string::npos);
  EXPECT_NE(why(column(3, 32), {"s0", "i", 2, 1}).find("i of s0 is no reduction"), std::string::npos);
  EXPECT_NE(why(column(3, 32), {"s0", "z", 16, 1}).find("s0 has no dim 'z'"), std::string::npos);
  EXPECT_NE(why(column(3, 32), {"s7", "k", 16, 1}).find("no statement 's7'"), std::string::npos);
  EXPECT_NE(why(column(3, 32), {"s0", "k", 1, 1}).find("at least 2 lanes"), std::string::npos);
  EXPECT_NE(why(formula("C[i] = A[i,0] + A[i,1]", "i=4"), {"s0", "i", 2, 1}).find("adds nothing up"),
            std::string::npos);
  EXPECT_FALSE(parse_vectorized_reduction("s0 k"));
  EXPECT_FALSE(parse_vectorized_reduction("s0 k 16 of 2"));
  EXPECT_EQ(print(*parse_vectorized_reduction("s0 k 16 by 2")), "s0 k 16 by 2");
}

TEST(Lanes, AddedUpAnywhereIsSaid) {
  const HardwareModel model = machine("x86_avx512");
  const Kernel kernel = formula("y[i] += A[i,k]", "i=3,k=21");
  const auto program = lower(
      schedule_of({"for i by 1", "for k by 16", "stage A in vec", "do s0 with sum_f32_masked(j=k)"}), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  ASSERT_FALSE(program->assumptions.empty());
  EXPECT_EQ(program->assumptions.back().kind, Assumption::Kind::sums_in_any_order);
  EXPECT_NE(program->assumptions.back().text.find("in any order"), std::string::npos);
}

const char* const by_hand = R"(schedule: column
kernel: formula
target: x86_avx512
lanes: [s0 k 16]
nests:
  -
    - for i by 4
    - stage y_parts in vec
    - for k_round by 1
    - stage x in vec
    - for i by 1 unroll
    - stage A in vec
    - do s0_parts with fma_f32(j=k_lane)
  -
    - for i by 1
    - stage y_parts in vec
    - do s0 with sum_f32(j=k_lane)
)";

TEST(Lanes, AreReadPrintedAndLowered) {
  const HardwareModel model = machine("x86_avx512");
  for (const std::int64_t rows : {1, 4, 7}) {
    const Kernel kernel = column(rows, 48);
    const auto schedule = parse_schedule(by_hand, "column.yaml", kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    EXPECT_EQ(print(*schedule), by_hand);
    EXPECT_EQ(render(verify(*schedule, kernel, model)), "");
    const auto program = lower(*schedule, kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    Random random(7);
    std::vector<TensorData> expected, found;
    for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
    for (std::size_t t = 0; t < program->kernel.tensors.size(); ++t)
      found.push_back(t < expected.size() ? expected[t] : make_data(program->kernel.tensors[t]));
    interpret(kernel, expected);
    const auto counts = interpret(*program, model, found);
    ASSERT_TRUE(counts) << render(counts.diagnostics());
    for (std::size_t t = 0; t < expected.size(); ++t) EXPECT_EQ(expected[t].bytes, found[t].bytes);
    const auto said = [](const Assumption& one) { return one.kind == Assumption::Kind::sums_in_any_order; };
    EXPECT_TRUE(std::any_of(program->assumptions.begin(), program->assumptions.end(), said));  // --strict-float refuses
  }
  const auto wrong = parse_schedule(by_hand, "column.yaml", column(3, 9), model);
  ASSERT_FALSE(wrong);
  EXPECT_NE(render(wrong.diagnostics()).find("column.yaml:4"), std::string::npos) << render(wrong.diagnostics());
}

Result<LaneSearch> search_of(const Kernel& kernel, const HardwareModel& model, bool in_order = false) {
  const auto mapped = enumerate_mappings(kernel, model, {});
  EXPECT_TRUE(mapped);
  ScheduleOptions options;
  options.max_evaluations = 200;
  options.space.sums_in_order = in_order;
  return schedule_or_in_lanes(kernel, *mapped, model, options, {});
}

TEST(Lanes, AreTakenAlongRowsAndNotOtherwise) {
  for (const char* name : {"x86_avx512", "x86_avx2", "arm_neon"}) {
    const HardwareModel model = machine(name);
    const auto along = search_of(column(64, 512), model), ordered = search_of(column(64, 512), model, true),
               across = search_of(formula("y[i] += A[k,i] * x[k]", "i=64,k=512"), model);
    ASSERT_TRUE(along && ordered && across) << name;
    EXPECT_EQ(along->scheduled.schedule.lanes.size(), 1u) << name << "\n" << print(along->scheduled.schedule);
    EXPECT_TRUE(ordered->scheduled.schedule.lanes.empty()) << name;
    EXPECT_TRUE(across->scheduled.schedule.lanes.empty()) << name;
  }
}

/// Bytes too: their sums are whole numbers.
TEST(Lanes, OfBytesAreAddedUp) {
  for (const char* name : {"x86_avx512_vnni", "x86_avx2"}) {
    const auto kernel = kernel_from_formula("y[i] += A[i,k] * x[k]", "i=64,k=512", "A=u8,x=s8,y=s32");
    ASSERT_TRUE(kernel);
    const auto found = search_of(*kernel, machine(name));
    ASSERT_TRUE(found) << render(found.diagnostics());
    EXPECT_EQ(found->scheduled.schedule.lanes.size(), 1u) << name << "\n" << print(found->scheduled.schedule);
  }
}

/// Packing a few columns along the sum is cheap. With as many columns as lanes, lanes hold columns instead.
TEST(Lanes, AreTakenAlongRowsTimesFewColumns) {
  const HardwareModel model = machine("x86_avx512");
  for (const auto& [columns, taken] : {std::pair(2, 1u), std::pair(16, 0u)}) {
    const auto found =
        search_of(formula("C[i,j] += A[i,k] * B[k,j]", "i=256,j=" + std::to_string(columns) + ",k=333"), model);
    ASSERT_TRUE(found) << render(found.diagnostics());
    EXPECT_EQ(found->scheduled.schedule.lanes.size(), taken) << columns << "\n" << print(found->scheduled.schedule);
  }
}

void what_is_found_is_right(const std::vector<std::pair<std::int64_t, std::int64_t>>& sizes) {
  const HardwareModel model = machine("x86_avx512");
  if (const Availability here = availability(model); here.how != ExecutionMode::native) GTEST_SKIP() << here.why;
  for (const auto& [rows, length] : sizes) {
    const Kernel kernel = column(rows, length);
    const auto found = search_of(kernel, model);
    ASSERT_TRUE(found) << render(found.diagnostics());
    EXPECT_EQ(found->scheduled.schedule.lanes.size(), 1u) << rows << " " << length;
    const auto program = lower(found->scheduled.schedule, kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    auto loaded = load_program(*program, model);
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    std::vector<float> a(static_cast<std::size_t>(rows * length)), x(static_cast<std::size_t>(length)),
        y(static_cast<std::size_t>(rows), -7);
    for (std::size_t e = 0; e < a.size(); ++e) a[e] = static_cast<float>(static_cast<int>(e * 7 % 15) - 7);
    for (std::size_t e = 0; e < x.size(); ++e) x[e] = static_cast<float>(static_cast<int>(e * 5 % 9) - 4);
    const auto problem = loaded->call(
        {{a.data(), DType::f32, {rows, length}}, {x.data(), DType::f32, {length}}, {y.data(), DType::f32, {rows}}});
    ASSERT_FALSE(problem) << render({*problem});
    for (std::int64_t i = 0; i < rows; ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k < length; ++k)
        sum += a[static_cast<std::size_t>(i * length + k)] * x[static_cast<std::size_t>(k)];
      EXPECT_EQ(y[static_cast<std::size_t>(i)], sum) << i;
    }
  }
}

TEST(Lanes, WhatIsFoundIsRight) { what_is_found_is_right({{21, 511}}); }
TEST(HeavyLanes, WhatIsFoundIsRight) { what_is_found_is_right({{1, 100}, {37, 64}}); }

}  // namespace
}  // namespace isamap
