// SPDX-License-Identifier: Apache-2.0
#include "driver/intermediate_precision.h"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

#include "backends/model_runner.h"
#include "driver/fit_model.h"
#include "driver/plan/band_price.h"
#include "frontends/f32_intermediates.h"

namespace isamap {
namespace {

std::size_t differing_types(const Model& one, const Model& other) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < one.kernel.tensors.size(); ++t)
    count += one.kernel.tensors[t].dtype != other.kernel.tensors[t].dtype ? 1 : 0;
  return count;
}

}  // namespace

Model cheapest_intermediates(const Model& model, PartStore& store, PlanOptions plan) {
  const HardwareModel& machine = store.machine();
  const auto caches = prints_bands(machine) ? band_caches(machine) : std::nullopt;
  Model best = with_widened_operands(model, machine);
  if (!caches) return best;
  plan.joins = plan.band_kernels = plan.tied_orders = 0;
  const auto price = [&](const Model& one) { return plan_model(fitted_to(one, machine), store, plan).cost; };
  double least = price(best);
  const auto stays = [&](const Tensor& tensor) {
    return static_cast<double>(2 * bytes(DType::f32) * element_count(tensor)) <= caches->second;
  };
  std::size_t before = 0;
  for (const std::function<bool(const Tensor&)>& wider :
       {std::function<bool(const Tensor&)>([](const Tensor&) { return true; }),
        std::function<bool(const Tensor&)>(stays)}) {
    const Model wide = f32_intermediates(model, wider);
    const std::size_t changed = differing_types(model, wide);
    if (changed == before) continue;  // the same tensors
    before = changed;
    Model tried = with_widened_operands(wide, machine);
    const double cost = price(tried);
    if (cost >= least) continue;
    least = cost;
    tried.notes.push_back((changed == 0   ? "operators on 16 bits are computed in f32 and round their results"
                           : changed == 1 ? "1 intermediate of 16 bits is kept in f32"
                                          : fmt::format("{} intermediates of 16 bits are kept in f32", changed)) +
                          " (--strict-float: as in the file)");
    best = std::move(tried);
  }
  return best;
}

}  // namespace isamap
