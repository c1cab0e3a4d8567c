#include "scheduler/outside_reads.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

namespace {

const Tensor& tensor_of(const NestParts& parts, int access) {
  return parts.kernel_.tensors[access_of(parts.statement_, access).tensor.index()];
}

/// Values of each dim of a tile, at any step of the loops around it.
Ranges ranges_of(const NestParts& parts, const Tiles& tiles) {
  Ranges ranges;
  for (const auto& [dim, tile] : tiles) {
    const auto origin = bounds(tile.origin, parts.lowering_.ranges);
    if (origin) ranges[dim] = {origin->low, origin->high + std::max<std::int64_t>(tile.size, 1) - 1};
  }
  return ranges;
}

AffineExpr at_origin(const AffineExpr& e, const Tiles& tiles) {
  std::map<std::string, AffineExpr> by;
  for (const std::string& name : e.names()) by[name] = tiles.at(name).origin;
  return substitute(e, by);
}

}  // namespace

bool may_skip(const Computation& statement, const Tensor& tensor) {
  if (!tensor.outside) return false;
  const ScalarExpr* body = &statement.body;
  while (std::holds_alternative<Cast>(body->op)) body = &body->args[0];
  const auto* binary = std::get_if<Binary>(&body->op);
  if (statement.reduction == Reduction::add)
    return *tensor.outside == 0 &&
           ((binary != nullptr && binary->op == BinaryOp::mul) || std::holds_alternative<Read>(body->op));
  if (statement.reduction == Reduction::assign || !std::holds_alternative<Read>(body->op)) return false;
  return *tensor.outside == identity(statement.reduction, tensor.dtype).real && is_float(tensor.dtype);
}

std::optional<Diagnostic> outside_problem(const Kernel& kernel, const Computation& statement, const std::string& tensor,
                                          Outside how) {
  if (how == Outside::mask) return error("outside " + tensor + " mask is not supported yet", "leave it out");
  std::string inputs;
  for (const Access& read : statement.reads) {
    const Tensor& input = kernel.tensors[read.tensor.index()];
    if (input.name == tensor && input.outside) return std::nullopt;
    if (input.name == tensor)
      return error("outside " + tensor + ": all of it is read inside its shape",
                   "the kernel's tensor has no `outside:`; leave it out");
    inputs += (inputs.empty() ? "" : ", ") + input.name;
  }
  return error("outside " + tensor + ": statement " + statement.name + " does not read such a tensor",
               "it reads " + (inputs.empty() ? "none" : inputs));
}

bool skips(const Nest& nest, const Tensor& tensor) {
  if (nest.lines.empty() || !tensor.outside) return false;
  const auto* last = std::get_if<Do>(&nest.lines.back().is);
  return last != nullptr && std::any_of(last->outside.begin(), last->outside.end(), [&](const auto& one) {
           return one.first == tensor.name && one.second == Outside::skip;
         });
}

Result<Inside> inside(const NestParts& parts, int access, const Tiles& tiles) {
  const Tensor& tensor = tensor_of(parts, access);
  if (!may_skip(parts.statement_, tensor))
    return error(
        fmt::format("outside {} skip: what {} yields outside its shape changes the result", tensor.name, tensor.name),
        "leave it out: the tile is padded then");
  const Access& read = access_of(parts.statement_, access);
  const Ranges ranges = ranges_of(parts, tiles);
  Inside result;
  for (std::size_t i = 0; i < read.index.size(); ++i) {
    const AffineExpr& e = read.index[i];
    const auto range = bounds(e, ranges);
    if (range && range->low >= 0 && range->high < tensor.shape[i]) continue;
    if (range && (range->high < 0 || range->low >= tensor.shape[i])) result.never = true;
    for (const std::string& dim : e.names())
      if (tiles.at(dim).size > 1)
        return error(fmt::format("outside {} skip: its tile here has {} points along {}, of which some may lie outside",
                                 tensor.name, tiles.at(dim).size, dim),
                     fmt::format("add `for {} by 1` above it", dim));
    const AffineExpr here = simplify(at_origin(e, tiles), parts.lowering_.ranges);
    if (!range || range->low < 0) result.conditions.push_back(here);
    if (!range || range->high >= tensor.shape[i]) result.conditions.push_back(AffineExpr(tensor.shape[i] - 1) - here);
  }
  return result;
}

Nodes guarded(const Inside& inside, Nodes nodes) {
  if (inside.conditions.empty()) return nodes;
  Guard guard;
  guard.conditions = inside.conditions;
  guard.then = std::move(nodes);
  return Nodes{Node{std::move(guard)}};
}

Interior interior(const NestParts& parts, const std::string& dim, std::int64_t tile, std::int64_t full,
                  const Tiles& tiles) {
  Interior result{0, full};
  const Tile& parent = tiles.at(dim);
  if (!parent.origin.is_constant()) return result;
  for (int a = 1; a < access_count(parts.statement_); ++a) {
    const Tensor& tensor = tensor_of(parts, a);
    if (!skips(*parts.input_.nest, tensor)) continue;
    const auto& index = access_of(parts.statement_, a).index;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t step = index[i].coefficient(dim);
      if (step <= 0 || !index[i].is_linear()) continue;
      const auto rest = bounds(index[i] - AffineExpr::dim(dim) * step, ranges_of(parts, tiles));
      if (!rest) continue;
      // Points from `low` to `high` of the dim are inside, whatever the others are.
      const std::int64_t low = ceil_div(-rest->low, step), origin = parent.origin.constant();
      const std::int64_t high = floor_div(tensor.shape[i] - 1 - rest->high, step);
      result.first = std::max(result.first, ceil_div(low - origin, tile));
      result.last = std::min(result.last, floor_div(high + 1 - origin, tile));
    }
  }
  if (result.first >= result.last) return {0, full};  // every step asks
  return result;
}

}  // namespace isamap
