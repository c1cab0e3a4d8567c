// SPDX-License-Identifier: Apache-2.0
#include "driver/native_target.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

/// Points of the largest instruction that adds to its result.
double largest_product(const HardwareModel& model) {
  double largest = 0;
  for (const Instruction& instruction : model.instructions())
    if (!instruction.semantics.empty() && instruction.semantics.back().reduction == Reduction::add)
      largest = std::max(largest, point_count(instruction.semantics.back()));
  return largest;
}

/// Of those in these places that run here: the one with the largest product, then the first.
std::optional<std::string> largest_native(const std::vector<std::pair<std::string, std::string>>& files,
                                          const std::vector<std::size_t>& places) {
  std::optional<std::string> found;
  double largest = -1;
  for (const std::size_t n : places) {
    const auto loaded = load_hardware(files[n].second, {}, {});
    if (!loaded || needs_shim(loaded->model) || needs_emulator(loaded->model)) continue;
    const double product = largest_product(loaded->model);
    if (product <= largest || availability(loaded->model).how != ExecutionMode::native) continue;
    found = files[n].first;
    largest = product;
  }
  return found;
}

}  // namespace

std::optional<std::string> native_target(const std::vector<std::pair<std::string, std::string>>& files) {
  std::map<std::size_t, std::vector<std::size_t>, std::greater<>> by_features;  // places in `files`
  for (std::size_t n = 0; n < files.size(); ++n)
    if (const auto cpu = required_cpu(files[n].second, {}))
      by_features[std::set<std::string>(cpu->begin(), cpu->end()).size()].push_back(n);
  // A file is read in some milliseconds, its machine is made in many more: of those alone that could be the answer.
  for (const auto& [features, places] : by_features)
    if (const auto found = largest_native(files, places)) return found;
  return std::nullopt;
}

}  // namespace isamap
