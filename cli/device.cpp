// SPDX-License-Identifier: Apache-2.0
#include "cli/device.h"

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "isamap/backend.h"
#include "jobs/device.h"

namespace isamap::cli {
namespace {

const jobs::DeviceFacts& facts_here() {
  static const jobs::DeviceFacts facts = [] {
    using Command = std::vector<std::string>;
    std::vector<Command> commands{chosen_compiler()};
    if (commands.front().empty()) commands = {Command{"g++"}, Command{"clang++"}};
    std::vector<std::string> versions;
    for (const Command& command : commands)
      if (command_exists(command.front())) versions.push_back(version_of(command));
    return jobs::device_facts(versions);
  }();
  return facts;
}

}  // namespace

std::string device_here() { return jobs::device_key(facts_here()); }

std::string device_text() {
  std::string text = "device " + device_here() + "\n";
  for (const auto& [name, value] : facts_here()) text.append(name).append(": ").append(value).append("\n");
  return text;
}

}  // namespace isamap::cli
