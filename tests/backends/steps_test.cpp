// SPDX-License-Identifier: Apache-2.0
// Statements that run step by step, as programs: wherever the dimension of steps stands, at sizes that divide nothing,
// are 1 or 0, interpreted and executed.

#include <fmt/format.h>

#include "ir/liveness.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

struct Sizes {
  int t, b, j;
};

/// A recurrent layer whose tensors have the steps first, in the middle or last.
Kernel recurrent(const Sizes& sizes, const std::string& layout) {
  const auto at = [&](const std::string& t, const std::string& b, const std::string& j) {
    std::string text;
    for (const char c : layout) text += (text.empty() ? "" : ", ") + (c == 't' ? t : c == 'b' ? b : j);
    return "[" + text + "]";
  };
  auto kernel = parse_kernel_yaml(
      fmt::format("kernel: recurrent\ndims: {{T: {}, B: {}, J: {}}}\ntensors:\n", sizes.t, sizes.b, sizes.j) +
          "  X: {shape: " + at("T", "B", "J") + "}\n  W: {shape: [J, J], constant: true}\n" +
          "  U: {shape: [J, J], constant: true}\n  Y: {shape: " + at("T", "B", "J") +
          "}\n  P: {shape: " + at("T", "B", "J") + "}\n  H: {shape: " + at("T + 1", "B", "J") +
          ", inout: true}\n  M: {shape: [B]}\n" + "compute:\n  - Y" + at("t", "b", "j") + " += X" + at("t", "b", "k") +
          " * W[k,j]\n" + "  - repeat: {t: T}\n    compute:\n      - P" + at("t", "b", "j") + " += H" +
          at("t", "b", "k") + " * U[j,k]\n      - H" + at("t+1", "b", "j") + " = tanh(Y" + at("t", "b", "j") + " + P" +
          at("t", "b", "j") + ")\n  - M[b] max= H" + at("t", "b", "j") + "\n",
      "recurrent.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

Program compiled_steps(const Kernel& kernel, const HardwareModel& model) {
  ScheduleOptions few;
  few.max_evaluations = 60;
  const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
  auto scheduled = schedule(kernel, *mapped, model, few);
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  const auto again = parse_schedule(print(scheduled->schedule), "s.yaml", kernel, model);
  EXPECT_TRUE(again) << render(again.diagnostics());
  EXPECT_EQ(*again, scheduled->schedule);
  auto program = lower(scheduled->schedule, kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics()) << print(scheduled->schedule);
  return *program;
}

void expect_right(const Kernel& kernel, const HardwareModel& model) {
  const Program program = compiled_steps(kernel, model);
  const auto before = random_data(kernel, Fill::real, 5);
  auto expected = before, interpreted = before, executed = before;
  interpret(kernel, expected);
  const auto counts = interpret(program, model, interpreted);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  const Comparison first = compare(kernel, expected, interpreted);
  EXPECT_TRUE(first.equal) << first.first_difference;
  const auto parsed = parse_program(print(program, model), model);
  ASSERT_TRUE(parsed) << render(parsed.diagnostics());
  EXPECT_EQ(*parsed, program);
  const auto outcome = make_runner(model)->run(program, executed, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  if (!outcome->missing.empty()) return;
  const Comparison second = compare(kernel, expected, executed);
  EXPECT_TRUE(second.equal) << second.first_difference;
}

const std::vector<Sizes> all_sizes = {{3, 5, 19}, {1, 4, 16}, {4, 1, 1}, {0, 2, 3}, {2, 0, 3}};

void expect_steps(const char* name, const char* layout, const std::vector<Sizes>& some) {
  const HardwareModel model = machine(name);
  for (const Sizes& sizes : some) {
    SCOPED_TRACE(fmt::format("{} steps of {} by {}", sizes.t, sizes.b, sizes.j));
    expect_right(recurrent(sizes, layout), model);
  }
}

class StepsRun : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

/// Sizes that divide nothing, and one of the others, by machine and layout. HeavyStepsRun takes all.
TEST_P(StepsRun, AsTheInterpreterSays) {
  const auto& [name, layout] = GetParam();
  const auto one = static_cast<std::size_t>(name[0] + layout[0] + layout[2]);
  expect_steps(name, layout, {all_sizes[0], all_sizes[1 + one % (all_sizes.size() - 1)]});
}

class HeavyStepsRun : public StepsRun {};

TEST_P(HeavyStepsRun, AsTheInterpreterSays) {
  const auto& [name, layout] = GetParam();
  expect_steps(name, layout, all_sizes);
}

const auto machines_and_layouts =
    testing::Combine(testing::Values("scalar_c", "x86_avx512", "npu16"), testing::Values("tbj", "btj", "bjt"));
const auto case_name = [](const auto& one) {
  return std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
};
// Each machine and each layout once; HeavyStepsRun takes all of their pairs.
INSTANTIATE_TEST_SUITE_P(Layouts, StepsRun,
                         testing::Values(std::tuple("scalar_c", "tbj"), std::tuple("x86_avx512", "btj"),
                                         std::tuple("npu16", "bjt")),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Layouts, HeavyStepsRun, machines_and_layouts, case_name);
INSTANTIATE_TEST_SUITE_P(Threads, StepsRun, testing::Values(std::tuple("nvidia_sm80", "btj")), case_name);
INSTANTIATE_TEST_SUITE_P(Threads, HeavyStepsRun, testing::Values(std::tuple("nvidia_sm80", "btj")), case_name);

bool touches(const std::vector<Node>& nodes, const std::string& name, const Program& program) {
  bool found = false;
  for (const Node& node : nodes) {
    for_each_ref(node, [&](const Ref& ref) { found = found || program.buffers[ref.buffer.index()].name == name; });
    if (const auto* loop = std::get_if<Loop>(&node.is)) found = found || touches(loop->body, name, program);
  }
  return found;
}

/// The weights are packed once, ahead of all steps and of all calls.
TEST(StepsProgram, PacksConstantsOnce) {
  const HardwareModel model = machine("x86_avx512");
  const Kernel kernel = recurrent({3, 5, 48}, "tbj");
  const Program program = compiled_steps(kernel, model);
  const std::string text = emit(program, model)->front().text;
  EXPECT_NE(text.find("void recurrent_pack("), std::string::npos);
  const std::size_t body = text.find("void recurrent(");
  ASSERT_NE(body, std::string::npos);
  EXPECT_NE(text.find("for (long t", body), std::string::npos);
  for (const Node& node : program.body)
    if (const auto* loop = std::get_if<Loop>(&node.is); loop && loop->variable.starts_with("t")) {
      EXPECT_FALSE(touches(loop->body, "U", program));  // but its packed copy
    }
}

/// An intermediate of a step has the size of a step.
TEST(StepsProgram, KeepsNoHistoryThatNobodyReads) {
  const HardwareModel model = machine("scalar_c");
  const Program program = compiled_steps(recurrent({7, 2, 3}, "tbj"), model);
  for (const Buffer& buffer : program.buffers) {
    const std::vector<std::int64_t> of_a_step{2, 3}, of_all{7, 2, 3};
    if (buffer.name == "P") {
      EXPECT_EQ(buffer.extents, of_a_step);
    }
    if (buffer.name == "Y") {
      EXPECT_EQ(buffer.extents, of_all);
    }
  }
}

}  // namespace
}  // namespace isamap
