// SPDX-License-Identifier: Apache-2.0
// Split statements: if no instruction computes a statement, its parts may map, and are used if cheaper than scalar
// code.

#include "isamap/scheduler.h"
#include "mapper/advice/mapped_splits.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "scheduler/search_splits.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

Kernel clamped_sum(std::int64_t length) { return formula("Y[i] = max(X[i] + Z[i], 0)", "i=" + std::to_string(length)); }

std::string in_lines(const Kernel& kernel) {
  std::string text;
  for (const Computation& c : kernel.statements) {
    const std::string printed = print(c, kernel.tensors);
    text += c.name + ": " + printed.substr(0, printed.find(" over ")) + "\n";
  }
  return text;
}

/// Tensors of the kernel are the first of the split kernel.
void expect_same(const Kernel& kernel, const Kernel& parts, const std::function<void(std::vector<TensorData>&)>& run) {
  EXPECT_EQ(render(verify(parts)), "");
  EXPECT_EQ(arguments(parts), arguments(kernel));
  Random random(5);
  std::vector<TensorData> expected, found;
  for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
  for (std::size_t t = 0; t < parts.tensors.size(); ++t)
    found.push_back(t < expected.size() ? expected[t] : make_data(parts.tensors[t]));
  interpret(kernel, expected);
  run(found);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) EXPECT_EQ(expected[t].bytes, found[t].bytes) << print(parts);
}

TEST(Splits, APartIsAStatementOfItsOwn) {
  const auto parts = split_statements(clamped_sum(21), {{"s0", 0}});
  ASSERT_TRUE(parts) << render(parts.diagnostics());
  EXPECT_EQ(in_lines(*parts), "s0_part: Y_part[i] = X[i] + Z[i]\ns0: Y[i] = max(Y_part[i], 0)\n");
  expect_same(clamped_sum(21), *parts, [&](auto& data) { interpret(*parts, data); });
  const auto twice = split_statements(formula("Y[i] = max(X[i] * W[i] + Z[i], 0)", "i=9"), {{"s0", 1}, {"s0_part", 0}});
  ASSERT_TRUE(twice) << render(twice.diagnostics());
  EXPECT_EQ(in_lines(*twice),
            "s0_part_part: Y_part_part[i] = X[i] * W[i]\ns0_part: Y_part[i] = Y_part_part[i] + Z[i]\n"
            "s0: Y[i] = max(Y_part[i], 0)\n");
}

TEST(Splits, RefusalsNameWhatWasFound) {
  const auto why = [](const SplitPart& part) {
    const auto made = split_statements(clamped_sum(4), {part});
    return made ? std::string("taken") : made.diagnostics().front().message;
  };
  EXPECT_EQ(why({"s0", 0}), "taken");
  EXPECT_EQ(why({"s0", 1}), "splits s0 1: operation 1 of the 2 of s0 cannot be a statement of its own");
  EXPECT_EQ(why({"s0", 7}), "splits s0 7: operation 7 of the 2 of s0 cannot be a statement of its own");
  EXPECT_EQ(why({"s7", 0}), "splits s7 0: formula has no statement 's7'");
  EXPECT_FALSE(parse_split_part("s0"));
  EXPECT_FALSE(parse_split_part("s0 -1"));
  EXPECT_FALSE(parse_split_part("s0 1 2"));
  EXPECT_EQ(print(*parse_split_part("s0 1")), "s0 1");
}

TEST(Splits, AreFoundWhereEveryPartMaps) {
  const HardwareModel model = machine("x86_avx512");
  const auto parts_of = [&](const Kernel& kernel) {
    std::vector<std::string> texts;
    for (const MappedSplit& found : mapped_splits(kernel, StatementId{0}, model, {})) {
      texts.emplace_back();
      for (const SplitPart& part : found.parts) texts.back() += print(part) + ";";
    }
    return texts;
  };
  EXPECT_EQ(parts_of(clamped_sum(64)), std::vector<std::string>{"s0 0;"});
  EXPECT_EQ(parts_of(formula("Y[i] = max(X[i] * W[i] + Z[i], 0)", "i=64")).front(), "s0 0;s0 0;");
  EXPECT_TRUE(parts_of(formula("Y[i] = tanh(X[i])", "i=64")).empty());
  // The part would be larger than any tensor.
  EXPECT_TRUE(parts_of(formula("G[i,j] += X[i,k] * X[j,k] * W[k]", "i=64,j=64,k=64")).empty());
}

Result<LaneSearch> search_in_parts(const Kernel& kernel, const HardwareModel& model, const MapOptions& map = {}) {
  const auto mapped = enumerate_mappings(kernel, model, map);
  EXPECT_TRUE(mapped);
  ScheduleOptions options;
  options.max_evaluations = 200;
  return schedule_or_split(kernel, *mapped, model, options, map);
}

TEST(Splits, AreTakenWhereTheyAreCheaper) {
  const HardwareModel model = machine("x86_avx512");
  for (const std::int64_t length : {1900, 37, 1, 0}) {
    const Kernel kernel = clamped_sum(length);
    MapOptions single;  // without trees of instructions
    single.rule = Rule::access;
    const auto found = search_in_parts(kernel, model, single);
    ASSERT_TRUE(found) << render(found.diagnostics());
    const Schedule& schedule = found->scheduled.schedule;
    if (length > 1) {
      EXPECT_EQ(schedule.splits, (std::vector<SplitPart>{{"s0", 0}})) << print(schedule);
    }
    const auto program = lower(schedule, kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    expect_same(kernel, scheduled_kernel_of(kernel, schedule), [&](std::vector<TensorData>& data) {
      const auto counts = interpret(*program, model, data);
      ASSERT_TRUE(counts) << render(counts.diagnostics());
      EXPECT_EQ(counts->calls.contains("relu_f32"), length > 1);
    });
    const auto again = parse_schedule(print(schedule), "parts.yaml", kernel, model);
    ASSERT_TRUE(again) << print(schedule) << render(again.diagnostics());
    EXPECT_EQ(*again, schedule);
  }
}

TEST(Splits, NestsOfStatementsBehindASplitOneAreFound) {
  const auto kernel = parse_kernel_yaml(
      "kernel: two\ndims: {M: 4, K: 37}\ntensors:\n  X: {shape: [M, K]}\n  S: {shape: [M]}\n  Y: {shape: [M, K]}\n"
      "compute:\n  - S[i] += X[i,k]\n  - Y[i,k] = X[i,k] * 2\n",
      "two.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  Schedule schedule;
  schedule.lanes = {{"s0", "k", 16}};
  EXPECT_FALSE(nest_of(*kernel, 0, schedule));
  const auto second = nest_of(*kernel, 1, schedule);
  ASSERT_TRUE(second);
  EXPECT_EQ(*second, scheduled_kernel_of(*kernel, schedule).statements.size() - 1);
  EXPECT_GT(*second, 1u);
}

TEST(Splits, AreLeftAloneWhereTheUserNamesAnInstruction) {
  MapOptions map;
  map.instruction = "add_f32";
  const auto found = search_in_parts(clamped_sum(64), machine("x86_avx512"), map);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_TRUE(found->scheduled.schedule.splits.empty());
}

TEST(Splits, AFileWithOthersIsRefusedWithItsLine) {
  const std::string text = R"(schedule: parts
kernel: formula
target: x86_avx512
splits: [s0 3]
nests:
  -
    - for i by 16
    - stage Y_part in vec
    - stage X in vec
    - stage Z in vec
    - do s0_part with add_f32(j=i)
  -
    - for i by 16
    - stage Y_part in vec
    - stage Y in vec
    - do s0 with relu_f32(j=i)
)";
  const Kernel kernel = clamped_sum(64);
  const auto wrong = parse_schedule(text, "parts.yaml", kernel, machine("x86_avx512"));
  ASSERT_FALSE(wrong);
  EXPECT_NE(render(wrong.diagnostics()).find("parts.yaml:4:10: splits s0 3: operation 3 of the 2"), std::string::npos)
      << render(wrong.diagnostics());
}

}  // namespace
}  // namespace isamap
