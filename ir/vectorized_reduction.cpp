// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "isamap/kernel.h"
#include "isamap/result.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

struct LaneSizes {
  std::int64_t width = 1, rounds = 0, tail = 0;  ///< K = width * rounds + tail: a round is one step of all lanes
};

LaneSizes sizes_of(const VectorizedReduction& parts, std::int64_t extent) {
  const std::int64_t width = parts.lanes * parts.depth;
  return {width, extent / width, extent % width};
}

std::string refused_lanes(const Kernel& kernel, const VectorizedReduction& parts, std::size_t s) {
  if (!kernel.repeats.empty()) return fmt::format("{} repeats statements, which are not vectorized", kernel.name);
  const Computation& statement = kernel.statements[s];
  const int d = statement.domain.find(parts.dim);
  if (d < 0) return fmt::format("{} has no dim '{}'", parts.statement, parts.dim);
  const Dim& dim = statement.domain.dims[static_cast<std::size_t>(d)];
  if (dim.kind != DimKind::reduction)
    return fmt::format("{} of {} is no reduction: the output has it as an index", parts.dim, parts.statement);
  if (parts.lanes < 2 || parts.depth < 1)
    return fmt::format("{} lanes of {} of {}; at least 2 lanes of 1 are needed", parts.lanes, parts.depth, parts.dim);
  const auto width = checked_mul(parts.lanes, parts.depth);
  if (!width || dim.extent < *width)
    return fmt::format("{} of {} has {} points; {} lanes of {} need at least {}", parts.dim, parts.statement,
                       dim.extent, parts.lanes, parts.depth, width.value_or(INT64_MAX));
  if (is_irregular(statement))
    return fmt::format("{} uses the value of a dim or reads at a computed place", parts.statement);
  if (!statement.domain.faces.empty()) return fmt::format("{} has a cut domain", parts.statement);
  const Tensor& output = kernel.tensors[statement.write.tensor.index()];
  if (output.inout)
    return fmt::format("{} is inout: its initial value is no part of the sum over {}", output.name, parts.dim);
  for (std::size_t earlier = 0; earlier < s; ++earlier)
    if (kernel.statements[earlier].write.tensor == statement.write.tensor)
      return fmt::format("{} is written by {} before: its value is no part of the sum over {}", output.name,
                         kernel.statements[earlier].name, parts.dim);
  if (sizes_of(parts, dim.extent).tail > 0)  // lanes and tail are put together by `=`, which begins no other elements
    for (std::size_t later = s + 1; later < kernel.statements.size(); ++later)
      if (kernel.statements[later].write.tensor == statement.write.tensor)
        return fmt::format("{} is written by {}, too, and {} lanes of {} leave a rest of the {} points of {}",
                           output.name, kernel.statements[later].name, parts.lanes, parts.depth, dim.extent, parts.dim);
  const auto again = [&](const Access& read) { return read.tensor == statement.write.tensor; };
  if (std::any_of(statement.reads.begin(), statement.reads.end(), again))
    return fmt::format("{} reads {}, which it writes", parts.statement, output.name);
  for (std::size_t a = 0; a < output.shape.size(); ++a)
    if (const AffineExpr& index = statement.write.index[a]; output.shape[a] != 1 && !index.as_dim())
      return fmt::format("{} is written at {}, which is no plain dim", output.name, print(index));
  return "";
}

class ReductionVectorizer {
 public:
  ReductionVectorizer(const Kernel& kernel, const VectorizedReduction& parts, std::size_t s)
      : kernel_(kernel), parts_(parts), at_(s), whole_(kernel.statements[s]) {}

  Kernel run() {
    const Dim& dim = whole_.domain.dims[static_cast<std::size_t>(whole_.domain.find(parts_.dim))];
    const LaneSizes sizes = sizes_of(parts_, dim.extent);
    std::vector<Computation> made;
    if (sizes.tail == 0) {
      const Access sums = new_tensor("parts", parts_.lanes, lane());
      made = {steps("parts", sums, 0, sizes.rounds, parts_.lanes, parts_.depth),
              added(whole_.name, whole_.write, sums)};
    } else {
      // A tail of whole lanes is vectorized too; other elements are scalar.
      const std::int64_t depth = sizes.tail % parts_.depth == 0 ? parts_.depth : 1;
      const Access sums = new_tensor("parts", parts_.lanes, lane()),
                   tail = new_tensor("tail", sizes.tail / depth, lane());
      const Access of_sums = new_tensor("whole", 0, {}), of_tail = new_tensor("rest", 0, {});
      made = {steps("parts", sums, 0, sizes.rounds, parts_.lanes, parts_.depth),
              steps("tail", tail, sizes.width * sizes.rounds, 1, sizes.tail / depth, depth),
              added(whole_.name + "_whole", of_sums, sums), added(whole_.name + "_rest", of_tail, tail),
              together(of_sums, of_tail)};
    }
    auto& statements = kernel_.statements;
    statements.erase(statements.begin() + static_cast<std::ptrdiff_t>(at_));
    statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(at_), made.begin(), made.end());
    return std::move(kernel_);
  }

 private:
  /// A dim that the statement does not have.
  std::string part_of_dim(const std::string& what) const {
    std::string name = parts_.dim + "_" + what;
    while (whole_.domain.find(name) >= 0) name += "_";
    return name;
  }
  std::string lane() const { return part_of_dim("lane"); }

  // Dims of the output in their order.
  std::vector<Dim> kept() const {
    std::vector<Dim> dims;
    for (const Dim& dim : whole_.domain.dims)
      if (dim.kind == DimKind::parallel) dims.push_back(dim);
    return dims;
  }

  // y_parts[i,lane]; `lanes` 0: y_whole[i]. Axes of one element, as of y[i,0], are left out.
  Access new_tensor(const std::string& what, std::int64_t lanes, const std::string& along) {
    const Tensor& output = kernel_.tensors[whole_.write.tensor.index()];
    Tensor made;
    made.name = output.name + "_" + what;
    made.dtype = output.dtype;
    const auto taken = [&](const Tensor& t) { return t.name == made.name; };
    while (std::any_of(kernel_.tensors.begin(), kernel_.tensors.end(), taken)) made.name += "_";
    Access access{make_id<TensorId>(kernel_.tensors.size()), {}};
    for (std::size_t a = 0; a < output.shape.size(); ++a) {
      if (!whole_.write.index[a].as_dim()) continue;
      made.shape.push_back(output.shape[a]);
      access.index.push_back(whole_.write.index[a]);
    }
    if (lanes > 0) {
      made.shape.push_back(lanes);
      access.index.push_back(AffineExpr::dim(along));
    }
    kernel_.tensors.push_back(std::move(made));
    return access;
  }

  // k = from + width * round + depth * lane + deep, for the rounds, lanes and depths given.
  Computation steps(const std::string& what, const Access& into, std::int64_t from, std::int64_t rounds,
                    std::int64_t lanes, std::int64_t depth) const {
    Computation step = whole_;
    step.name += "_" + what;
    step.write = into;
    step.domain.dims = kept();
    step.domain.dims.push_back({lane(), lanes, DimKind::parallel});
    AffineExpr k = AffineExpr(from) + AffineExpr::dim(lane()) * depth;
    for (const Dim& dim : whole_.domain.dims) {
      if (dim.kind != DimKind::reduction) continue;
      if (dim.name != parts_.dim) {
        step.domain.dims.push_back(dim);
        continue;
      }
      if (rounds > 1) {
        step.domain.dims.push_back({part_of_dim("round"), rounds, DimKind::reduction});
        k += AffineExpr::dim(part_of_dim("round")) * (parts_.lanes * parts_.depth);
      }
      if (depth > 1) {
        step.domain.dims.push_back({part_of_dim("deep"), depth, DimKind::reduction});
        k += AffineExpr::dim(part_of_dim("deep"));
      }
    }
    for (Access& read : step.reads)
      for (AffineExpr& index : read.index) index = substitute(index, {{parts_.dim, k}});
    const bool sums = std::any_of(step.domain.dims.begin(), step.domain.dims.end(),
                                  [](const Dim& d) { return d.kind == DimKind::reduction; });
    if (!sums) step.reduction = Reduction::assign;
    return step;
  }

  Computation added(const std::string& name, const Access& into, const Access& sums) const {
    Computation step;
    step.name = name;
    step.reduction = whole_.reduction;
    step.write = into;
    step.domain.dims = kept();
    step.domain.dims.push_back({lane(), kernel_.tensors[sums.tensor.index()].shape.back(), DimKind::reduction});
    step.reads = {sums};
    step.body = read(0, whole_.body.type);
    return step;
  }

  Computation together(const Access& of_sums, const Access& of_tail) const {
    Computation step;
    step.name = whole_.name;
    step.reduction = Reduction::assign;
    step.write = whole_.write;
    step.domain.dims = kept();
    step.reads = {of_sums, of_tail};
    step.body = binary(operator_of(whole_.reduction), read(0, whole_.body.type), read(1, whole_.body.type));
    return step;
  }

  Kernel kernel_;
  VectorizedReduction parts_;
  std::size_t at_;
  Computation whole_;
};

}  // namespace

std::string print(const VectorizedReduction& parts) {
  const std::string text = fmt::format("{} {} {}", parts.statement, parts.dim, parts.lanes);
  return parts.depth == 1 ? text : fmt::format("{} by {}", text, parts.depth);
}

Result<VectorizedReduction> parse_vectorized_reduction(const std::string& text, const SourceLocation& where) {
  std::istringstream words(text);
  VectorizedReduction parts;
  std::string by, more;
  bool readable = static_cast<bool>(words >> parts.statement >> parts.dim >> parts.lanes);
  if (readable && words >> by) readable = by == "by" && words >> parts.depth && !(words >> more);
  if (readable) return parts;
  return error_at(where, fmt::format("'{}' does not say lanes of a reduction", text), "write s0 k 16, or s0 k 16 by 2");
}

Result<Kernel> vectorize_reductions(const Kernel& kernel, const std::vector<VectorizedReduction>& parts,
                                    const SourceLocation& where) {
  Kernel made = kernel;
  for (const VectorizedReduction& one : parts) {
    const auto s = std::find_if(made.statements.begin(), made.statements.end(),
                                [&](const Computation& c) { return c.name == one.statement; });
    if (s == made.statements.end())
      return error_at(where, fmt::format("lanes {}: {} has no statement '{}'", print(one), kernel.name, one.statement));
    const auto at = static_cast<std::size_t>(s - made.statements.begin());
    if (s->reduction == Reduction::assign || s->reduction == Reduction::saturating_add)
      return error_at(where,
                      fmt::format("lanes {}: {} adds nothing up that lanes could share", print(one), one.statement));
    if (const std::string why = refused_lanes(made, one, at); !why.empty())
      return error_at(where, fmt::format("lanes {}: {}", print(one), why));
    made = ReductionVectorizer(made, one, at).run();
  }
  if (Diagnostics wrong = parts.empty() ? Diagnostics() : verify(made); has_errors(wrong)) return wrong;
  return made;
}

}  // namespace isamap
