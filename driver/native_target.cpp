// SPDX-License-Identifier: Apache-2.0
#include "driver/native_target.h"

#include <algorithm>
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

}  // namespace

std::optional<std::string> native_target(const std::vector<std::pair<std::string, std::string>>& files) {
  struct Ranked {
    std::pair<std::size_t, double> rank;
    std::string name;
    HardwareModel model;
  };
  std::vector<Ranked> all;
  for (const auto& [name, path] : files) {
    auto loaded = load_hardware(path, {}, {});
    if (!loaded || needs_shim(loaded->model) || needs_emulator(loaded->model)) continue;
    const auto& cpu = loaded->model.needed.cpu;
    const std::size_t features = std::set<std::string>(cpu.begin(), cpu.end()).size();
    all.push_back({{features, largest_product(loaded->model)}, name, std::move(loaded->model)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) { return a.rank > b.rank; });
  for (const Ranked& one : all)  // the compiler is asked for those alone that could be the answer
    if (availability(one.model).how == ExecutionMode::native) return one.name;
  return std::nullopt;
}

}  // namespace isamap
