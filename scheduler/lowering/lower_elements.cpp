// SPDX-License-Identifier: Apache-2.0
// A `do` line without an instruction: scalar loops over the tile of each dim, with guards for reads that may be out of
// bounds.

#include <algorithm>

#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

namespace {

class ElementLowering : NestParts {
 public:
  explicit ElementLowering(const NestParts& parts) : NestParts(parts) {}

  // Loops over the tile of each dim, around the statement at one point.
  Result<Nodes> elements(const Scope& scope) {
    Known known;
    std::vector<std::pair<std::string, std::int64_t>> loops;
    for (const Dim& dim : statement_.domain.dims) {
      const Tile& tile = scope.tiles.at(dim.name);
      AffineExpr value = tile.origin;
      if (tile.size > 1) {
        loops.emplace_back(lowering_.variable(dim.name, tile.size), tile.size);
        value += AffineExpr::dim(loops.back().first);
      }
      known.emplace_back(AffineExpr::dim(dim.name), value);
    }
    const auto unit = lowering_.model.scalar_unit_for(lowering_.buffer(scope.holders[0].buffer).memory);
    if (!unit) return error("no scalar unit reaches the memory of " + output().name);
    Element element;
    element.unit = *unit;
    element.reduction = statement_.reduction;
    element.body = statement_.body;
    for (int a = 0; a < access_count(statement_); ++a) {
      const TileLayout& holder = scope.holders[static_cast<std::size_t>(a)];
      const auto index = index_at(holder, known, lowering_.ranges);
      if (!index)
        return error("the layout of " + lowering_.buffer(holder.buffer).name + " cannot be expressed in the dims");
      (a == 0 ? element.write : element.reads.emplace_back()) = {holder.buffer, *index};
      if (const auto& computed = access_of(statement_, a).computed) {
        if (!holder.whole_tensor)
          return error("a tile of " + lowering_.buffer(holder.buffer).name + " is read at a computed place",
                       "leave out its stage: all of the tensor is needed");
        element.reads.back().index[static_cast<std::size_t>(computed->axis)] =
            AffineExpr::dim(computed_name(computed->read));
      }
    }
    for (const AffineExpr& value : statement_.values) {
      const auto number = express(value, known);
      if (!number) return error("value(" + print(value) + ") cannot be expressed in the loops");
      element.reads.push_back({BufferId{}, {simplify(*number, lowering_.ranges)}});
    }
    Guard domain = domain_guard(known, scope);
    Nodes nodes = guarded_reads(element, 0, domain.conditions);
    if (!domain.conditions.empty()) {
      domain.then = std::move(nodes);
      nodes = {Node{std::move(domain)}};
    }
    for (std::size_t i = loops.size(); i-- > 0;)
      nodes = loop_around(loops[i].first, loops[i].second, false, std::move(nodes));
    return nodes;
  }

 private:
  /// Guards the points of the loops outside of the domain: beyond its faces, and in padded tiles beyond its dims.
  Guard domain_guard(const Known& known, const Scope& scope) const {
    Guard guard;
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d) {
      const Dim& dim = statement_.domain.dims[d];
      const auto range = bounds(known[d].second, lowering_.ranges);
      if (scope.tiles.at(dim.name).beyond && !(range && range->high < dim.extent))
        guard.conditions.push_back(simplify(AffineExpr(dim.extent - 1) - known[d].second, lowering_.ranges));
    }
    for (const AffineExpr& face : statement_.domain.faces)
      if (const auto e = express(face, known)) guard.conditions.push_back(simplify(*e, lowering_.ranges));
    return guard;
  }

  // A read that may be out of bounds yields the tensor's `outside` value there. `known`: conditions that hold here.
  Nodes guarded_reads(const Element& element, std::size_t from, const std::vector<AffineExpr>& known) {
    for (std::size_t r = from; r < element.reads.size(); ++r) {
      if (!element.reads[r].buffer.valid()) continue;  // the value of a dim
      const Buffer& buffer = lowering_.buffer(element.reads[r].buffer);
      Guard guard;
      for (std::size_t i = 0; i < element.reads[r].index.size(); ++i) {
        const AffineExpr& e = element.reads[r].index[i];
        if (const auto name = e.as_dim(); name && computed_read(*name)) continue;  // clamped
        const auto range = bounds(e, lowering_.ranges);
        const auto ask = [&](const AffineExpr& condition) {
          if (std::find(known.begin(), known.end(), simplify(condition, lowering_.ranges)) == known.end())
            guard.conditions.push_back(condition);
        };
        if (!range || range->low < 0) ask(e);
        if (!range || range->high >= buffer.extents[i]) ask(AffineExpr(buffer.extents[i] - 1) - e);
      }
      if (guard.conditions.empty()) continue;
      Element without = element;
      const auto outside = outside_of(statement_, buffer.tensor, kernel_.tensors).value_or(0);
      without.body = replace_read(element.body, static_cast<int>(r), outside);
      put_number(without, r, static_cast<std::int64_t>(outside));
      without.reads[r] = {};
      guard.then = guarded_reads(element, r + 1, known);
      guard.otherwise = guarded_reads(drop_read(without, r), r, known);
      return {Node{std::move(guard)}};
    }
    return {Node{element}};
  }

  static ScalarExpr replace_read(const ScalarExpr& e, int access, double value) {
    if (const auto* r = std::get_if<Read>(&e.op); r && r->access == access) return constant(value, e.type);
    ScalarExpr copy = e;
    for (ScalarExpr& arg : copy.args) arg = replace_read(arg, access, value);
    return copy;
  }

  /// Subscripts that read `r` computes are this number.
  void put_number(Element& element, std::size_t r, std::int64_t number) const {
    for (Ref& read : element.reads)
      for (std::size_t i = 0; read.buffer.valid() && i < read.index.size(); ++i)
        if (read.index[i].as_dim() == computed_name(static_cast<int>(r)))
          read.index[i] = AffineExpr(std::clamp<std::int64_t>(number, 0, lowering_.buffer(read.buffer).extents[i] - 1));
  }

  static Element drop_read(Element element, std::size_t r) {
    element.reads.erase(element.reads.begin() + static_cast<std::ptrdiff_t>(r));
    for (Ref& read : element.reads)
      for (AffineExpr& e : read.index)
        if (const auto name = e.as_dim())
          if (const auto by = computed_read(*name); by && *by > static_cast<int>(r))
            e = AffineExpr::dim(computed_name(*by - 1));
    const std::function<void(ScalarExpr&)> renumber = [&](ScalarExpr& e) {
      if (auto* read = std::get_if<Read>(&e.op); read && read->access > static_cast<int>(r)) --read->access;
      for (ScalarExpr& arg : e.args) renumber(arg);
    };
    renumber(element.body);
    return element;
  }
};

}  // namespace

Result<Nodes> lower_elements(const NestParts& parts, const Scope& scope) {
  return ElementLowering(parts).elements(scope);
}

}  // namespace isamap
