// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/recurrent_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "driver/plan/plan_model.h"

namespace isamap {
namespace {

/// The slices of a tensor that the steps of a recurrence write: [first, first + count) along an axis.
struct WrittenSlices {
  std::size_t axis = 0;
  std::int64_t first = 0, count = 0;
};

/// A statement of the recurrence needs what the caller left in the slices: it adds to them, or reads one that no step
/// before it, nor statement `writer` in the same step, has written.
bool needs_old_slices(const Kernel& kernel, std::size_t s, std::size_t writer, const WrittenSlices& slices) {
  const Computation& statement = kernel.statements[s];
  const TensorId id = kernel.statements[writer].write.tensor;
  const Repeat& repeat = *repeat_of(kernel, writer);
  if (s == writer && statement.reduction != Reduction::assign) return true;
  return std::any_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
    if (read.tensor != id) return false;
    const AffineExpr& at = read.index[slices.axis];
    const AffineExpr offset = at - AffineExpr::dim(repeat.dim);
    if (at.is_constant()) return at.constant() >= slices.first && at.constant() < slices.first + slices.count;
    if (!offset.is_constant() || read.computed) return true;
    const std::int64_t later = offset.constant() - slices.first;
    return later == 0 ? s <= writer : (later > 0) != repeat.backward;
  });
}

/// Nothing: another statement writes the tensor, or not whole slices of it, or one reads what the caller left there.
std::optional<WrittenSlices> written_slices(const Kernel& kernel, TensorId id) {
  std::optional<WrittenSlices> slices;
  std::size_t writer = 0;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.statements[s];
    if (statement.write.tensor != id) continue;
    const Repeat* const repeat = repeat_of(kernel, s);
    if (slices || repeat == nullptr || !statement.domain.faces.empty()) return std::nullopt;
    writer = s;
    std::set<std::string> dims;
    for (std::size_t a = 0; a < statement.write.index.size(); ++a) {
      const AffineExpr offset = statement.write.index[a] - AffineExpr::dim(repeat->dim);
      const auto dim = statement.write.index[a].as_dim();
      const int at = dim ? statement.domain.find(*dim) : -1;
      if (offset.is_constant() && !slices)
        slices = WrittenSlices{a, offset.constant(), repeat->steps};
      else if (at < 0 || !dims.insert(*dim).second ||
               statement.domain.dims[static_cast<std::size_t>(at)].extent != kernel.tensors[id.index()].shape[a])
        return std::nullopt;
    }
    if (!slices) return std::nullopt;
  }
  const Repeat* const repeat = slices ? repeat_of(kernel, writer) : nullptr;
  for (std::size_t s = 0; repeat != nullptr && s < kernel.statements.size(); ++s)
    if (repeat->contains(s) && needs_old_slices(kernel, s, writer, *slices)) return std::nullopt;
  return slices;
}

/// T[first + i0,i1,..] = NAME[i0,i1,..] over the shape of NAME, a new tensor at the end.
Computation copy_of_slices(const Kernel& kernel, TensorId to, std::size_t axis, std::int64_t first) {
  const Tensor& from = kernel.tensors.back();
  Computation copy;
  copy.name = from.name + "_copy";
  Access read{make_id<TensorId>(kernel.tensors.size() - 1), {}};
  copy.write.tensor = to;
  for (std::size_t a = 0; a < from.shape.size(); ++a) {
    const std::string dim = fmt::format("i{}", a);
    copy.domain.dims.push_back({dim, from.shape[a]});
    read.index.push_back(AffineExpr::dim(dim));
    copy.write.index.push_back(AffineExpr::dim(dim) + (a == axis ? first : 0));
  }
  copy.reads = {read};
  copy.body = isamap::read(0, from.dtype);
  return copy;
}

/// Adds an input for these slices of a tensor, and the statement that copies them.
void add_copy(Kernel& kernel, std::vector<Computation>& copies, TensorId to, const WrittenSlices& slices,
              const std::string& suffix) {
  if (slices.count == 0) return;
  Tensor from = kernel.tensors[to.index()];
  from.name += suffix;
  from.shape[slices.axis] = slices.count;
  from.inout = from.output = false;
  kernel.tensors.push_back(std::move(from));
  copies.push_back(copy_of_slices(kernel, to, slices.axis, slices.first));
}

/// Inout tensors become outputs.
std::optional<Diagnostic> take_states_apart(Kernel& kernel) {
  std::vector<Computation> copies;
  const std::size_t count = kernel.tensors.size();
  for (std::size_t t = 0; t < count; ++t) {
    if (!kernel.tensors[t].inout) continue;
    const auto id = make_id<TensorId>(t);
    const auto slices = written_slices(kernel, id);
    if (!slices)
      return error(fmt::format("'{}' is inout, and not one statement of a recurrence writes it slice by slice",
                               kernel.tensors[t].name));
    const std::int64_t end = slices->first + slices->count, extent = kernel.tensors[t].shape[slices->axis];
    add_copy(kernel, copies, id, {slices->axis, 0, slices->first}, "_before");
    add_copy(kernel, copies, id, {slices->axis, end, extent - end}, "_behind");
    kernel.tensors[t].inout = false;
    kernel.tensors[t].output = true;
  }
  for (Repeat& repeat : kernel.repeats) repeat.first += copies.size();
  kernel.statements.insert(kernel.statements.begin(), copies.begin(), copies.end());
  return std::nullopt;
}

bool names_sizes(const std::vector<AffineExpr>& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const AffineExpr& e) { return !e.is_constant(); });
}

}  // namespace

bool has_sized_recurrence(const SymbolicKernel& kernel) {
  return kernel.has_symbols() && !kernel.sample.repeats.empty();
}

Result<Model> recurrent_model(const SymbolicKernel& kernel, const Bindings& sizes, std::optional<std::uint64_t> seed) {
  auto bound = bind(kernel, sizes);
  if (!bound) return bound.diagnostics();
  for (std::size_t t = 0; t < bound->tensors.size(); ++t)
    if (!seed || names_sizes(kernel.shapes[t])) bound->tensors[t].constant = false;
  if (auto problem = take_states_apart(*bound)) return *problem;
  if (const Diagnostics wrong = verify(*bound); has_errors(wrong)) return wrong;
  Model model;
  for (std::size_t t = 0; t < bound->tensors.size(); ++t) {
    const auto id = make_id<TensorId>(t);
    if (const Role role = role_of(*bound, id); bound->tensors[t].constant) {
      Weight& weight = model.weights.emplace_back();
      weight.tensor = id;
      weight.drawn = true;
      weight.seed = *seed + t;
    } else if (role != Role::intermediate) {
      (role == Role::output ? model.outputs : model.inputs).push_back(id);
      model.file_names[id] = bound->tensors[t].name;
    }
  }
  for (std::size_t s = 0; s < bound->statements.size(); ++s)
    model.origins.push_back({{bound->statements[s].name}, bound->statements[s].name, "statement", "statement", s});
  model.kernel = std::move(*bound);
  return model;
}

Result<RecurrentKernel> compile_recurrent_kernel(const SymbolicKernel& kernel, const HardwareModel& machine,
                                                 const SymbolicModelOptions& options,
                                                 std::optional<std::uint64_t> seed) {
  auto sampled = sample_model(
      kernel.facts, [&](const Bindings& sizes, const ValuesOfSizes&) { return recurrent_model(kernel, sizes, seed); });
  if (!sampled) return sampled.diagnostics();
  auto compiled = compile_symbolic_model(*sampled, chain_plan(sampled->models[0].kernel), machine, options);
  if (!compiled) return compiled.diagnostics();
  return RecurrentKernel{std::move(*sampled), std::move(*compiled)};
}

}  // namespace isamap
