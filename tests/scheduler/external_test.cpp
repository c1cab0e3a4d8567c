// SPDX-License-Identifier: Apache-2.0
// A strategy in a process of its own: the documented example, and children that misbehave.

#include <fstream>

#include "backends/common/process.h"
#include "isamap/scheduler.h"
#include "tests/scheduler/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

struct Outcome {
  Found found;
  std::string failure;
};

Outcome searched(const std::string& command, std::int64_t evaluations, const std::string& seconds = "20") {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=30,j=40,k=20");
  const HardwareModel model = machine("x86_avx512");
  const auto mapped = enumerate_mappings(kernel, model, {});
  const SearchSpace space(kernel, StatementId{0}, mapped->mappings, model, {});
  auto strategy = strategy_named("external", space, {{"command", command}, {"seconds", seconds}}, 4);
  if (!strategy) return {{}, render(strategy.diagnostics())};
  LoopOptions loop;
  loop.objective = Objective::cycles;
  loop.max_evaluations = evaluations;
  Outcome outcome;
  outcome.found = search(space, **strategy, make_cost_model_closed_form, loop);
  outcome.failure = render(outcome.found.failure);
  return outcome;
}

/// A child made of lines of shell; it has read the space.
std::string child(const std::string& name, const std::string& body) {
  const std::string path = scratch("external_" + name + ".sh");
  std::ofstream(path) << "read -r space\n" << body << "\n";
  return "sh " + path;
}

void expect_failure(const std::string& name, const std::string& body, const std::string& words,
                    const std::string& seconds = "20") {
  const Outcome outcome = searched(child(name, body), 50, seconds);
  EXPECT_NE(outcome.failure.find(words), std::string::npos) << name << ": " << outcome.failure;
}

TEST(External, TheDocumentedExampleSearches) {
  if (!command_exists("python3")) GTEST_SKIP() << "python3 is missing (Debian: apt-get install python3)";
  const std::string command = std::string("python3 ") + ISAMAP_SOURCE_DIR + "/examples/strategies/evolution.py";
  const Outcome once = searched(command, 200), again = searched(command, 200);
  EXPECT_EQ(once.failure, "");
  ASSERT_TRUE(once.found.best);
  EXPECT_EQ(once.found.evaluations, 200);
  EXPECT_EQ(once.found.curve, again.found.curve);
  EXPECT_GT(once.found.curve.size(), 1u);
}

TEST(External, ItMayEndTheSearch) {
  const Outcome outcome =
      searched(child("done", "while read -r line; do case $line in *ask*) echo '{\"done\": true}' ;; esac; done"), 50);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.found.evaluations, 0);
}

TEST(External, SaysWhatIsWrongWithAChild) {
  expect_failure("dies", "read -r ask; exit 3", "ended with code 3 at question 1");
  expect_failure("killed", "read -r ask; kill -9 $$", "ended by signal 9");
  expect_failure("garbage", "read -r ask; echo 'what?'; exec sleep 9",
                 "answers question 1 with 'what?', which is no JSON object with a list 'point'");
  expect_failure("short", "read -r ask; echo '{\"point\": [0, 1]}'; exec sleep 9", "has 2 numbers; the space has ");
  // As many words as the space has decisions, each of which has a list of labels.
  expect_failure("words",
                 "read -r ask\n"
                 "words=$(printf '%s' \"$space\" | grep -o '\"labels\"' | sed 's/.*/\"a\"/' | tr '\\n' ',')\n"
                 "echo \"{\\\"point\\\": [${words%,}]}\"; exec sleep 9",
                 "that is no whole number");
  expect_failure("late", "exec sleep 30", "has not answered question 1 within 1 seconds", "1");
}

TEST(External, SaysThatThereIsNoProgram) {
  EXPECT_NE(searched("no_such_program_at_all x", 5).failure.find("cannot be started: No such file or directory"),
            std::string::npos);
  EXPECT_NE(searched("", 5).failure.find("needs the command of a strategy"), std::string::npos);
}

TEST(External, FailureEndsTheScheduleWithTheReason) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=30,j=40,k=20");
  const HardwareModel model = machine("x86_avx512");
  const auto mapped = enumerate_mappings(kernel, model, {});
  ScheduleOptions options;
  options.strategy = "external";
  options.strategy_options = {{"command", child("dies_later", "exit 7")}};
  const auto found = schedule(kernel, *mapped, model, options);
  ASSERT_FALSE(found);
  EXPECT_NE(render(found.diagnostics()).find("ended with code 7"), std::string::npos) << render(found.diagnostics());
}

}  // namespace
}  // namespace isamap
