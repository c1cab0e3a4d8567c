// SPDX-License-Identifier: Apache-2.0
// A route is tested by lowering a small nest of this operand alone: acceptance makes a route, diagnostics the reason.
// So addressability is defined in one place.

#include "scheduler/space/operand_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hwdesc/model/program_language.h"
#include "ir/text/access_name.h"
#include "scheduler/lowering/lower_nest.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/out_of_bounds.h"

namespace isamap {

namespace {

/// Dims of the operand in the statement or in the instruction.
std::set<std::string> dims_of_operand(const Computation& statement, const Pairing& pairing, int access) {
  std::set<std::string> dims;
  for (const AffineExpr& index : access_of(statement, access).index) dims.merge(index.names());
  const int operand = pairing.operand_access[static_cast<std::size_t>(access)];
  for (const AffineExpr& index : access_of(pairing.instruction->statement(), operand).index)
    for (const std::string& own : index.names())
      dims.insert(pairing.fused_dim_of[static_cast<std::size_t>(pairing.instruction->statement().domain.find(own))]);
  dims.erase("");
  return dims;
}

/// A step of the loop over a dim.
std::int64_t step_of(const Pairing& pairing, const std::string& dim) {
  const auto digit = pairing.digit_of.find(dim);
  return digit == pairing.digit_of.end() ? 1 : full_extent(*pairing.instruction, digit->second);
}

/// The statement with one step of every other dim: their tails do not matter.
Computation restricted_to_operand(Computation statement, const Pairing& pairing, int access) {
  const std::set<std::string> own = dims_of_operand(statement, pairing, access);
  for (Dim& dim : statement.domain.dims)
    if (!own.contains(dim.name)) dim.extent = std::min(dim.extent, step_of(pairing, dim.name));
  return statement;
}

struct RouteTrial {
  const Kernel& kernel;
  const Computation& statement;
  const Mapping& mapping;
  int access;
  const HardwareModel& model;
  const Instruction& instruction;
  Pairing pairing;
};

const Tensor& tensor_of(const RouteTrial& trial) {
  return trial.kernel.tensors[access_of(trial.statement, trial.access).tensor.index()];
}

Line loop_line(const RouteTrial& trial, const Dim& dim) {
  For line;
  line.loops = {{dim.name, step_of(trial.pairing, dim.name)}};
  return {line};
}

Line stage_line(const RouteTrial& trial, const Hop& hop) {
  Stage stage;
  stage.tensor = access_name(trial.kernel.tensors, trial.statement, trial.access);
  stage.memory = trial.model.memory(hop.memory).name;
  stage.layout = hop.layout;
  if (trial.access == 0 && !hop.packed && can_start_at_zero(trial.instruction)) stage.first = First::flag;
  return {stage};
}

// Packed copies are above all loops; other stages below them, an output above its reduction loops.
Nest trial_nest(const RouteTrial& trial, const Route& route) {
  Nest nest;
  for (const Hop& hop : route.hops)
    if (hop.packed) nest.lines.push_back(stage_line(trial, hop));
  const auto loops = [&](DimKind kind) {
    for (const Dim& dim : trial.statement.domain.dims)
      if (dim.kind == kind) nest.lines.push_back(loop_line(trial, dim));
  };
  loops(DimKind::parallel);
  if (trial.access != 0) loops(DimKind::reduction);
  for (const Hop& hop : route.hops)
    if (!hop.packed) nest.lines.push_back(stage_line(trial, hop));
  if (trial.access == 0) loops(DimKind::reduction);
  Do last;
  if (route.skips) last.outside = {{tensor_of(trial).name, Outside::skip}};
  nest.lines.push_back({last});
  return nest;
}

// The tensors of the kernel in their home layout.
std::vector<TileLayout> whole_tensors(const RouteTrial& trial, Lowering& lowering) {
  std::vector<TileLayout> tensors;
  for (std::size_t t = 0; t < trial.kernel.tensors.size(); ++t) {
    Buffer buffer;
    buffer.name = trial.kernel.tensors[t].name;
    buffer.memory = trial.model.home();
    buffer.dtype = trial.kernel.tensors[t].dtype;
    buffer.extents = trial.kernel.tensors[t].shape;
    buffer.strides = dense_strides(buffer.extents);
    buffer.tensor = make_id<TensorId>(t);
    if (!is_command_stream(trial.model)) buffer.align = bytes(buffer.dtype);
    TileLayout tile;
    tile.buffer = make_id<BufferId>(lowering.program.buffers.size());
    tile.whole_tensor = true;
    lowering.program.buffers.push_back(std::move(buffer));
    tensors.push_back(std::move(tile));
  }
  return tensors;
}

// Diagnostics of lowering; empty: the route works.
std::vector<std::string> refusals_of(const RouteTrial& trial, const Route& route) {
  Lowering lowering(trial.model);
  lowering.program.kernel = trial.kernel;
  const Nest nest = trial_nest(trial, route);
  NestInput input;
  input.kernel = &trial.kernel;
  input.pairing = trial.pairing;
  input.nest = &nest;
  input.tensors = whole_tensors(trial, lowering);
  input.only_access = trial.access;
  const auto nodes = lower_nest(lowering, input);
  std::vector<std::string> reasons;
  for (const Diagnostic& d : nodes.diagnostics()) {
    reasons.push_back(d.message);
    reasons.insert(reasons.end(), d.notes.begin(), d.notes.end());
  }
  return reasons;
}

// Shortest path of memories over links with moves; over any links where there are none.
std::vector<MemoryId> path_of_moves(const HardwareModel& model, MemoryId from, MemoryId to) {
  std::vector<MemoryId> before(model.memories().size()), queue{from};
  for (std::size_t at = 0; at < queue.size() && !before[to.index()].valid(); ++at)
    for (const Instruction& move : model.instructions()) {
      if (!is_move(move) || move.operands[operand_of_access(move, 1).index()].memory != queue[at]) continue;
      const MemoryId next = move.operands[operand_of_access(move, 0).index()].memory;
      if (!next.valid() || next == from || before[next.index()].valid()) continue;
      before[next.index()] = queue[at];
      queue.push_back(next);
    }
  if (!before[to.index()].valid()) return model.path(from, to);
  std::vector<MemoryId> path{to};
  while (path.back() != from) path.push_back(before[path.back().index()]);
  std::reverse(path.begin(), path.end());
  return path;
}

// The hops between home and the operand memory, home excluded.
std::optional<std::vector<Hop>> hops_on_path(const RouteTrial& trial, MemoryId operand_memory) {
  const MemoryId home = trial.model.home();
  auto path = trial.access == 0 ? path_of_moves(trial.model, operand_memory, home)
                                : path_of_moves(trial.model, home, operand_memory);
  if (trial.access == 0) std::reverse(path.begin(), path.end());
  if (operand_memory == home) return std::vector<Hop>{};
  if (path.empty()) return std::nullopt;
  std::vector<Hop> hops;
  for (std::size_t i = 1; i < path.size(); ++i) {
    Hop hop;
    hop.memory = path[i];
    if (!trial.model.memory(path[i]).is_register()) hop.layout = blocked_layout(trial.pairing, trial.access);
    hops.push_back(hop);
  }
  return hops;
}

/// Moves may permute elements: bytes become words, even ones before odd ones. The distinct source layouts of moves that
/// produce the layout of the operand.
std::vector<const Operand*> sources_of_moves(const RouteTrial& trial, int operand) {
  const Instruction& instruction = trial.instruction;
  const Operand& taken = instruction.operands[operand_of_access(instruction, operand).index()];
  const auto box = operand_box(instruction, operand);
  const auto own = positions(taken, box);
  std::vector<const Operand*> found;
  std::vector<std::vector<std::int64_t>> orders;
  for (const Instruction& move : trial.model.instructions()) {
    if (!own || !is_move(move) || !type_refusal(move, 0, tensor_of(trial).dtype).empty()) continue;
    const Operand &to = move.operands[operand_of_access(move, 0).index()],
                  &from = move.operands[operand_of_access(move, 1).index()];
    if (to.memory != taken.memory || from.memory != trial.model.home() || to.group != taken.group ||
        operand_box(move, 0) != box || operand_box(move, 1) != box || positions(to, box) != own)
      continue;
    auto order = positions(from, box);
    if (!order || order == own || std::find(orders.begin(), orders.end(), *order) != orders.end()) continue;
    orders.push_back(std::move(*order));
    found.push_back(&from);
  }
  return found;
}

Hop packed_hop(const RouteTrial& trial, bool blocked, const Operand* read_as = nullptr) {
  Hop hop;
  hop.memory = trial.model.home();
  hop.packed = true;
  if (blocked)
    hop.layout = blocked_layout(trial.pairing, trial.access, read_as);
  else
    for (const AffineExpr& form : natural_forms(access_of(trial.statement, trial.access)))
      hop.layout.push_back({form, 0});
  return hop;
}

/// Variants with blocks transposed in a memory on the path, for a transposing move.
std::vector<std::vector<Hop>> transposed_on_path(const std::vector<Hop>& hops, MemoryId operand_memory) {
  std::vector<std::vector<Hop>> all;
  for (std::size_t h = 0; h < hops.size(); ++h) {
    const std::size_t digits = hops[h].layout.size();
    if (hops[h].memory == operand_memory || digits < 2) continue;
    all.push_back(hops);
    std::swap(all.back()[h].layout[digits - 1], all.back()[h].layout[digits - 2]);
  }
  return all;
}

/// Contiguous elements written by moves into the memory: extents of their last index.
std::vector<std::int64_t> row_lengths(const HardwareModel& model, MemoryId memory) {
  std::vector<std::int64_t> lengths;
  for (const Instruction& move : model.instructions()) {
    if (!is_move(move) || move.operands[operand_of_access(move, 0).index()].memory != memory) continue;
    const Computation& copy = move.statement();
    const auto last = copy.write.index.empty() ? std::nullopt : copy.write.index.back().as_dim();
    const int d = last ? copy.domain.find(*last) : -1;
    const std::int64_t length = d < 0 ? 1 : full_extent(move, static_cast<std::size_t>(d));
    if (length > 1 && std::find(lengths.begin(), lengths.end(), length) == lengths.end()) lengths.push_back(length);
  }
  return lengths;
}

/// Variants with the input in tensor order on the path, for a move that distributes elements over the operand: [i, k],
/// or in rows as moves write them, [i, k/8, k%8] and [k/8, i, k%8].
std::vector<std::vector<Hop>> in_tensor_order(const RouteTrial& trial, const std::vector<Hop>& hops,
                                              MemoryId operand_memory) {
  std::vector<std::vector<LayoutDigit>> layouts(1);
  const std::vector<AffineExpr> forms = natural_forms(access_of(trial.statement, trial.access));
  for (const AffineExpr& form : forms) layouts[0].push_back({form, 0});
  std::vector<std::int64_t> lengths;
  for (const Hop& hop : hops)
    if (hop.memory != operand_memory)
      for (const std::int64_t length : row_lengths(trial.model, hop.memory))
        if (std::find(lengths.begin(), lengths.end(), length) == lengths.end()) lengths.push_back(length);
  for (const std::int64_t length : lengths) {
    if (forms.empty()) break;
    std::vector<LayoutDigit> rows = layouts[0];
    rows.back().index = floordiv(forms.back(), length);
    rows.push_back({mod(forms.back(), length), 0});
    layouts.push_back(rows);
    std::rotate(rows.begin(), rows.end() - 2, rows.end() - 1);
    layouts.push_back(rows);
  }
  std::vector<std::vector<Hop>> all;
  for (const auto& layout : layouts) {
    all.push_back(hops);
    for (Hop& hop : all.back())
      if (hop.memory != operand_memory && !trial.model.memory(hop.memory).is_register()) hop.layout = layout;
  }
  return all;
}

/// With the tensor's own order in every memory on the path, for a window read in place: blocks would put dims of the
/// reduction innermost, [p + r, q + s, c], where the instruction needs neighbours along q.
std::vector<Hop> as_in_tensor(const RouteTrial& trial, std::vector<Hop> hops) {
  for (Hop& hop : hops) {
    if (trial.model.memory(hop.memory).is_register()) continue;
    hop.layout.clear();
    for (const AffineExpr& form : natural_forms(access_of(trial.statement, trial.access)))
      hop.layout.push_back({form, 0});
  }
  return hops;
}

}  // namespace

Routes routes(const Kernel& kernel, const Computation& whole, const Mapping& mapping, int instruction_access,
              const HardwareModel& model) {
  const InstructionForm form = instruction_form(mapping, model);
  const Instruction& instruction = *form;
  const int access = mapping.operands[static_cast<std::size_t>(instruction_access)];
  const Computation statement = restricted_to_operand(whole, pair(whole, form, mapping), access);
  const RouteTrial trial{kernel, statement, mapping, access, model, instruction, pair(statement, form, mapping)};
  const MemoryId memory = instruction.operands[operand_of_access(instruction, instruction_access).index()].memory;
  Routes result;
  const auto hops = memory.valid() ? hops_on_path(trial, memory) : std::vector<Hop>{};
  if (!hops) {
    result.reasons.push_back(fmt::format("no links lead {} {}{}", access == 0 ? "out of" : "from the tensors to",
                                         model.memory(memory).name, access == 0 ? " to the tensors" : ""));
    return result;
  }
  const auto consider = [&](std::vector<Hop> all, bool skips = false) {
    Route route{access, std::move(all), false, skips};
    for (const Hop& hop : route.hops) route.packed |= hop.packed;
    const auto reasons = refusals_of(trial, route);
    if (reasons.empty()) result.routes.push_back(std::move(route));
    for (const std::string& reason : reasons)
      if (std::find(result.reasons.begin(), result.reasons.end(), reason) == result.reasons.end())
        result.reasons.push_back(reason);
  };
  consider(*hops);
  const bool in_registers =
      std::all_of(hops->begin(), hops->end(), [&](const Hop& hop) { return model.memory(hop.memory).is_register(); });
  if (access != 0 && in_registers && may_skip(kernel, whole, access_of(whole, access).tensor)) consider(*hops, true);
  if (result.routes.empty())
    for (std::vector<Hop>& turned : transposed_on_path(*hops, memory)) consider(std::move(turned));
  if (result.routes.empty() && access != 0 && hops->size() > 1)
    for (std::vector<Hop>& ordered : in_tensor_order(trial, *hops, memory)) consider(std::move(ordered));
  if (result.routes.empty() && access != 0 && !in_registers) consider(as_in_tensor(trial, *hops));
  if (!model.scalar_unit_for(model.home())) return result;
  const auto with = [&](const Hop& first) {
    std::vector<Hop> all{first};
    all.insert(all.end(), hops->begin(), hops->end());
    return all;
  };
  const bool with_outside = access != 0 && outside_of(access_of(trial.statement, access), kernel.tensors).has_value();
  if (with_outside) consider(with(packed_hop(trial, false)));
  consider(with(packed_hop(trial, true)));
  if (access != 0 && in_registers && result.routes.empty())
    for (const Operand* order : sources_of_moves(trial, instruction_access))
      consider(with(packed_hop(trial, true, order)));
  // A copy in tensor order has padding for reads past the end of a window.
  if (access != 0 && !with_outside && result.routes.empty()) consider(with(packed_hop(trial, false)));
  return result;
}

const Routes& RouteTable::of(const Computation& statement, const Mapping& mapping, int instruction_access) {
  const InstructionForm form = instruction_form(mapping, *model_);
  const int access = mapping.operands[static_cast<std::size_t>(instruction_access)];
  const Pairing pairing = pair(statement, form, mapping);
  const std::set<std::string> own = dims_of_operand(statement, pairing, access);
  std::string key = fmt::format("{} {} {} {}", mapping.instruction.index(), mapping.rolled.size(), instruction_access,
                                mapping.constant.value_or(0));
  for (const TreeCall& call : mapping.tree.calls) key += fmt::format(" tree {}", call.instruction.index());
  for (const int operand : mapping.operands) key += fmt::format(" {}", operand);
  for (const AffineExpr& index : access_of(statement, access).index) key += ", " + print(index);
  for (const Dim& dim : statement.domain.dims) {
    if (!own.contains(dim.name)) continue;
    const auto digit = pairing.digit_of.find(dim.name);
    key += fmt::format("; {} {} {} {}", dim.name, dim.extent, static_cast<int>(dim.kind),
                       digit == pairing.digit_of.end() ? -1 : static_cast<int>(digit->second));
  }
  for (std::size_t d = 0; d < pairing.fused_dim_of.size(); ++d) {  // calls that the other operands leave incomplete
    const int other = statement.domain.find(pairing.fused_dim_of[d]);
    if (other >= 0 && own.contains(pairing.fused_dim_of[d])) continue;
    const std::int64_t extent = other < 0 ? 1 : statement.domain.dims[static_cast<std::size_t>(other)].extent;
    if (extent < full_extent(*form, d)) key += fmt::format("; {} of {}", extent, d);
  }
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(std::move(key), routes(*kernel_, statement, mapping, instruction_access, *model_))
      .first->second;
}

}  // namespace isamap
