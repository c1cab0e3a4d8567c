// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/symbolic_bands.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/plan/band_price.h"

namespace isamap {
namespace {

/// A divisor of the rows of the plan: as many as fit half of the second cache wherever one row does, else one.
std::int64_t rows_at_all_sizes(const std::vector<Model>& models, const std::vector<Part>& parts, const BandGroup& group,
                               const BandCaches& caches) {
  const auto fits = [&](std::int64_t by) {
    return std::all_of(models.begin(), models.end(), [&](const Model& model) {
      const auto schedule = band_schedule(model.kernel, parts, by, group.along);
      return schedule && buffer_bytes(model.kernel, *schedule) <= caches.second / 2;
    });
  };
  for (std::int64_t by = group.by; by > 1; --by)
    if (group.by % by == 0 && fits(by)) return by;
  return 1;
}

bool reads_weights(const Kernel& kernel, const Part& part) {
  return std::any_of(part.statements.begin(), part.statements.end(), [&](std::size_t s) {
    const auto& reads = kernel.statements[s].reads;
    return std::any_of(reads.begin(), reads.end(), [&](const Access& read) {
      const Tensor& tensor = kernel.tensors[read.tensor.index()];
      return tensor.constant && element_count(tensor) > 1;
    });
  });
}

/// The group of so many rows. Where these are fewer than those of the plan, products with slices of weights at its
/// front would read their inputs more often than they were priced for: they run before the bands.
BandGroup with_rows(BandGroup group, std::int64_t by, const Kernel& kernel, const std::vector<Part>& parts) {
  const bool fewer = by < group.by;
  group.by = by;
  for (; fewer && group.count > 2 && reads_weights(kernel, parts[group.first]); --group.count) ++group.first;
  return group;
}

}  // namespace

Result<SymbolicKernel> lifted_kernel(const std::vector<Kernel>& by_sample, const SampledModel& sampled, SizeFit& fit) {
  std::vector<KernelAt> samples;
  for (std::size_t n = 0; n < by_sample.size(); ++n) samples.push_back({sampled.sizes[n], &by_sample[n]});
  auto kernel = lifted(sampled.facts, samples, fit);
  if (!kernel) return kernel;
  *kernel = without_unit_axes(*kernel);
  if (auto problems = verify(*kernel); has_errors(problems)) return problems;
  return kernel;
}

Result<SymbolicBandParts> bands_at_all_sizes(const std::vector<Model>& models, const SampledModel& sampled,
                                             const ModelPlan& plan, std::size_t number, const HardwareModel& machine,
                                             SizeFit& fit) {
  const auto parts_of = [&](const BandGroup& group) {
    const auto begin = plan.parts.begin() + static_cast<std::ptrdiff_t>(group.first);
    return std::vector<Part>(begin, begin + static_cast<std::ptrdiff_t>(group.count));
  };
  BandGroup group = plan.bands[number];
  const auto caches = band_caches(machine);
  if (!caches) return error("the machine has no two caches");
  group = with_rows(group, rows_at_all_sizes(models, parts_of(group), group, *caches), models[0].kernel, plan.parts);
  const std::vector<Part> parts = parts_of(group);
  SymbolicBandParts made{group, {}, {}, {}, static_cast<std::int64_t>(caches->nearest / 2)};
  auto schedule = band_schedule(models[0].kernel, parts, made.group.by, group.along);
  if (!schedule) return schedule.diagnostics();
  made.schedule = std::move(*schedule);
  for (const Model& model : models) {
    const auto other = band_schedule(model.kernel, parts, made.group.by, group.along);
    if (!other) return other.diagnostics();
    if (!(*other == made.schedule)) return error("the number of rows depends on a size");
  }
  for (std::size_t k = 0; k < made.schedule.kernels.size(); ++k) {
    std::vector<Kernel> cuts;
    for (const Model& model : models)
      cuts.push_back(cut_rows(model.kernel, parts[made.schedule.kernels[k].part], made.schedule, k));
    auto kernel = lifted_kernel(cuts, sampled, fit);
    if (!kernel) return kernel.diagnostics();
    made.kernels.push_back(std::move(*kernel));
  }
  return made;
}

}  // namespace isamap
