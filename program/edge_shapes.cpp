// SPDX-License-Identifier: Apache-2.0
#include "program/edge_shapes.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::size_t most_edges = 24;  // 5 x 5 windows with their padding; each one is searched and compiled

/// Of an axis: one position at an edge, or all inner ones.
struct AxisPart {
  bool inner = false;
  AffineExpr position = {};    ///< the first one
  std::int64_t term = 0;       ///< the first one of the sum that lies inside
  std::int64_t terms = 0;      ///< how many do
  std::string summed = {};     ///< the dim of the sum
  std::int64_t step = 0;       ///< positions of the tensor from one term to the next
  std::int64_t positions = 0;  ///< of edges: how many the axis has
};

class EdgeFinder {
 public:
  EdgeFinder(const GridShape& shape, const SymbolicKernel& kernel, const PaddingZones& zones)
      : shape_(shape), kernel_(kernel), zones_(zones) {}

  std::vector<GridShape> run() const {
    std::vector<std::map<int, AxisPart>> choices{{}};
    for (const auto& [axis, zone] : zones_.axes) {
      const std::vector<AxisPart> parts = parts_of(axis, zone);
      if (parts.empty() || choices.size() * parts.size() > most_edges + 1) return {};
      std::vector<std::map<int, AxisPart>> more;
      for (const auto& choice : choices)
        for (const AxisPart& part : parts) more.push_back(choice), more.back()[axis] = part;
      choices = std::move(more);
    }
    std::vector<GridShape> shapes;
    for (const auto& choice : choices)
      if (std::any_of(choice.begin(), choice.end(), [](const auto& one) { return !one.second.inner; }))
        shapes.push_back(shape_at(choice));
    return shapes;
  }

 private:
  /// The parts of an axis, the inner one first. Empty: its window is no single dim, or has another number of terms at
  /// other sizes.
  std::vector<AxisPart> parts_of(int axis, const InnerZone& zone) const {
    const Computation& statement = shape_.kernel.statements[0];
    const auto read = std::find_if(statement.reads.begin(), statement.reads.end(),
                                   [&](const Access& one) { return one.tensor == zones_.tensor; });
    const AffineExpr window =
        read->index[zone.dim] - zone.factor * AffineExpr::dim(shape_.axes[static_cast<std::size_t>(axis)].dim);
    const std::set<std::string> names = window.names();
    const AffineExpr above = *affine_extent(shape_.axes[static_cast<std::size_t>(axis)]) - zone.end;
    if (names.size() != 1 || !above.is_constant()) return {};
    const Dim& summed = statement.domain.dims[static_cast<std::size_t>(statement.domain.find(*names.begin()))];
    const std::int64_t step = window.coefficient(summed.name);
    if (step < 1 || window != step * AffineExpr::dim(summed.name) || summed.kind != DimKind::reduction) return {};
    const std::int64_t low = shape_.padded.at(zones_.tensor).low[zone.dim];
    const std::int64_t positions = zone.first + std::max<std::int64_t>(0, above.constant());
    std::vector<AxisPart> parts{{true, zone.first, 0, summed.extent, summed.name, step, positions}};
    for (std::int64_t i = 0; i < zone.first; ++i) {
      const std::int64_t term = ceil_div(-low - zone.factor * i, step);
      parts.push_back({false, i, term, summed.extent - term, summed.name, step, positions});
    }
    const AffineExpr& extent = kernel_.shapes[shape_.tensors[zones_.tensor.index()].index()][zone.dim];
    for (std::int64_t i = 0; i < above.constant(); ++i) {
      const AffineExpr room = extent - 1 - low - zone.factor * (zone.end + i);
      if (!room.is_constant()) return {};
      parts.push_back({false, zone.end + i, 0, floor_div(room.constant(), step) + 1, summed.name, step, positions});
    }
    const auto is_empty = [](const AxisPart& part) { return part.terms < 1; };
    return std::any_of(parts.begin(), parts.end(), is_empty) ? std::vector<AxisPart>{} : parts;
  }

  GridShape shape_at(const std::map<int, AxisPart>& choice) const {
    GridShape edge = shape_;
    edge.padded.clear();
    for (Tensor& tensor : edge.kernel.tensors) tensor.constant = false;  // each edge would pack some of its terms
    edge.strides[zones_.tensor.index()] = own_strides(shape_, zones_.tensor, kernel_);
    edge.first.clear();
    for (const auto& moves : edge.moves) edge.first.emplace_back(moves.size());
    for (const auto& [axis, part] : choice) take(axis, part, edge);
    std::vector<int> kept(edge.axes.size(), -1);
    std::vector<GridAxis> axes;
    for (std::size_t a = 0; a < edge.axes.size(); ++a) {
      const auto part = choice.find(static_cast<int>(a));
      if (part != choice.end() && !part->second.inner) continue;
      kept[a] = static_cast<int>(axes.size());
      axes.push_back(edge.axes[a]);
      axes.back().runs.clear();
    }
    edge.axes = std::move(axes);
    for (auto& moves : edge.moves)
      for (AxisMove& move : moves)
        if (move.axis >= 0) move.axis = kept[static_cast<std::size_t>(move.axis)];
    return edge;
  }

  /// Restricts an axis to a part of it. Axes are not renumbered yet.
  void take(int axis, const AxisPart& part, GridShape& edge) const {
    const InnerZone& zone = zones_.axes.at(axis);
    GridAxis& one = edge.axes[static_cast<std::size_t>(axis)];
    Computation& statement = edge.kernel.statements[0];
    for (std::size_t t = 0; t < edge.moves.size(); ++t)
      for (std::size_t d = 0; d < edge.moves[t].size(); ++d)
        if (edge.moves[t][d].axis == axis) edge.first[t][d] = edge.moves[t][d].factor * part.position;
    edge.first[zones_.tensor.index()][zone.dim] +=
        shape_.padded.at(zones_.tensor).low[zone.dim] + part.step * part.term;
    Dim& dim = statement.domain.dims[static_cast<std::size_t>(statement.domain.find(one.dim))];
    dim.extent = part.inner ? std::max<std::int64_t>(1, dim.extent - part.positions) : 1;
    one.extent = {1, {*affine_extent(one) - part.positions}};
    if (one.most >= 0) one.most = std::max<std::int64_t>(1, one.most - part.positions);
    statement.domain.dims[static_cast<std::size_t>(statement.domain.find(part.summed))].extent = part.terms;
    const std::map<std::string, AffineExpr> from{{part.summed, AffineExpr::dim(part.summed) + part.term}};
    for (Access& read : statement.reads)
      for (std::size_t d = 0; d < read.index.size(); ++d) {
        read.index[d] = substitute(read.index[d], from);
        if (read.tensor == zones_.tensor && d == zone.dim) read.index[d] += -part.step * part.term;
      }
  }

  const GridShape& shape_;
  const SymbolicKernel& kernel_;
  const PaddingZones& zones_;
};

}  // namespace

std::vector<GridShape> edge_shapes(const GridShape& shape, const SymbolicKernel& kernel, const PaddingZones& zones) {
  for (const SymbolicStatement& statement : kernel.statements)
    if (!statement.values.empty()) return {};  // numbers of iterations would be others
  return EdgeFinder(shape, kernel, zones).run();
}

}  // namespace isamap
