// SPDX-License-Identifier: Apache-2.0
#include "cli/device.h"

#include <cstdlib>

#include "backends/common/process.h"
#include "isamap/backend.h"
#include "jobs/device.h"

namespace isamap::cli {
namespace {

const jobs::DeviceFacts& facts_here() {
  static const jobs::DeviceFacts facts = [] {
    std::vector<std::string> versions, commands{"g++", "clang++"};
    if (const char* chosen = std::getenv("CXX")) commands = {chosen};
    for (const std::string& command : commands)
      if (const auto words = split_command(command); !words.empty() && command_exists(words.front()))
        versions.push_back(version_of(words));
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
