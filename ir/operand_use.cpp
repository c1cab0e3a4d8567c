// SPDX-License-Identifier: Apache-2.0
#include "ir/operand_use.h"

#include "isamap/result.h"

namespace isamap {
namespace {

struct Step {
  std::string dim;
  std::int64_t points = 1;
};

/// The dim and step of a layout term: `k/4` moves dim k by 4, `k` and `k%4` by 1.
std::optional<Step> step_of_dim_term(const Instruction& instruction, const std::string& term) {
  const std::size_t cut = term.find_first_of("/%");
  const std::string dim = term.substr(0, cut);
  if (instruction.statement().domain.find(dim) < 0) return std::nullopt;
  if (cut == std::string::npos || term[cut] == '%') return Step{dim, 1};
  std::int64_t divisor = 0;
  for (const char c : term.substr(cut + 1)) {
    if (c < '0' || c > '9' || divisor > (std::int64_t{1} << 40)) return std::nullopt;
    divisor = divisor * 10 + (c - '0');
  }
  return Step{dim, divisor};
}

/// The dim whose steps move subscript `number` by exactly one and no other subscript: of several (p + r) one with
/// extent above 1 in the call.
std::optional<Step> step_of_subscript(const Access& access, const Computation& statement, const Call& call,
                                      const std::string& number) {
  if (number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const auto position = static_cast<std::size_t>(std::stoul(number));
  if (position >= access.index.size()) return std::nullopt;
  std::optional<Step> found;
  for (std::size_t d = 0; d < statement.domain.dims.size(); ++d) {
    const Dim& dim = statement.domain.dims[d];
    bool alone = true;
    for (std::size_t s = 0; s < access.index.size(); ++s) {
      const bool moves = access.index[s].names().contains(dim.name);
      if (s == position)
        alone = alone && access.index[s].is_linear() && access.index[s].coefficient(dim.name) == 1;
      else
        alone = alone && !moves;
    }
    if (alone && d < call.extents.size() && call.extents[d] > 1) return Step{dim.name, 1};
    if (alone && !found) found = Step{dim.name, 1};
  }
  return found;
}

}  // namespace

Ranges ranges_of_call(const Ranges& loops, const Instruction& instruction, const Call& call, int access) {
  Ranges ranges = loops;
  if (instruction.semantics.empty()) return ranges;
  const auto& dims = instruction.statement().domain.dims;
  const auto extents = access == 0 ? touched_extents(instruction, call.extents) : call.extents;
  for (std::size_t d = 0; d < dims.size() && d < extents.size(); ++d)
    ranges[point_name(dims[d].name)] = {0, extents[d] - 1};
  return ranges;
}

AffineExpr element_offset(const Buffer& buffer, const Ref& ref, const Ranges& ranges) {
  AffineExpr offset;
  for (std::size_t a = 0; a < ref.index.size() && a < buffer.strides.size(); ++a)
    offset += ref.index[a] * buffer.strides[a];
  return simplify(offset, ranges);
}

AffineExpr at_origin(const AffineExpr& e, const Ranges& ranges) {
  std::map<std::string, AffineExpr> zero;
  for (const std::string& name : e.names())
    if (name.starts_with('$')) zero.emplace(name, AffineExpr(0));
  return zero.empty() ? e : simplify(substitute(e, zero), ranges);
}

const Operand& operand_of(const Instruction& instruction, int access) {
  return instruction.operands[operand_of_access(instruction, access).index()];
}

bool same_type(const Operand& mover, const Operand& user) {
  return !mover.dtype || !user.dtype || *mover.dtype == *user.dtype || is_bits(*mover.dtype);
}

int access_named(const Instruction& instruction, const Call& call, const std::string& operand) {
  for (int a = 0; a < static_cast<int>(call.operands.size()); ++a)
    if (operand_of(instruction, a).name == operand) return a;
  return -1;
}

std::optional<std::int64_t> stride_along(const AffineExpr& offset, const Instruction& instruction, const Call& call,
                                         int access, const std::string& term, const Ranges& ranges) {
  const Computation& statement = instruction.statement();
  auto step = step_of_dim_term(instruction, term);
  if (!step) step = step_of_subscript(access_of(statement, access), statement, call, term);
  if (!step) return std::nullopt;
  std::map<std::string, AffineExpr> from, to;
  for (const Dim& dim : statement.domain.dims) {
    from.emplace(point_name(dim.name), AffineExpr(0));
    to.emplace(point_name(dim.name), AffineExpr(dim.name == step->dim ? step->points : 0));
  }
  const AffineExpr difference = simplify(substitute(offset, to) - substitute(offset, from), ranges);
  if (difference.is_constant()) return difference.constant();
  const auto d = static_cast<std::size_t>(statement.domain.find(step->dim));
  if (d < call.extents.size() && call.extents[d] <= step->points) return 0;
  return std::nullopt;
}

std::int64_t slot_count(const Buffer& buffer) {
  std::int64_t count = 1;
  for (int a = 0; a < buffer.slots && a < static_cast<int>(buffer.extents.size()); ++a)
    count *= buffer.extents[static_cast<std::size_t>(a)];
  return count;
}

const Ref* mask_of(const Instruction& instruction, const Call& call, const std::string& dim) {
  for (std::size_t m = 0; m < instruction.masks.size() && m < call.masks.size(); ++m)
    if (instruction.masks[m].first == dim) return &call.masks[m];
  return nullptr;
}

std::optional<std::int64_t> slot_of(const Buffer& buffer, const Ref& ref, const Ranges& ranges) {
  std::int64_t slot = 0;
  for (int a = 0; a < buffer.slots; ++a) {
    const auto axis = static_cast<std::size_t>(a);
    if (axis >= ref.index.size() || axis >= buffer.extents.size()) return std::nullopt;
    const AffineExpr index = at_origin(simplify(ref.index[axis], ranges), ranges);
    if (!index.is_constant()) return std::nullopt;
    slot = slot * buffer.extents[axis] + index.constant();
  }
  return slot;
}

bool updates(const Instruction& instruction, const Call& call) {
  const Computation& statement = instruction.statement();
  for (const Access& read : statement.reads)
    if (read.tensor == statement.write.tensor) return true;
  return statement.reduction != Reduction::assign && call.start == Start::keep;
}

bool overwrites(const Instruction& instruction, const Call& call) {
  if (updates(instruction, call)) return false;
  for (std::size_t d = 0; d < call.extents.size() && d < instruction.ranges.size(); ++d)
    if ((instruction.inactive == Inactive::keep || instruction.ranges[d].kept) &&
        call.extents[d] < instruction.ranges[d].max)
      return false;
  return true;
}

}  // namespace isamap
