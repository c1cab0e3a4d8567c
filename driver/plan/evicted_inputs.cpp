// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/evicted_inputs.h"

#include <algorithm>
#include <limits>

#include "backends/model_runner.h"
#include "driver/plan/band_price.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

/// Activations that the statements of a part read or write.
std::set<TensorId> activations_of(const Kernel& kernel, const Part& part) {
  std::set<TensorId> found;
  const auto add = [&](TensorId id) {
    if (!kernel.tensors[id.index()].constant) found.insert(id);
  };
  for (const std::size_t s : part.statements) {
    add(kernel.statements[s].write.tensor);
    for (const Access& read : kernel.statements[s].reads) add(read.tensor);
  }
  return found;
}

double bytes_of(const Kernel& kernel, const std::set<TensorId>& tensors) {
  double sum = 0;
  for (const TensorId id : tensors) {
    sum += static_cast<double>(byte_count(kernel.tensors[id.index()]));
  }
  return sum;
}

/// Bytes that the model touches from the part that touched a tensor last, itself included, to part `p`; before the
/// first part is the last one of the run before.
double reuse_distance(const Kernel& kernel, const std::vector<Part>& parts, std::size_t p, TensorId tensor) {
  std::set<TensorId> touched;
  for (std::size_t back = 1; back <= parts.size(); ++back) {
    std::set<TensorId> more = activations_of(kernel, parts[(p + parts.size() - back) % parts.size()]);
    const bool found = more.contains(tensor);
    touched.merge(more);
    if (found) break;
  }
  return bytes_of(kernel, touched);
}

}  // namespace

double evicted_input_cycles(const Kernel& kernel, const std::vector<Part>& parts, std::size_t p,
                            const HardwareModel& machine, const std::set<TensorId>& except) {
  const auto caches = prints_bands(machine) ? band_caches(machine) : std::nullopt;
  if (!caches) return 0;
  const auto missing = [&](double distance) {  // as the cost model has it of tiles (scheduler/cost/cache_traffic.cpp)
    return std::max(0.0, 1 - machine.timing.usable * caches->second / distance);
  };
  const std::set<TensorId> own = activations_of(kernel, parts[p]);
  const double priced = missing(bytes_of(kernel, own));
  double evicted = 0;
  for (const TensorId id : own) {
    const bool written = std::any_of(parts[p].statements.begin(), parts[p].statements.end(),
                                     [&](std::size_t s) { return kernel.statements[s].write.tensor == id; });
    if (written || except.contains(id)) continue;
    const double more = missing(reuse_distance(kernel, parts, p, id)) - priced;
    evicted += std::max(0.0, more) * bytes_of(kernel, {id});
  }
  return evicted / caches->far;
}

double with_evicted_inputs(double price, double cycles, const HardwareModel& machine) {
  return std::max(price, cycles) + machine.timing.exposed_starts * cycles;
}

double fetched_inputs(const PartOfModel& of, double price, const HardwareModel& machine,
                      const std::set<TensorId>& except) {
  if (price == std::numeric_limits<double>::infinity()) return 0;
  const double cycles = evicted_input_cycles(of.kernel, of.parts, of.part, machine, except);
  return with_evicted_inputs(price, cycles, machine) - price;
}

}  // namespace isamap
