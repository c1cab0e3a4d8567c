// SPDX-License-Identifier: Apache-2.0
#include "verify/isolated_operands.h"

#include <fmt/format.h>

#include "ir/start.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "verify/lane_registers.h"

namespace isamap {

BufferId IsolatedOperands::add(Buffer buffer) {
  int same = 0;
  for (const Buffer& other : lowering_.program.buffers) same += other.name.rfind(buffer.name, 0) == 0;
  if (same > 0) buffer.name += std::to_string(same);
  lowering_.program.buffers.push_back(std::move(buffer));
  return make_id<BufferId>(lowering_.program.buffers.size() - 1);
}

void IsolatedOperands::prepare() {
  mapping_ = identity(instruction_, id_);
  for (std::size_t d = 0; d < requested_.extents.size(); ++d)
    mapping_.dims.push_back({Digit{AffineExpr::dim(own().domain.dims[d].name), requested_.extents[d]}});
  fused_ = fuse(rerolled_.statements[0], mapping_);
  pairing_ = pair(fused_, form_in(Nest{}, mapping_, fused_, model_), mapping_);
  for (const Dim& dim : fused_.domain.dims) tiles_[dim.name] = {AffineExpr(0), dim.extent, false};
  for (int a = 0; a < access_count(fused_); ++a) home_[tensor_of(a).index()].axes = access_of(fused_, a).index;
}

AffineExpr IsolatedOperands::here(const AffineExpr& e) const {
  std::map<std::string, AffineExpr> values;
  for (const auto& [dim, tile] : tiles_)
    values[dim] = own().domain.find(dim) < 0 ? tile.origin : AffineExpr::dim("$" + dim);
  return substitute(e, values);
}

std::vector<AffineExpr> IsolatedOperands::here(const Access& access) const {
  std::vector<AffineExpr> index;
  for (const AffineExpr& e : access.index) index.push_back(here(e));
  return index;
}

std::vector<AffineExpr> IsolatedOperands::subscripts(int access) const {
  std::vector<AffineExpr> all;
  for (const AffineExpr& e : access_of(own(), access).index) all.push_back(here(e));
  return all;
}

std::vector<AffineExpr> IsolatedOperands::around(int access) const {
  const auto& index = access_of(rerolled_.statements[0], access).index;
  std::vector<AffineExpr> outer;
  for (std::size_t i = 0; i + access_of(own(), access).index.size() < index.size(); ++i)
    outer.push_back(here(index[i]));
  return outer;
}

Result<Ref> IsolatedOperands::accepted(int access, Ref ref, const TileLayout& tile) const {
  const Buffer& buffer = lowering_.buffer(ref.buffer);
  if (const std::string no =
          refusal({instruction_, access, requested_.extents}, buffer, tile, ref.index, lowering_.known());
      !no.empty())
    return error(no);
  return ref;
}

Result<Made> IsolatedOperands::each_element(int access, const ScratchPlace& place, BufferId scratch, bool fill) {
  const auto box = rerolled_.tensors[tensor_of(access).index()].shape;
  const std::size_t outer =
      access_of(rerolled_.statements[0], access).index.size() - access_of(own(), access).index.size();
  std::vector<std::string> variables;
  std::vector<AffineExpr> values;
  for (std::size_t d = outer; d < box.size(); ++d) {
    variables.push_back(lowering_.variable("e", box[d]));
    values.push_back(box[d] > 1 ? AffineExpr::dim(variables.back()) : AffineExpr(0));
  }
  std::vector<AffineExpr> whole = around(access);
  whole.insert(whole.end(), values.begin(), values.end());
  Ref there{scratch, place.at(values, use())}, at_home{home_[tensor_of(access).index()].buffer, whole};
  for (AffineExpr& e : there.index) e = simplify(e, lowering_.ranges);
  Element element;
  element.unit = *model_.scalar_unit_for(operand(access).memory);
  element.write = fill ? there : at_home;
  element.reads = {fill ? at_home : there};
  element.body = read(0, place.buffer.dtype);
  Made nodes{Node{std::move(element)}};
  for (std::size_t i = variables.size(); i-- > 0;)
    if (box[outer + i] > 1) nodes = loop_around(variables[i], box[outer + i], false, std::move(nodes));
  return nodes;
}

Made IsolatedOperands::fence(int access) const {
  const Operand& read = operand(access);
  if (read.view.empty()) return {};
  Sync sync;
  sync.unit = *model_.scalar_unit_for(read.memory);
  sync.object = model_.memory(read.memory).name + "." + read.view;
  sync.step = Sync::Step::fence;
  return {Node{std::move(sync)}};
}

Result<Placed> IsolatedOperands::at_home(int access) {
  const TileLayout& tile = home_[tensor_of(access).index()];
  auto ref = accepted(access, {tile.buffer, here(access_of(rerolled_.statements[0], access))}, tile);
  if (!ref) return ref.diagnostics();
  return Placed{std::move(*ref), {}, {}};
}

Result<Placed> IsolatedOperands::in_scratch(int access) {
  const DType dtype = rerolled_.tensors[tensor_of(access).index()].dtype;
  const auto place = scratch_place(model_, *pairing_.instruction, access, dtype);
  if (!place) return place.diagnostics();
  BufferId& buffer = scratch_[access];
  if (!buffer.valid()) {
    Buffer made = place->buffer;
    made.name = rerolled_.tensors[tensor_of(access).index()].name + "_" + model_.memory(made.memory).name;
    made.tensor = tensor_of(access);
    buffer = add(std::move(made));
  }
  TileLayout tile;
  tile.buffer = buffer;
  auto ref = accepted(access, {buffer, place->at(subscripts(access), use())}, tile);
  if (!ref) return ref.diagnostics();
  Placed placed{std::move(*ref), {}, {}};
  if (access > 0 || rerolled_.tensors[tensor_of(access).index()].inout) {
    auto fill = each_element(access, *place, buffer, true);
    if (!fill) return fill.diagnostics();
    placed.before = std::move(*fill);
    add(placed.before, fence(access));
  }
  if (access > 0) return placed;
  auto drain = each_element(access, *place, buffer, false);
  if (!drain) return drain.diagnostics();
  placed.after = std::move(*drain);
  return placed;
}

Result<Made> IsolatedOperands::moved(int access, const TileLayout& tile, bool fill) {
  const auto copied = [&](const TileLayout& inner, const TileLayout& outer) {
    Copy copy;
    copy.inner = &inner;
    copy.outer = &outer;
    copy.into_inner = fill;
    copy.unroll = inner.slots >= 0;
    for (const Coordinate& c : inner.coordinates) copy.zero.push_back(padding_must_be_zero(pairing_, c));
    return transfer(lowering_, copy);
  };
  const TileLayout& home = home_[tensor_of(access).index()];
  auto direct = copied(tile, home);
  if (direct) return direct;
  for (std::size_t m = 0; m < model_.memories().size(); ++m) {
    const auto id = make_id<MemoryId>(m);
    const Memory& memory = model_.memory(id);
    if (id == model_.home() || memory.is_register() || memory.kind == MemoryKind::cache || !model_.scalar_unit_for(id))
      continue;
    std::vector<LayoutDigit> layout;
    for (const AffineExpr& form : natural_forms(access_of(fused_, access))) layout.push_back({form, 0});
    layout.back().pad = 1;  // rows with a gap
    auto between = make_tile(pairing_, rerolled_, {access, id, layout}, tiles_, model_);
    if (!between) continue;
    const std::size_t known = lowering_.program.buffers.size();
    between->tile.buffer = add(std::move(between->buffer));
    auto near = copied(tile, between->tile), far = copied(between->tile, home);
    if (!near || !far) {
      lowering_.program.buffers.resize(known);
      continue;
    }
    Made nodes = fill ? std::move(*far) : std::move(*near);
    add(nodes, fill ? std::move(*near) : std::move(*far));
    return nodes;
  }
  return direct.diagnostics();
}

Result<Made> IsolatedOperands::moved_in_shares(int access, BufferId registers, bool fill) {
  const auto share = share_of(operand(access), model_);
  if (!share) return error(fmt::format("operand {} is in registers of one instance", operand(access).name));
  const auto outer = around(access);
  return move_shares(
      lowering_, *share, registers, home_[tensor_of(access).index()].buffer,
      [&](const std::vector<AffineExpr>& instances, const AffineExpr& element) {
        std::vector<AffineExpr> index = outer;
        const bool shares = access == 0 && order_ == Order::shares;
        std::vector<AffineExpr> rest = shares ? instances : share->at(instances, element);
        if (shares) rest.push_back(element);
        index.insert(index.end(), rest.begin(), rest.end());
        return index;
      },
      fill);
}

Result<NewTile> IsolatedOperands::register_place(int access) {
  auto made = make_tile(pairing_, rerolled_, {access, operand(access).memory}, tiles_, model_);
  if (made) return made;
  const Tensor& tensor = rerolled_.tensors[tensor_of(access).index()];
  NewTile plain;
  plain.buffer.name = tensor.name + "_" + model_.memory(operand(access).memory).name;
  plain.buffer.memory = operand(access).memory;
  plain.buffer.dtype = tensor.dtype;
  plain.buffer.tensor = tensor_of(access);
  plain.buffer.extents = operand_box(instruction_, access);
  plain.buffer.slots = plain.tile.slots = 0;
  plain.buffer.registers_per_slot =
      registers_of(instruction_, access, tensor.dtype, model_.memory(operand(access).memory));
  return plain;
}

Result<Placed> IsolatedOperands::in_registers(int access) {
  auto made = register_place(access);
  if (!made) return made.diagnostics();
  TileLayout tile = made->tile;
  const bool whole = !tile.axes.empty();  // a tile for moves of the whole operand
  tile.buffer = add(std::move(made->buffer));
  Placed placed;
  placed.ref.buffer = tile.buffer;
  if (whole) {
    Known known;
    for (const Dim& dim : fused_.domain.dims)
      known.emplace_back(AffineExpr::dim(dim.name), here(AffineExpr::dim(dim.name)));
    for (const Dim& dim : own().domain.dims)
      known.emplace_back(AffineExpr::dim("$" + dim.name), AffineExpr::dim("$" + dim.name));
    Ranges ranges = lowering_.ranges;
    for (const auto& [name, range] : dim_ranges(instruction_, requested_.extents)) ranges[name] = range;
    const auto index = index_at(tile, known, ranges);
    if (!index) return error(fmt::format("operand {} cannot be said in the dims", operand(access).name));
    placed.ref.index = *index;
  } else {
    placed.ref.index = subscripts(access);
  }
  const auto either = [&](bool fill) -> Result<Made> {
    Diagnostics first;
    const bool beyond = access == 0 && instruction_.inactive == Inactive::zero && requested_.extents != full_extents();
    if (whole && !beyond && !(access == 0 && order_ == Order::shares)) {
      auto nodes = moved(access, tile, fill);
      if (nodes) return nodes;
      first = nodes.diagnostics();
    }
    auto nodes = moved_in_shares(access, tile.buffer, fill);
    return nodes || first.empty() ? std::move(nodes) : Result<Made>(first);
  };
  if (access > 0 || rerolled_.tensors[tensor_of(access).index()].inout) {
    auto fill = either(true);
    if (!fill) return fill.diagnostics();
    placed.before = std::move(*fill);
  }
  if (access == 0) {
    auto drain = either(false);
    if (!drain) return drain.diagnostics();
    placed.after = std::move(*drain);
  }
  return placed;
}

Result<Placed> IsolatedOperands::placed(int access) {
  const MemoryId memory = operand(access).memory;
  if (memory == model_.home()) return at_home(access);
  return model_.memory(memory).is_register() ? in_registers(access) : in_scratch(access);
}

}  // namespace isamap
