// What this machine can run: features the processor reports, a compiler, an emulator.

#include <fstream>
#include <set>
#include <sstream>

#include "backends/backend.h"
#include "backends/cpp/compile.h"
#include "backends/process.h"

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

/// The words of the lines that list features ("flags", "Features", "isa") of the first processor.
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

Availability cpp_availability(const HardwareModel& model) {
  const std::string compiler = compiler_command()[0];
  if (!command_exists(compiler))
    return {"unavailable", "the compiler '" + compiler + "' is missing (Debian: apt-get install g++)"};
  const auto features = processor_features();
  std::string missing;
  for (const std::string& feature : model.requires_cpu)
    if (!features.contains(normalised(feature))) missing += (missing.empty() ? "" : ", ") + feature;
  if (missing.empty()) return {"native", ""};
  if (model.program.run_emulated.empty()) return {"unavailable", "this processor does not report " + missing};
  const auto command = split_command(model.program.run_emulated);
  if (!command.empty() && command_exists(command[0])) return {"emulated", ""};
  return {"unavailable", "this processor does not report " + missing + ", and the emulator '" +
                             (command.empty() ? "" : command[0]) + "' is missing (Debian: apt-get install qemu-user)"};
}

}  // namespace

Availability availability(const HardwareModel& model) {
  if (model.program.language == "asm") return {"simulator", ""};
  if (model.program.language == "c++") return cpp_availability(model);
  return {"unavailable", "there is no backend for " + model.program.language + " yet"};
}

}  // namespace isamap
