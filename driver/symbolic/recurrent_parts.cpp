// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/recurrent_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/plan/plan_model.h"
#include "driver/symbolic/symbolic_bands.h"
#include "frontends/layers.h"
#include "ir/verify/recurrence.h"

namespace isamap {
namespace {

/// Statements that run one after another, a recurrence or none of one.
std::vector<Part> cut_at_recurrences(const Part& part, const Kernel& kernel) {
  std::vector<Part> pieces;
  const Repeat* around = nullptr;
  for (const std::size_t s : part.statements) {
    const Repeat* repeat = repeat_of(kernel, s);
    if (pieces.empty() || repeat != around) pieces.emplace_back();
    pieces.back().statements.push_back(s);
    around = repeat;
  }
  return pieces;
}

void add_by_chains(const Part& piece, const std::vector<Part>& chains, std::vector<Part>& parts) {
  for (const Part& chain : chains) {
    Part one;
    std::set_intersection(piece.statements.begin(), piece.statements.end(), chain.statements.begin(),
                          chain.statements.end(), std::back_inserter(one.statements));
    if (!one.statements.empty()) parts.push_back(std::move(one));
  }
}

/// The axis that the step counts; -1: none.
int axis_of_steps(const Access& access, const std::string& dim) {
  for (std::size_t a = 0; a < access.index.size(); ++a)
    if (access.index[a].names().contains(dim)) return static_cast<int>(a);
  return -1;
}

}  // namespace

ModelPlan with_recurrences_apart(const ModelPlan& plan, const Kernel& kernel) {
  if (kernel.repeats.empty()) return plan;
  const std::vector<Part> chains = chain_plan(kernel).parts;
  ModelPlan apart = plan;
  apart.parts.clear();
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    for (std::size_t g = 0; g < plan.bands.size(); ++g)
      if (plan.bands[g].first == p) apart.bands[g].first = apart.parts.size();
    const std::vector<Part> pieces = cut_at_recurrences(plan.parts[p], kernel);
    for (const Part& piece : pieces)
      if (pieces.size() == 1)
        apart.parts.push_back(piece);
      else
        add_by_chains(piece, chains, apart.parts);
  }
  return apart;
}

Orders steps_outermost(Orders orders, const Kernel& kernel) {
  orders.resize(kernel.tensors.size());
  for (const Repeat& repeat : kernel.repeats)
    for (std::size_t s = repeat.first; repeat.contains(s); ++s)
      for (int a = 0; a < access_count(kernel.statements[s]); ++a) {
        const Access& access = access_of(kernel.statements[s], a);
        const int axis = axis_of_steps(access, repeat.dim);
        if (axis < 0 || !is_free(kernel, access.tensor)) continue;
        std::vector<int>& order = orders[access.tensor.index()];
        for (std::size_t d = 0; order.size() < access.index.size(); ++d) order.push_back(static_cast<int>(d));
        std::stable_partition(order.begin(), order.end(), [&](int one) { return one == axis; });
        if (std::is_sorted(order.begin(), order.end())) order.clear();
      }
  return orders;
}

Result<RecurrentPart> recurrent_part(const std::vector<Model>& models, const Part& part, const SymbolicKernel& whole,
                                     const SampledModel& sampled, SizeFit& fit) {
  std::vector<OneStep> steps;
  std::vector<Kernel> cuts, kernels;
  for (const Model& model : models) {
    cuts.push_back(cut_as_it_is(model.kernel, part.statements, "part"));
    steps.push_back(one_step(cuts.back()));
    kernels.push_back(steps.back().kernel);
  }
  auto step = lifted_kernel(kernels, sampled, fit);
  if (!step) return step.diagnostics();
  RecurrentPart made{std::move(*step), {}, {whole.steps.front(), cuts.front().repeats.front().backward}};
  for (const Slice& slice : steps.front().slices) {
    const std::string& name = cuts.front().tensors[slice.whole.index()].name;
    made.tensors.push_back({name, slice.axis, slice.offset});
    for (const Kernel& cut : cuts)
      for (int axis = 0; axis < slice.axis; ++axis)
        if (cut.tensors[slice.whole.index()].shape[static_cast<std::size_t>(axis)] != 1)
          return error(fmt::format("the steps of '{}' are not its outermost axis", name));
  }
  return made;
}

}  // namespace isamap
