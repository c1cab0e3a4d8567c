// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/vector_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "isamap/kernel.h"

namespace isamap {
namespace {

/// The value of an index, or a read at a computed place: neighbours are no contiguous elements.
bool is_irregular(const Ref& read) {
  return !read.buffer.valid() || std::any_of(read.index.begin(), read.index.end(), [](const AffineExpr& e) {
    const auto name = e.as_dim();
    return name && computed_read(*name);
  });
}

constexpr std::int64_t most_at_once = 16;  // elements of a chunk: one-byte elements in the widest moves

/// Registers of one instance that contain elements 0, 1, 2.. in order.
bool holds_in_order(const Operand& operand) {
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  return fragment != nullptr && fragment->over.size() == 1 && fragment->varying.empty() &&
         fragment->index == std::vector<AffineExpr>{AffineExpr::dim(fragment->over[0].first)};
}
bool lies_side_by_side(const Operand& operand) {
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  if (strided == nullptr || strided->terms.size() != 1 || strided->swizzle || !operand.view.empty()) return false;
  const StrideTerm& term = strided->terms[0];
  return term.each.empty() && term.stride && term.stride->op == IntExpr::Op::number && term.stride->number == 1 &&
         term.term == AffineExpr::dim(operand.index_names[0]);
}

/// A load or store of `count` contiguous elements between `memory` and registers of `unit`.
std::optional<InstructionId> move_of(const HardwareModel& model, UnitId unit, MemoryId memory, DType type,
                                     std::int64_t count, bool fetch) {
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& instruction = model.instructions()[i];
    if (instruction.unit != unit || !is_move(instruction) || !instruction.async_by.empty()) continue;
    const Computation& statement = instruction.statement();
    if (statement.domain.dims.size() != 1 || statement.domain.dims[0].extent != count ||
        instruction.ranges[0].min != count || !instruction.masks.empty())
      continue;
    const std::vector<AffineExpr> one = {AffineExpr::dim(statement.domain.dims[0].name)};
    if (access_of(statement, 0).index != one || access_of(statement, 1).index != one) continue;
    const Operand &held = operand_of(instruction, fetch ? 0 : 1), &other = operand_of(instruction, fetch ? 1 : 0);
    const auto fits = [&](const Operand& o) {
      return o.dtype && (*o.dtype == type || (is_bits(*o.dtype) && bits(*o.dtype) == bits(type)));
    };
    if (fits(held) && fits(other) && other.memory == memory && model.memory(held.memory).per == unit &&
        model.memory(held.memory).named_by_compiler() && holds_in_order(held) && lies_side_by_side(other))
      return make_id<InstructionId>(i);
  }
  return std::nullopt;
}

/// Is `offset` a multiple of `to` elements for all values of its variables?
bool multiple_of(const AffineExpr& offset, std::int64_t to) {
  return offset.constant() % to == 0 && std::all_of(offset.terms().begin(), offset.terms().end(),
                                                    [&](const AffineTerm& t) { return t.coefficient % to == 0; });
}

enum class Step { still, neighbours, elsewhere };
Step loop_of(const AffineExpr& offset, const std::string& each) {
  if (!offset.names().contains(each)) return Step::still;
  const bool alone = offset.coefficient(each) == 1 && !(offset - AffineExpr::dim(each)).names().contains(each);
  return alone ? Step::neighbours : Step::elsewhere;
}

struct Judged {
  Neighbours how;
  double requests = 0;  ///< for each element
};

/// Nothing: a contiguous access would be split.
std::optional<Judged> judged(const Program& program, const HardwareModel& model, UnitId unit, const ChunkElement& chunk,
                             std::int64_t count, bool stores) {
  Judged result;
  result.how.count = count;
  bool any = false;
  const auto note = [&](const Ref& ref, bool written) {
    result.how.moves.emplace_back();
    const Buffer& buffer = program.buffers[ref.buffer.index()];
    if (buffer.slots >= 0) return true;  // a register
    if (buffer.swizzle) return false;
    const AffineExpr offset = element_offset(buffer, ref, chunk.ranges);
    const Step loop = loop_of(offset, chunk.each);
    if (loop == Step::neighbours) {
      const auto move = move_of(model, unit, buffer.memory, buffer.dtype, count, !written);
      if (!move) return false;
      const std::int64_t align = operand_of(model.instruction(*move), written ? 0 : 1).align;
      const std::int64_t elements = std::max<std::int64_t>(1, align / bytes(buffer.dtype));
      if (!multiple_of(offset - AffineExpr::dim(chunk.each), elements) ||
          buffer.align % std::max<std::int64_t>(align, 1) != 0)
        return false;
      result.how.moves.back() = move;
      any = true;
    }
    result.requests += loop == Step::elsewhere ? 1.0 : 1.0 / static_cast<double>(count);
    return !(written && loop != Step::neighbours);
  };
  if (!stores) result.how.moves.emplace_back();
  if (stores && !note(chunk.element.write, true)) return std::nullopt;
  for (const Ref& read : chunk.element.reads)
    if (is_irregular(read) || !note(read, false)) return std::nullopt;
  return any ? std::optional(result) : std::nullopt;
}

Ref with(const Ref& ref, const std::string& variable, const AffineExpr& value) {
  Ref out{ref.buffer, {}};
  for (const AffineExpr& e : ref.index) out.index.push_back(substitute(e, {{variable, value}}));
  return out;
}

}  // namespace

std::optional<Neighbours> neighbours(const Program& program, const HardwareModel& model, UnitId unit,
                                     const std::function<ChunkElement(std::int64_t count)>& chunk, bool stores) {
  std::optional<Judged> best;
  for (std::int64_t count = most_at_once; count > 1; count /= 2)
    if (auto found = judged(program, model, unit, chunk(count), count, stores);
        found && (!best || found->requests < best->requests))
      best = std::move(found);
  return best ? std::optional(best->how) : std::nullopt;
}

std::vector<Node> chunk_nodes(Program& program, const HardwareModel& model, const Neighbours& how,
                              const ChunkElement& chunk, const std::string& round, std::int64_t rounds) {
  const AffineExpr turn = round.empty() ? AffineExpr(0) : AffineExpr::dim(round);
  std::vector<Node> fetches, stores;
  std::vector<std::pair<Ref, BufferId>> fetched;
  Element element = chunk.element;
  const auto hold = [&](const Ref& ref, std::size_t access) {  // register of the element; its move, if new
    const Instruction& move = model.instruction(*how.moves[access]);
    const bool store = access == 0;
    for (const auto& [known, registers] : fetched)
      if (!store && known == ref) return Ref{registers, {turn, AffineExpr::dim(chunk.each)}};
    const Buffer& of = program.buffers[ref.buffer.index()];
    Buffer buffer;
    buffer.name = of.name + (store ? "_out" : "_in");
    buffer.memory = operand_of(move, store ? 1 : 0).memory;
    buffer.dtype = of.dtype;
    buffer.slots = 1;
    buffer.extents = {rounds, how.count};
    const BufferId id = make_id<BufferId>(program.buffers.size());
    program.buffers.push_back(std::move(buffer));
    const AffineExpr point = AffineExpr::dim("$" + move.statement().domain.dims[0].name);
    const Ref held{id, {turn, point}}, outside = with(ref, chunk.each, point);
    Call call;
    call.instruction = *how.moves[access];
    call.operands = store ? std::vector<Ref>{outside, held} : std::vector<Ref>{held, outside};
    call.extents = {how.count};
    (store ? stores : fetches).push_back(Node{std::move(call)});
    if (!store) fetched.emplace_back(ref, id);
    return Ref{id, {turn, AffineExpr::dim(chunk.each)}};
  };
  for (std::size_t r = 0; r < element.reads.size(); ++r)
    if (how.moves[r + 1]) element.reads[r] = hold(element.reads[r], r + 1);
  if (how.moves[0]) element.write = hold(element.write, 0);
  std::vector<Node> out = {
      Node{Comment{fmt::format("{} neighbours at a time{}", how.count,
                               rounds > 1 ? fmt::format(", {} times as many on their way", rounds) : "")}}};
  const auto add = [&](std::vector<Node> nodes) {
    if (nodes.empty()) return;
    if (!round.empty()) nodes = {Node{Loop{round, rounds, true, "", std::move(nodes)}}};
    out.insert(out.end(), nodes.begin(), nodes.end());
  };
  add(std::move(fetches));
  add({Node{Loop{chunk.each, how.count, true, "", {Node{element}}}}});
  add(std::move(stores));
  return out;
}

}  // namespace isamap
