// SPDX-License-Identifier: Apache-2.0
// docs/targets.md: one row for each model, made from the models and from the list of conformance pairs; nothing in it
// depends on the machine that makes it. ISAMAP_UPDATE_GOLDEN=1 rewrites.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "backends/cuda/device_run.h"
#include "hwdesc/model/summary.h"
#include "tests/conformance/matrix.h"
#include "tests/list_item.h"

namespace isamap::conformance {
namespace {

const std::string root = ISAMAP_SOURCE_DIR;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string joined(const std::vector<std::string>& words, const char* by = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : by) + word;
  return text;
}

/// What must be there for programs of the model to run.
std::string how_executed(const HardwareModel& model) {
  const ProgramText& program = model.program;
  if (program.language == "asm")
    return program.simulator.command.empty() ? "simulator" : "simulator " + program.simulator.name;
  if (program.language == "cuda") return "native on a GPU of " + wanted_arch(model) + "; our emulation of its threads";
  std::string text = model.needed.cpu.empty() ? "native" : "native with " + joined(model.needed.cpu, " ");
  if (!model.needed.machine.empty()) text = "native on " + joined(model.needed.machine, " ");
  if (!program.shim.include.empty()) text += "; shim";
  if (!program.run_emulated.empty())
    text += "; emulated (" + program.run_emulated.substr(0, program.run_emulated.find(' ')) + ")";
  return text;
}

/// Examples of which an instruction of the model covers a statement.
std::map<std::string, std::set<std::string>> covered() {
  std::map<std::string, std::set<std::string>> examples;
  std::istringstream lines(read(root + "/tests/conformance/pairs.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string model, example;
    if (line.starts_with('#') || !(words >> model >> example)) continue;
    examples[model].insert(example);
  }
  return examples;
}

std::string page() {
  std::string text =
      "# Targets\n\n"
      "A row and an item for each file of `hardware_models/`, written by the test `Targets.ThePageIsUpToDate`\n"
      "(ISAMAP_UPDATE_GOLDEN=1). *Families*: entries that compute, variants under one name. *Lines*: of the file's\n"
      "own YAML, without comments and bases. *Executed*: what a program needs in order to run; `isamap targets`\n"
      "says what of it is here. *Cases*: examples of `examples/` of which an instruction covers a statement; the\n"
      "conformance tests run each with odd sizes, sizes 1 and 0 wherever the target can be executed, and compare\n"
      "with the interpreter. *Verified against*: what the file states (`verified`, hwdesc/README.md); `isamap hw\n"
      "show` prints the whole entries.\n\n"
      "| target | instructions | lines | executed | cases |\n"
      "|---|---|---|---|---|\n";
  const auto examples = covered();
  std::string items;
  for (const std::string& name : model_names()) {
    const HardwareModel model = load_model(name);
    const auto found = examples.find(name);
    text += fmt::format("| `{}` | {} | {} | {} | {} of {} |\n", name, model.instructions().size(),
                        lines_of_yaml(root + "/hardware_models/" + name + ".yaml"), how_executed(model),
                        found == examples.end() ? 0 : found->second.size(), example_names().size());
    items += list_item(fmt::format("`{}`: `{}`. *Verified against*: {}", name, joined(instruction_families(model)),
                                   verified_against(model)));
  }
  return text + "\n" + items;
}

TEST(Targets, ThePageIsUpToDate) {
  const std::string path = root + "/docs/targets.md", made = page();
  if (std::getenv("ISAMAP_UPDATE_GOLDEN")) std::ofstream(path) << made;
  EXPECT_EQ(read(path), made) << "ISAMAP_UPDATE_GOLDEN=1 rewrites docs/targets.md";
}

}  // namespace
}  // namespace isamap::conformance
