// SPDX-License-Identifier: Apache-2.0
// Schedule files of several versions: read = written, the cover is proved again, and mutants of guards are refused.

#include <gtest/gtest.h>

#include "backends/compiled_runner.h"
#include "driver/execute.h"
#include "driver/symbolic/grid_builder.h"
#include "isamap/compile.h"
#include "isamap/frontends.h"
#include "isamap/schedule.h"
#include "isamap/scheduler.h"

namespace isamap {
namespace {

const HardwareModel& written_for() {
  static const HardwareModel model = load_hardware("x86_avx2", {ISAMAP_SOURCE_DIR "/hardware_models"})->model;
  return model;
}

SymbolicKernel read_kernel(const std::string& text, const Bindings& given = {}) {
  auto kernel = parse_symbolic_kernel(text, "k.yaml", given);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : SymbolicKernel{};
}

const std::string some_rows = R"(kernel: projection
dims: {M: {max: 4096, likely: 200}, N: 40, K: 24}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";
const std::string any_sizes = R"(kernel: gemm
dims: {M: {max: 300, likely: 60}, N: {max: 300, likely: 60}, K: 24}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N]}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";
const std::string two_statements = R"(kernel: sums
dims: {M: {max: 90, likely: 24}, N: {max: 200, likely: 50}}
tensors: {X: {shape: [M, N]}, L: {shape: [M]}, Y: {shape: [M, N]}}
compute:
  - L[i] += X[i,j]
  - Y[i,j] = X[i,j] - L[i]
)";

CompileOptions few_evaluations() {
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 20;
  return options;
}

/// The versions of the search with one schedule, `count` times, under these guards.
std::vector<ScheduleVersion> searched(const SymbolicKernel& kernel, const std::vector<std::vector<SizeFact>>& guards) {
  CompileOptions options = few_evaluations();
  options.most_versions = 1;
  const SymbolicCompilation compiled = compile_symbolic(kernel, written_for(), options);
  EXPECT_TRUE(compiled.program) << render(compiled.problems);
  std::vector<ScheduleVersion> versions;
  const std::size_t each = compiled.program->grids.empty() ? 1 : kernel.sample.statements.size();
  for (const auto& guard : guards)
    versions.push_back(
        {guard, {compiled.schedules.end() - static_cast<std::ptrdiff_t>(each), compiled.schedules.end()}});
  return versions;
}

SizeFact at_most(const std::string& size, std::int64_t bound) {
  return {size + " <= " + std::to_string(bound), AffineExpr(bound) - AffineExpr::dim(size), {}};
}

Result<std::vector<ScheduleVersion>> read_back(const std::string& text, const SymbolicKernel& kernel) {
  return parse_schedule_versions(text, "s.yaml", kernel, written_for());
}

std::string refusal(const std::string& text, const SymbolicKernel& kernel) {
  const auto versions = read_back(text, kernel);
  return versions ? "" : render(versions.diagnostics());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ScheduleVersions, ReadIsWritten) {
  for (const std::string& text : {some_rows, any_sizes, two_statements}) {
    const SymbolicKernel kernel = read_kernel(text);
    const std::string written = print(searched(kernel, {{at_most("M", 8)}, {}}), {"few", "many\nof them"});
    EXPECT_NE(written.find("versions:\n  # few\n  - when: [\"M <= 8\"]\n"), std::string::npos) << written;
    const auto read = read_back(written, kernel);
    ASSERT_TRUE(read) << render(read.diagnostics()) << written;
    EXPECT_EQ(print(*read, {"few", "many\nof them"}), written);
    CompileOptions options = few_evaluations();
    options.versions = *read;
    const SymbolicCompilation compiled = compile_symbolic(kernel, written_for(), options);
    ASSERT_TRUE(compiled.program) << render(compiled.problems);
    ASSERT_EQ(compiled.program->versions.size(), 2U);
    EXPECT_EQ(compiled.program->versions[0].when[0].text, "M <= 8");
    EXPECT_EQ(version_at(*compiled.program, {{"M", 8}, {"N", 5}}), 0U);
    EXPECT_EQ(version_at(*compiled.program, {{"M", 9}, {"N", 5}}), 1U);
    std::vector<Schedule> schedules;
    for (const ScheduleVersion& version : *read)
      schedules.insert(schedules.end(), version.schedules.begin(), version.schedules.end());
    EXPECT_EQ(compiled.schedules, schedules);
  }
}

TEST(ScheduleVersions, TheCoverIsProvedWhenTheFileIsRead) {
  for (const std::string& kernel_text : {some_rows, any_sizes}) {
    const SymbolicKernel kernel = read_kernel(kernel_text);
    SizeFact above{"M > 8", AffineExpr::dim("M") - 9, {}};
    const std::string right = print(searched(kernel, {{at_most("M", 8)}, {above}}));
    EXPECT_EQ(refusal(right, kernel), "");
    const std::string weaker = refusal(replaced(right, "M > 8", "M > 9"), kernel);
    EXPECT_NE(weaker.find("no version serves M = 9"), std::string::npos) << weaker;
    EXPECT_NE(weaker.find("s.yaml:"), std::string::npos) << weaker;
    EXPECT_NE(weaker.find("  - when: [\"M > 9\"]\n                ^"), std::string::npos) << weaker;
    EXPECT_NE(weaker.find("hint: leave out 'when' of the last version"), std::string::npos) << weaker;
    const std::string lower = refusal(replaced(right, "M <= 8", "M <= 7"), kernel);
    EXPECT_NE(lower.find("no version serves M = 8"), std::string::npos) << lower;
    std::string less = right;  // without the first version
    const std::size_t first = less.find("  - when"), second = less.find("  - when", first + 1);
    less.erase(first, second - first);
    EXPECT_NE(refusal(less, kernel).find("no version serves M = "), std::string::npos) << less;
  }
}

TEST(ScheduleVersions, LanesThatNoMachineHasAreRefused) {
  const SymbolicKernel kernel = read_kernel(two_statements);
  for (const char* lanes : {"0", "-4", "8 by 0", "4611686018427387904"}) {
    const std::string text = std::string("schedule: sums\nversions:\n  - statements:\n      - lanes: [s0 j ") + lanes +
                             "]\n        nests:\n          -\n            - for i by 1\n            - for j by 1\n" +
                             "            - do s0 with scalar\n      - nest:\n          - for i by 1\n" +
                             "          - for j by 1\n          - do s1 with scalar\n";
    EXPECT_NE(refusal(text, kernel), "") << lanes;
  }
}

TEST(ScheduleVersions, WrongFilesHaveACaretAndAHint) {
  const SymbolicKernel kernel = read_kernel(some_rows);
  const std::string right = print(searched(kernel, {{at_most("M", 8)}, {}}));
  const std::string unknown = refusal(replaced(right, "M <= 8", "Q <= 8"), kernel);
  EXPECT_NE(unknown.find("s.yaml:5:13: 'Q' in 'when' is no size of this kernel"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("            ^"), std::string::npos) << unknown;
  EXPECT_NE(refusal(replaced(right, "\"M <= 8\"", "\"M*M <= 8\""), kernel).find("is not linear in the sizes"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(right, "M <= 8", "M"), kernel).find("write a condition like \"M <= 8\""),
            std::string::npos);
  EXPECT_NE(refusal(replaced(right, "[\"M <= 8\"]", "M <= 8"), kernel).find("'when' must be a list of conditions"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(right, "when: [\"M <= 8\"]\n    ", ""), kernel).find("no size reaches version 2"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(right, "M <= 8", "M > 4096"), kernel).find("its conditions hold for none of M in 0..4096"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(right, "M <= 8", "M <= 4096"), kernel)
                .find("no size reaches version 2: the versions before it serve all of its sizes"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(right, "- for ", "- fro "), kernel).find("s.yaml:"), std::string::npos);
  EXPECT_NE(refusal(replaced(right, " by ", " by -"), kernel), "");
  EXPECT_NE(refusal("schedule: x\nversions: 3\n", kernel).find("'versions' must be a list of schedules"),
            std::string::npos);
  EXPECT_NE(refusal(right + "nest: []\n", kernel), "");
  const SymbolicKernel more = read_kernel(two_statements);
  const std::string both = print(searched(more, {{at_most("M", 8)}, {}}));
  EXPECT_NE(refusal(replaced(both, "statements:", "nests:"), more).find("this version has no 'statements'"),
            std::string::npos);
}

/// A kernel with numbers takes the version that serves them.
TEST(ScheduleVersions, ThatLowerToNothingAreRefusedWithTheirPlace) {
  for (const std::string& kernel_text : {some_rows, any_sizes}) {
    const SymbolicKernel kernel = read_kernel(kernel_text);
    std::vector<ScheduleVersion> versions = searched(kernel, {{at_most("M", 8)}, {}});
    for (Line& line : versions[1].schedules[0].nests[0].lines)  // more results at a time than there are registers
      if (auto* loop = std::get_if<For>(&line.is))
        for (TiledLoop& tiled : loop->loops)
          if (tiled.dim == "i" && tiled.tile > 1) tiled.tile *= 40;
    const auto read = read_back(print(versions), kernel);
    ASSERT_TRUE(read) << render(read.diagnostics());
    CompileOptions options = few_evaluations();
    options.versions = *read;
    const SymbolicCompilation compiled = compile_symbolic(kernel, written_for(), options);
    EXPECT_FALSE(compiled.program) << print(versions);
    EXPECT_EQ(compiled.code, Exit::wrong_input);
    const std::string why = render(compiled.problems);
    EXPECT_NE(why.find("s.yaml:"), std::string::npos) << why;
    EXPECT_NE(why.find("of version 2"), std::string::npos) << why;
  }
}

TEST(ScheduleVersions, ABoundKernelHasTheScheduleOfItsVersion) {
  const SymbolicKernel kernel = read_kernel(some_rows);
  std::vector<ScheduleVersion> versions = searched(kernel, {{at_most("M", 8)}, {}});
  Schedule& few = versions[0].schedules[0];
  for (Line& line : few.nests[0].lines)
    if (auto* loop = std::get_if<For>(&line.is); loop != nullptr && loop->loops[0].dim == "i" && !loop->unroll)
      loop->loops[0].tile = 4;
  const std::string text = print(versions);
  for (const auto& [rows, version] : {std::pair(8, 0U), {9, 1U}}) {
    const auto bound = isamap::bind(kernel, {{"M", rows}});
    const auto read = parse_schedule(text, "s.yaml", *bound, written_for());
    ASSERT_TRUE(read) << render(read.diagnostics());
    EXPECT_EQ(*read, versions[version].schedules[0]) << rows;
  }
}

/// Of a file for open sizes some are bound: versions that serve none of the others are left out, and kernels that get
/// rows keep the schedules of their statements.
TEST(ScheduleVersions, SomeSizesMayBeBound) {
  for (const std::string& kernel_text : {any_sizes, two_statements}) {
    const SymbolicKernel kernel = read_kernel(kernel_text);
    const std::string text = print(searched(kernel, {{at_most("N", 8)}, {at_most("M", 8)}, {}}));
    for (const auto& [bound, count] :
         {std::pair(Bindings{{"N", 37}}, 2U), {Bindings{{"N", 8}}, 1U}, {Bindings{{"M", 8}}, 2U}}) {
      const SymbolicKernel open = read_kernel(kernel_text, bound);
      const auto read = read_back(text, open);
      ASSERT_TRUE(read) << render(read.diagnostics()) << text;
      EXPECT_EQ(read->size(), count);
      if (count == 1 || bound.contains("M")) continue;
      CompileOptions options = few_evaluations();
      options.versions = *read;
      const SymbolicCompilation compiled = compile_symbolic(open, written_for(), options);
      ASSERT_TRUE(compiled.program) << render(compiled.problems) << text;
      EXPECT_EQ(compiled.program->versions.size(), count);
    }
  }
}

/// One or two rows behind tiles of 6 are cut in halves with the last tile, 4 + 3 and 4 + 4: only calls of one or two
/// rows need blocks of these.
TEST(ScheduleVersions, BlocksThatNoSizeReachesHaveNoCode) {
  Grid grid;
  grid.shape.axes = {{"i", {1, {AffineExpr::dim("M")}}, false, 1, -1, {{6, 0, 0}}}};
  for (std::int64_t remainder = 1; remainder < 6; ++remainder)
    grid.shape.axes[0].runs.push_back({0, remainder, remainder});
  grid.blocks.resize(6);
  for (Block& block : grid.blocks) block.program.buffers.resize(1);
  const auto kept = [&](std::int64_t least, std::int64_t most) {
    std::string rows;
    const Grid limited = limited_to(grid, {least}, {most});
    for (std::size_t b = 0; b < limited.blocks.size(); ++b)
      rows += limited.blocks[b].program.buffers.empty() ? "-" : std::to_string(b);
    return rows;
  };
  EXPECT_EQ(kept(0, -1), "012345");
  EXPECT_EQ(kept(2, -1), "0-2345");
  EXPECT_EQ(kept(3, -1), "0--345");
  EXPECT_EQ(kept(9, 13), "0--345");
  EXPECT_EQ(kept(10, 12), "0---45");
  EXPECT_EQ(kept(12, 12), "0-----");
  EXPECT_EQ(kept(0, 4), "0123");  // without tiles
  EXPECT_EQ(kept(3, 4), "--23");
}

TEST(ScheduleVersions, AStatementWithoutAScheduleIsRefusedAtNumbers) {
  const SymbolicKernel kernel = read_kernel(two_statements);
  const std::string text = print(searched(kernel, {{}}));
  const auto bound = *isamap::bind(kernel, {{"M", 9}, {"N", 40}});
  const auto refused = [&](const std::string& changed) {
    const auto read = parse_schedule(changed, "s.yaml", bound, written_for());
    return read ? "" : render(read.diagnostics());
  };
  EXPECT_EQ(refused(text), "");
  const std::string less = text.substr(0, text.rfind("      - nest:"));
  EXPECT_NE(refused(less).find("1 schedules for 2 statements"), std::string::npos) << less << refused(less);
  const std::size_t nests = text.find("nests:\n"), second = text.find("\n          -\n", nests + 20);
  if (nests == std::string::npos) return;  // the sum is not in lanes
  const std::string without = text.substr(0, second + 1) + text.substr(text.rfind("      - nest:"));
  EXPECT_NE(refused(without).find("no nest here is for statement s0"), std::string::npos) << without;
}

TEST(ScheduleVersions, AFileRunsAtManySizes) {
  if (availability(written_for()).how != ExecutionMode::native) GTEST_SKIP() << availability(written_for()).why;
  const SymbolicKernel kernel = read_kernel(any_sizes);
  CompileOptions options = few_evaluations();
  options.versions = searched(kernel, {{at_most("M", 8)}, {at_most("N", 20)}, {}});
  const SymbolicCompilation compiled = compile_symbolic(kernel, written_for(), options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const auto runner = make_symbolic_runner(*compiled.program, written_for());
  for (const std::int64_t rows : {0, 1, 8, 9, 37})
    for (const std::int64_t columns : {1, 20, 21, 70}) {
      const Bindings sizes{{"M", rows}, {"N", columns}};
      Program program;
      program.kernel = *isamap::bind(kernel, sizes);
      program.name = program.kernel.name;
      runner->set_sizes(sizes);
      const auto checked = run_and_compare(program, *runner, ExecutionMode::native, 1, 0, {});
      ASSERT_TRUE(checked) << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << rows << " " << columns << checked->first_difference;
    }
  EXPECT_EQ(runner->compilations(), 1);
}

}  // namespace
}  // namespace isamap
