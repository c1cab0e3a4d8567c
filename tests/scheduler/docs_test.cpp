// SPDX-License-Identifier: Apache-2.0
// The examples of docs/schedule.md are read, lowered and run; those of the per-memory view are evaluated.

#include <fstream>
#include <sstream>

#include "isamap/interpret.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::cost_of;
using testing_support::formula;
using testing_support::machine;

struct Example {
  bool run = false;
  std::string model, compute, dims, dtypes, text;
};

std::string trimmed(const std::string& s) {
  const auto begin = s.find_first_not_of(' '), end = s.find_last_not_of(' ');
  return begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
}

std::vector<Example> examples_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<Example> examples;
  std::string line;
  while (std::getline(file, line)) {
    const bool run = line.rfind("<!-- tested: ", 0) == 0, evaluated = line.rfind("<!-- evaluated: ", 0) == 0;
    if (!run && !evaluated) continue;
    std::istringstream words(line.substr(line.find(':') + 1, line.rfind("-->") - line.find(':') - 1));
    Example e;
    e.run = run;
    for (std::string* field : {&e.model, &e.compute, &e.dims, &e.dtypes}) {
      std::getline(words, *field, '|');
      *field = trimmed(*field);
    }
    std::getline(file, line);  // ```yaml
    while (std::getline(file, line) && line != "```") e.text += line + "\n";
    examples.push_back(e);
  }
  return examples;
}

void expect_right(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model) {
  auto program = lower(schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  Random random(11);
  std::vector<TensorData> expected;
  for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
  std::vector<TensorData> found = expected;
  interpret(kernel, expected);
  auto counts = interpret(*program, model, found);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  EXPECT_TRUE(compare(kernel, expected, found).equal) << compare(kernel, expected, found).first_difference;
}

TEST(Docs, ExamplesOfTheScheduleLanguage) {
  const auto examples = examples_of(std::string(ISAMAP_SOURCE_DIR) + "/docs/schedule.md");
  ASSERT_EQ(examples.size(), 10u);
  for (const Example& e : examples) {
    SCOPED_TRACE(e.text);
    const HardwareModel model = machine(e.model);
    const Kernel kernel = formula(e.compute, e.dims, e.dtypes);
    auto schedule = parse_schedule(e.text, "docs/schedule.md", kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    auto cost = cost_of(*schedule, scheduled_kernel_of(kernel, *schedule), model);
    ASSERT_TRUE(cost) << render(cost.diagnostics());
    auto again = parse_schedule(print(*schedule), "printed.yaml", kernel, model);
    ASSERT_TRUE(again) << print(*schedule) << render(again.diagnostics());
    EXPECT_EQ(*again, *schedule);
    if (e.run) expect_right(*schedule, kernel, model);
  }
}

}  // namespace
}  // namespace isamap
