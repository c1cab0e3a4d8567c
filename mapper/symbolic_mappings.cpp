// SPDX-License-Identifier: Apache-2.0
#include "mapper/symbolic_mappings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/symbolic/facts.h"
#include "ir/verify/recurrence.h"
#include "mapper/certificate_files.h"
#include "mapper/digits/alignment.h"
#include "mapper/match/instruction_tree.h"
#include "mapper/proof/certificate.h"
#include "mapper/proof/conditions.h"
#include "mapper/proof/z3_solver.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t large_prime = 4099;  // above every instruction extent, and a multiple of none

/// Sizes at which mappings are enumerated: the largest of multiple_of * 4099, an odd multiple below, `max`.
Bindings enumeration_sizes(const SymbolicKernel& kernel) {
  Bindings wanted;
  for (const SymbolicSize& size : kernel.facts.sizes) {
    const std::int64_t most = floor_div(size.max, size.multiple_of);
    std::int64_t factor = std::min(large_prime, most);
    const std::int64_t odd = factor % 2 == 0 && factor > 2 ? factor - 1 : factor;
    if (odd * size.multiple_of >= size.min) factor = odd;
    wanted[size.name] = std::clamp(factor * size.multiple_of, size.min, size.max);
  }
  Bindings sizes = wanted;
  if (const auto found = Facts(kernel.facts).example(wanted))
    for (auto& [name, value] : sizes)
      if (const auto near = found->find(name); near != found->end()) value = near->second;
  return sizes;
}

class AllSizesMapper {
 public:
  AllSizesMapper(const SymbolicKernel& kernel, const HardwareModel& model, const MapOptions& options, Kernel large)
      : symbolic_(kernel), model_(model), options_(options), large_(std::move(large)) {
    declarations_ = smt_declarations(kernel.facts);
  }

  Result<SymbolicMapResult> run(Kernel likely) {
    MapOptions enumerate = options_;
    enumerate.certificates.clear();
    auto mapped = enumerate_mappings(large_, model_, enumerate);
    if (!mapped) return mapped.diagnostics();
    SymbolicMapResult result{std::move(likely), std::move(*mapped), {}};
    std::vector<Mapping> kept;
    std::vector<std::pair<std::string, std::string>> files;
    for (Mapping& mapping : result.mapped.mappings) {
      std::string certificate;
      const std::string why = why_not_all(mapping, certificate, result.mapped.solver);
      if (!why.empty()) {
        result.refused.push_back({print(mapping, large_, model_), why});
        continue;
      }
      mapping = at_likely(mapping, result.kernel);
      mapping.id = static_cast<int>(kept.size());
      mapping.proof = Proof::proved;
      files.emplace_back(certificate_file(mapping, -1, model_), std::move(certificate));
      kept.push_back(std::move(mapping));
    }
    result.mapped.mappings = std::move(kept);
    if (options_.certificates.empty()) return result;
    if (Diagnostics problems = write_certificate_texts(options_.certificates, files); !problems.empty())
      return problems;
    for (const auto& [name, text] : files) result.mapped.certificate_files.push_back(name);
    return result;
  }

 private:
  const std::vector<AffineExpr>& extents_of(const Mapping& mapping) const {
    return symbolic_.statements[mapping.statement.index()].extents;
  }

  bool is_symbolic(const Mapping& mapping, std::size_t d) const { return !extents_of(mapping)[d].is_constant(); }

  std::string bind_hint(const Mapping& mapping, std::size_t d) const {
    std::string names;
    for (const std::string& name : extents_of(mapping)[d].names())
      names += fmt::format("{}{}={}", names.empty() ? "" : ",", name, symbolic_.at.at(name));
    return "bind it with --sizes " + names;
  }

  /// Empty: proved for all sizes, by `certificate`.
  std::string why_not_all(const Mapping& mapping, std::string& certificate, SolverStatistics& statistics) {
    const Alignment alignment = alignment_of(large_, instruction_of(mapping, model_), mapping);
    const std::vector<Dim>& dims = alignment.computation().domain.dims;
    std::vector<std::string> sizes(dims.size());
    std::string declarations = declarations_;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!is_symbolic(mapping, d)) continue;
      if (alignment.exact && dims[d].kind == DimKind::reduction)
        return fmt::format("needs {} of constant size, as its values are summed in a narrower type; {}", dims[d].name,
                           bind_hint(mapping, d));
      sizes[d] = smt_expression(extents_of(mapping)[d], declarations);
    }
    std::size_t fused = 0;
    Certificate proof = certify_sizes(alignment, mapping, sizes, declarations, fused);
    if (proof.questions.empty())
      return fmt::format("needs {} of constant size; {}", dims[fused].name, bind_hint(mapping, fused));
    if (std::string tail = refused_tail(alignment, mapping); !tail.empty()) return tail;
    if (std::string reads = refused_reads(mapping); !reads.empty()) return reads;
    std::string failed;
    switch (replay(proof, options_.rlimit, statistics, &failed)) {
      case Truth::yes:
        break;
      case Truth::no:
        return "does not hold for all sizes: " + failed;
      default:
        return "is not proved for all sizes: the solver reached its limit";
    }
    proof.comments = certificate_comments(large_, model_, mapping);
    proof.comments.push_back("for all sizes: " + isamap::print(symbolic_.facts));
    certificate = print(proof);
    return "";
  }

  /// Tails of a symbolic size that the last call of an instruction dim cannot have without padding, although the
  /// enumerated one can.
  std::string refused_tail(const Alignment& alignment, const Mapping& mapping) const {
    const auto steps = *digit_steps_of(alignment, mapping.dims);
    for (const DigitStep& step : steps) {
      std::size_t d = 0;
      while (d < step.column.size() && step.column[d] == 0) ++d;
      if (d == step.column.size() || !is_symbolic(mapping, d)) continue;
      const DigitStep::Place& place = step.places[0];
      const std::string fill = "fill " + alignment.semantics().domain.dims[static_cast<std::size_t>(place.dim)].name;
      if (std::any_of(mapping.carriers.begin(), mapping.carriers.end(),
                      [&](const Carrier& carrier) { return carrier.reason == fill; }))
        continue;
      const std::int64_t extent = instruction_extent(alignment, place.dim);
      const std::int64_t divisor = std::gcd(divisor_of(extents_of(mapping)[d]) * place.weight, extent);
      for (std::int64_t tail = divisor; tail < extent; tail += divisor)
        if (!allows_extent(*alignment.hardware, place.dim, tail))
          return fmt::format("has no call with {} of {} points along {}; {}, or state {}", tail, extent,
                             fused_name(mapping.dims[static_cast<std::size_t>(place.dim)]), bind_hint(mapping, d),
                             fmt::format("multiple_of: {}", extent));
    }
    return "";
  }

  /// Trees are no mappings where a read exceeds its shape (mapper/mapper.cpp): at the enumerated sizes none does, at
  /// others one may.
  std::string refused_reads(const Mapping& mapping) const {
    if (mapping.tree.empty()) return "";
    const Computation& statement = large_.statements[mapping.statement.index()];
    const SymbolicStatement& symbolic = symbolic_.statements[mapping.statement.index()];
    std::vector<AffineExpr> inside;
    for (std::size_t d = 0; d < symbolic.extents.size(); ++d) {
      const AffineExpr dim = AffineExpr::dim(symbolic_dim(statement.domain.dims[d].name));
      inside.push_back(dim);
      inside.push_back(symbolic.extents[d] - dim - 1);
    }
    for (int a = 1; a < access_count(statement); ++a) {
      if (!outside_of(access_of(statement, a), large_.tensors)) continue;  // verified to lie inside
      const TensorId tensor = access_of(statement, a).tensor;
      const std::vector<AffineExpr>& shape = symbolic_.shapes[tensor.index()];
      const std::vector<AffineExpr>& index = symbolic.index[static_cast<std::size_t>(a)];
      for (std::size_t axis = 0; axis < index.size(); ++axis)
        for (const AffineExpr& bound : {index[axis], shape[axis] - index[axis] - 1})
          if (const Answer answer = Facts(symbolic_.facts).nonnegative(bound, inside); !answer)
            return refused_read(large_.tensors[tensor.index()].name, answer);
    }
    return "";
  }

  std::string refused_read(const std::string& tensor, const Answer& answer) const {
    if (answer.truth == Truth3::unknown)
      return fmt::format("is not proved for all sizes: whether {} is read outside its shape is not decided", tensor);
    std::string sizes;
    for (const SymbolicSize& size : symbolic_.facts.sizes)
      if (const auto at = answer.counterexample.find(size.name); at != answer.counterexample.end())
        sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", at->first, at->second);
    return fmt::format(
        "needs reads inside their shapes, as it has several instructions; {} is read outside, for example at {}; state "
        "a fact that excludes these sizes",
        tensor, sizes);
  }

  /// A divisor of every value.
  std::int64_t divisor_of(const AffineExpr& e) const {
    std::int64_t divisor = e.constant();
    for (const AffineTerm& term : e.terms()) {
      const auto* name = std::get_if<std::string>(&term.atom);
      const SymbolicSize* size = name ? symbolic_.facts.find(*name) : nullptr;
      divisor = std::gcd(divisor, term.coefficient * (size ? size->multiple_of : 1));
    }
    return std::max<std::int64_t>(divisor, 1);
  }

  /// The same mapping with the extents of the likely sizes: whole digits and loops have those of their dims.
  Mapping at_likely(const Mapping& mapping, const Kernel& likely) const {
    Mapping moved = mapping;
    const std::vector<Dim>& dims = likely.statements[mapping.statement.index()].domain.dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!is_symbolic(mapping, d)) continue;
      for (std::vector<Digit>& list : moved.dims)
        for (Digit& digit : list)
          if (digit.column.coefficient(dims[d].name) != 0) digit.extent = dims[d].extent;
      for (ResidualLoop& loop : moved.loops)
        if (loop.step.coefficient(dims[d].name) != 0) loop.extent = dims[d].extent;
    }
    const Alignment alignment = alignment_of(likely, instruction_of(mapping, model_), moved);
    Cover cover;
    for (const ResidualLoop& loop : moved.loops) cover.loops.push_back({{}, loop.extent, loop.floating});
    if (const auto steps = digit_steps_of(alignment, moved.dims))
      moved.utilisation = utilisation(alignment, *steps, cover);
    return moved;
  }

  const SymbolicKernel& symbolic_;
  const HardwareModel& model_;
  const MapOptions& options_;
  Kernel large_;
  std::string declarations_;
};

}  // namespace

Result<SymbolicMapResult> map_all_sizes(const SymbolicKernel& kernel, const HardwareModel& model,
                                        const MapOptions& options) {
  if (!kernel.sample.repeats.empty())
    return error_at(kernel.sample.where, "a recurrence of symbolic size is not mapped for all sizes",
                    "bind its sizes with --sizes");
  auto large = isamap::bind(kernel, enumeration_sizes(kernel));
  if (!large) return large.diagnostics();
  return AllSizesMapper(kernel, model, options, std::move(*large)).run(kernel.sample);
}

}  // namespace isamap
