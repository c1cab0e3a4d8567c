// SPDX-License-Identifier: Apache-2.0
// Parallel dims that lie one after another in all tensors, as one dim (`fused_dims`).
//
// Where p is followed by q in every tensor that has either, and q runs along its whole axis, element (p, q) is at
// position p * extent(q) + q of both axes together. So the statement over one dim of extent(p) * extent(q) positions is
// the same, for all sizes, and no block needs to know where a row ends.

#include <algorithm>

#include "isamap/symbolic_program.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

class DimFuser {
 public:
  explicit DimFuser(const GridShape& shape) : shape_(shape), statement_(without_units(shape.kernel.statements[0])) {}

  std::optional<GridShape> run() {
    if (!may_fuse()) return std::nullopt;
    for (const AffineExpr& index : statement_.write.index) {
      std::vector<std::string> chain;
      for (std::size_t d = position(index); d < statement_.write.index.size(); ++d) {
        const auto dim = statement_.write.index[d].as_dim();
        if (!dim) break;
        chain.push_back(*dim);
        if (!lie_together(chain)) {
          chain.pop_back();
          break;
        }
      }
      if (chain.size() > 1 && has_axis(chain)) return fused(chain);
    }
    return std::nullopt;
  }

 private:
  /// Windows of one position move nothing: `p + r` is p where r is 0 only.
  static Computation without_units(Computation statement) {
    std::map<std::string, AffineExpr> zero;
    for (const Dim& dim : statement.domain.dims)
      if (dim.extent == 1 && dim.kind == DimKind::reduction) zero[dim.name] = 0;
    for (Access& read : statement.reads)
      for (AffineExpr& index : read.index) index = substitute(index, zero);
    return statement;
  }

  std::size_t position(const AffineExpr& index) const {
    return static_cast<std::size_t>(&index - statement_.write.index.data());
  }

  /// Sums of symbolic extents may be rounded up, which is for axes that are dims; computed subscripts and values name
  /// dims.
  bool may_fuse() const {
    const auto is_reduced = [](const GridAxis& axis) { return axis.reduced; };
    const auto is_computed = [](const Access& access) { return access.computed.has_value(); };
    return shape_.padded.empty() && shape_.first.empty() && statement_.values.empty() &&
           std::none_of(shape_.axes.begin(), shape_.axes.end(), is_reduced) && !is_computed(statement_.write) &&
           std::none_of(statement_.reads.begin(), statement_.reads.end(), is_computed);
  }

  const GridAxis* axis_of(const std::string& dim) const {
    const auto found =
        std::find_if(shape_.axes.begin(), shape_.axes.end(), [&](const GridAxis& axis) { return axis.dim == dim; });
    return found == shape_.axes.end() ? nullptr : &*found;
  }
  const Dim& dim_of(const std::string& name) const {
    return statement_.domain.dims[static_cast<std::size_t>(statement_.domain.find(name))];
  }
  bool has_axis(const std::vector<std::string>& chain) const {
    return std::any_of(chain.begin(), chain.end(), [&](const std::string& dim) { return axis_of(dim) != nullptr; });
  }
  SizeProduct extent_of(const std::string& dim) const {
    const GridAxis* axis = axis_of(dim);
    return axis != nullptr ? axis->extent : SizeProduct{dim_of(dim).extent, {}};
  }

  /// In every access that has one of the dims all of them are subscripts alone, in this order, and each but the first
  /// goes through its whole axis.
  bool lie_together(const std::vector<std::string>& chain) const {
    for (const std::string& dim : chain)
      if (dim_of(dim).kind != DimKind::parallel) return false;
    for (int a = 0; a < access_count(statement_); ++a)
      if (!lie_together(access_of(statement_, a), chain)) return false;
    return true;
  }
  bool lie_together(const Access& access, const std::vector<std::string>& chain) const {
    const auto has_one = [&](const AffineExpr& index) {
      return std::any_of(chain.begin(), chain.end(),
                         [&](const std::string& dim) { return index.names().contains(dim); });
    };
    const auto first = std::find_if(access.index.begin(), access.index.end(), has_one);
    if (first == access.index.end()) return true;
    const auto at = static_cast<std::size_t>(first - access.index.begin());
    const std::vector<AffineExpr>& extents = shape_.extents[access.tensor.index()];
    if (extents.empty() || at + chain.size() > access.index.size()) return false;
    for (std::size_t n = 0; n < chain.size(); ++n) {
      if (access.index[at + n] != AffineExpr::dim(chain[n])) return false;
      const SizeProduct extent = extent_of(chain[n]);
      const AffineExpr& whole = extents[at + n];
      if (n > 0 && extent != (whole.is_constant() ? SizeProduct{whole.constant(), {}} : SizeProduct{1, {whole}}))
        return false;
    }
    return std::none_of(first + static_cast<std::ptrdiff_t>(chain.size()), access.index.end(), has_one);
  }

  std::optional<GridShape> fused(const std::vector<std::string>& chain) const {
    GridAxis axis{"", {}, false, 1, 1, {}};
    std::int64_t positions = 1;
    for (const std::string& dim : chain) {
      const GridAxis* one = axis_of(dim);
      const std::int64_t extent = dim_of(dim).extent;
      axis.dim += (axis.dim.empty() ? "" : "_") + dim;
      axis.multiple *= one != nullptr ? one->multiple : std::max<std::int64_t>(extent, 1);
      const auto most = checked_mul(axis.most, one != nullptr ? one->most : extent);
      axis.most = axis.most < 0 || (one != nullptr && one->most < 0) || !most ? -1 : *most;
      const SizeProduct factor = extent_of(dim);
      axis.extent.number *= factor.number;
      axis.extent.factors.insert(axis.extent.factors.end(), factor.factors.begin(), factor.factors.end());
      positions *= extent;
    }
    if (axis.extent.number == 0 || statement_.domain.find(axis.dim) >= 0) return std::nullopt;
    GridShape shape = shape_;
    shape.kernel.statements[0] = statement_;
    const int number = fuse_axes(chain, axis, shape);
    const Dim dim{axis.dim, positions, DimKind::parallel};
    fuse_domain(chain, dim, shape.kernel.statements[0].domain);
    fuse_tensors(chain, dim, number, shape);
    return shape;
  }

  /// The number of the fused axis, which is where the first of its dims was that is an axis.
  int fuse_axes(const std::vector<std::string>& chain, const GridAxis& axis, GridShape& shape) const {
    std::vector<int> renumbered;
    std::vector<GridAxis> axes;
    int fused = -1;
    for (const GridAxis& one : shape_.axes) {
      const bool is_in = std::find(chain.begin(), chain.end(), one.dim) != chain.end();
      const bool is_new = !is_in || fused < 0;
      if (is_new) axes.push_back(is_in ? axis : one);
      if (is_in && is_new) fused = static_cast<int>(axes.size()) - 1;
      renumbered.push_back(is_in ? fused : static_cast<int>(axes.size()) - 1);
    }
    shape.axes = std::move(axes);
    for (auto& moves : shape.moves)
      for (AxisMove& move : moves)
        if (move.axis >= 0) move.axis = renumbered[static_cast<std::size_t>(move.axis)];
    return fused;
  }

  static void fuse_domain(const std::vector<std::string>& chain, const Dim& dim, IterationDomain& domain) {
    domain.dims[static_cast<std::size_t>(domain.find(chain.front()))] = dim;
    std::erase_if(domain.dims,
                  [&](const Dim& one) { return std::find(chain.begin() + 1, chain.end(), one.name) != chain.end(); });
  }

  /// The axes of the chain become one, whose elements are as far apart as those of the last one.
  static void fuse_tensors(const std::vector<std::string>& chain, const Dim& dim, int axis, GridShape& shape) {
    std::set<TensorId> done;
    Computation& statement = shape.kernel.statements[0];
    const auto fuse = [&](Access& access) {
      const auto first = std::find(access.index.begin(), access.index.end(), AffineExpr::dim(chain.front()));
      if (first == access.index.end()) return;
      const std::ptrdiff_t at = first - access.index.begin(), more = static_cast<std::ptrdiff_t>(chain.size()) - 1;
      const auto merge = [&](auto& list, const auto& value) {
        list.erase(list.begin() + at, list.begin() + at + more);
        list[static_cast<std::size_t>(at)] = value;
      };
      merge(access.index, AffineExpr::dim(dim.name));
      const std::size_t t = access.tensor.index();
      if (!done.insert(access.tensor).second) return;
      merge(shape.kernel.tensors[t].shape, dim.extent);
      merge(shape.moves[t], AxisMove{axis, 1});
      merge(shape.strides[t], SizeProduct(shape.strides[t][static_cast<std::size_t>(at + more)]));
      std::vector<char> symbolic(shape.symbolic_extent[t].begin(), shape.symbolic_extent[t].end());
      merge(symbolic, 1);
      shape.symbolic_extent[t].assign(symbolic.begin(), symbolic.end());
      shape.extents[t].clear();
    };
    fuse(statement.write);
    for (Access& read : statement.reads) fuse(read);
  }

  const GridShape& shape_;
  const Computation statement_;
};

}  // namespace

std::optional<GridShape> fused_dims(const GridShape& shape) { return DimFuser(shape).run(); }

}  // namespace isamap
