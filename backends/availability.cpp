// SPDX-License-Identifier: Apache-2.0
// How programs of a model can run on this machine: CPU features, compiler, emulator, GPU.

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cuda/device_run.h"
#include "backends/language_backend.h"
#include "backends/simulator/external.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"

namespace isamap {
namespace {

/// Lower case letters and digits: "Dot_Product", "dot-product" and "dotproduct" are one feature.
std::string normalised(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      out += c;
  }
  return out;
}

/// Feature names of the first processor in /proc/cpuinfo (lines "flags", "Features", "isa").
std::set<std::string> processor_features() {
  std::set<std::string> features;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    const std::string key = normalised(line.substr(0, colon));
    if (colon == std::string::npos || (key != "flags" && key != "features" && key != "isa")) continue;
    std::istringstream words(line.substr(colon + 1));
    for (std::string word; words >> word;) features.insert(normalised(word));
  }
  return features;
}

/// Why programs of the model do not run natively: "this machine is x86_64, not aarch64"; empty: they do.
struct Lack {
  std::string machine;
  std::vector<std::string> features;
};

Lack lack(const HardwareModel& model) {
  Lack result;
  const auto& machines = model.needed.machine;
  utsname here{};
  uname(&here);
  if (!machines.empty() && std::find(machines.begin(), machines.end(), here.machine) == machines.end())
    result.machine =
        fmt::format("this machine is {}, not {}", static_cast<const char*>(here.machine), fmt::join(machines, " or "));
  const auto features = processor_features();
  for (const std::string& feature : model.needed.cpu)
    if (!features.contains(normalised(feature))) result.features.push_back(feature);
  return result;
}

/// The shim implements every missing feature in plain C++.
bool shim_covers(const Lack& lacking, const Shim& shim) {
  if (shim.include.empty() || !lacking.machine.empty()) return false;
  return shim.cpu.empty() || std::all_of(lacking.features.begin(), lacking.features.end(), [&](const std::string& f) {
           return std::find(shim.cpu.begin(), shim.cpu.end(), f) != shim.cpu.end();
         });
}

}  // namespace

Availability cpp_availability(const HardwareModel& model) {
  const Compiler& compiler = compiler_for(model);
  if (compiler.command.empty()) return {ExecutionMode::unavailable, compiler.why};
  const Lack lacking = lack(model);
  if (lacking.machine.empty() && lacking.features.empty()) return {ExecutionMode::native, ""};
  if (shim_covers(lacking, model.program.shim))
    return {ExecutionMode::shim, fmt::format("a header in plain C++ stands for {}", fmt::join(lacking.features, ", "))};
  const std::string why = !lacking.machine.empty()
                              ? lacking.machine
                              : fmt::format("this processor does not report {}", fmt::join(lacking.features, ", "));
  if (model.program.run_emulated.empty()) return {ExecutionMode::unavailable, why};
  const auto command = split_command(model.program.run_emulated);
  if (!command.empty() && command_exists(command[0])) return {ExecutionMode::emulated, ""};
  const auto& packages = model.program.packages;
  return {ExecutionMode::unavailable,
          fmt::format("{}, and the emulator '{}' is missing (Debian: apt-get install {})", why,
                      command.empty() ? "" : command[0],
                      packages.empty() ? "qemu-user" : fmt::format("{}", fmt::join(packages, " ")))};
}

Availability kernel_availability(const HardwareModel& model) {
  const Compiler& compiler = compiler_for(model);
  if (compiler.command.empty()) return {ExecutionMode::unavailable, compiler.why};
  if (const std::string why = no_device_for(model); !why.empty()) return {ExecutionMode::emulated, why};
  return {ExecutionMode::native, "on " + probe_device().name};
}

Availability simulator_availability(const HardwareModel& model) {
  const auto command = simulator_command(model);
  if (command.empty()) return {ExecutionMode::simulator, ""};
  const std::string title = simulator_title(model);
  if (command_exists(command[0])) return {ExecutionMode::simulator, "by " + title};
  const bool told = title.find(command[0]) != std::string::npos;
  return {ExecutionMode::unavailable,
          fmt::format("{} is missing{}", title, told ? "" : fmt::format(": there is no command '{}'", command[0]))};
}

bool needs_shim(const HardwareModel& model) {
  if (model.program.shim.include.empty()) return false;
  const Lack lacking = lack(model);
  return !lacking.features.empty() && shim_covers(lacking, model.program.shim);
}

bool needs_emulator(const HardwareModel& model) {
  if (model.program.run_emulated.empty()) return false;
  const Lack lacking = lack(model);
  return !lacking.machine.empty() || !lacking.features.empty();
}

Availability availability(const HardwareModel& model) { return backend_of(model).availability(model); }

std::string not_timed(const HardwareModel& model) {
  const Availability here = availability(model);
  if (here.how == ExecutionMode::unavailable) return here.why;
  if (here.how == ExecutionMode::native || !has_thread_blocks(model)) return "";
  return fmt::format("kernels of '{}' are emulated here, and how long that takes says nothing of its speed: {}",
                     model.name, here.why);
}

std::string not_executed(const Instruction& instruction, const HardwareModel& model) {
  if (instruction.requires_features.empty() || has_thread_blocks(model)) return "";
  const ExecutionMode how = availability(model).how;
  const auto features = processor_features();
  for (const std::string& feature : instruction.requires_features) {
    if (how == ExecutionMode::native && !features.contains(normalised(feature)))
      return fmt::format("this processor does not report {}, which '{}' requires", feature, instruction.name);
    if (how == ExecutionMode::emulated)
      return fmt::format("'{}' requires {}; the emulator is known to have only the features that the file requires",
                         instruction.name, feature);
  }
  return "";
}

}  // namespace isamap
