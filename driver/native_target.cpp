// SPDX-License-Identifier: Apache-2.0
#include "driver/native_target.h"

#include <algorithm>
#include <set>

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

}  // namespace

std::optional<std::string> native_target(const std::vector<std::pair<std::string, std::string>>& files) {
  std::optional<std::string> best;
  std::pair<std::size_t, double> best_rank;
  for (const auto& [name, path] : files) {
    auto loaded = load_hardware(path, {}, {});
    if (!loaded || availability(loaded->model).how != ExecutionMode::native) continue;
    const auto& cpu = loaded->model.needed.cpu;
    const std::pair rank(std::set<std::string>(cpu.begin(), cpu.end()).size(), largest_product(loaded->model));
    if (best && rank <= best_rank) continue;
    best_rank = rank;
    best = name;
  }
  return best;
}

}  // namespace isamap
