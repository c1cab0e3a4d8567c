// SPDX-License-Identifier: Apache-2.0
// A statement over symbolic sizes, from its text and from the statement that was bound at the sample.

#include <fmt/format.h>

#include <algorithm>

#include "frontends/size_facts.h"
#include "frontends/statements_internal.h"
#include "ir/symbolic/facts.h"
#include "ir/text/cursor.h"

namespace isamap {
namespace {

struct SymbolicAccess {
  std::size_t tensor = 0;
  std::vector<AffineExpr> index;
  std::optional<double> outside;
  std::optional<ComputedIndex> computed;
  bool operator==(const SymbolicAccess&) const = default;
};

class Lifter {
 public:
  Lifter(const ParsedStatement& parsed, const Computation& bound, const LiftContext& context,
         const SourceLocation& where)
      : parsed_(parsed), bound_(bound), context_(context), where_(where), facts_(context.facts) {}

  Result<SymbolicStatement> run() {
    SymbolicStatement result;
    accesses_.push_back(symbolic(parsed_.write));
    add_reads();
    if (static_cast<int>(accesses_.size()) != access_count(bound_)) return coincide();
    for (const SymbolicAccess& access : accesses_) result.index.push_back(access.index);
    for (const AffineExpr& value : parsed_.values) result.values.push_back(renamed(value));
    for (const Dim& dim : bound_.domain.dims) result.extents.push_back(extent(dim.name));
    if (!problems_.empty()) return problems_;
    return result;
  }

 private:
  AffineExpr renamed(const AffineExpr& e) const {
    std::map<std::string, AffineExpr> by = context_.sizes;
    for (const std::string& name : e.names())
      if (is_iterator_name(name)) by[name] = AffineExpr::dim(symbolic_dim(name));
    return substitute(e, by);
  }

  SymbolicAccess symbolic(const ParsedAccess& parsed) const {
    SymbolicAccess access;
    while (context_.tensors[access.tensor].name != parsed.tensor) ++access.tensor;
    for (const AffineExpr& index : parsed.index) access.index.push_back(renamed(index));
    access.outside = parsed.outside;
    access.computed = parsed.computed;
    return access;
  }

  /// As in ir/symbolic/bind.cpp: each distinct read once.
  void add_reads() {
    std::vector<int> renumbered;
    for (const ParsedAccess& parsed : parsed_.reads) {
      SymbolicAccess read = symbolic(parsed);
      if (read.computed) read.computed->read = renumbered[static_cast<std::size_t>(read.computed->read)];
      const auto same = std::find(accesses_.begin() + 1, accesses_.end(), read);
      renumbered.push_back(static_cast<int>(same - accesses_.begin()) - 1);
      if (same == accesses_.end()) accesses_.push_back(std::move(read));
    }
  }

  Diagnostics coincide() const {
    return {error_at(where_, "two reads that differ in a symbolic size are one at the size that the kernel is read at",
                     "state another size as the first likely one, or bind it: --sizes NAME=128")};
  }

  SourceLocation place(const std::string& iterator) const {
    const auto found = parsed_.name_offsets.find(iterator);
    return found == parsed_.name_offsets.end() ? where_ : place_in(where_, static_cast<std::size_t>(found->second));
  }

  /// "dimension 0 of 'A', M"
  std::string axis_text(std::size_t tensor, std::size_t axis) const {
    return fmt::format("dimension {} of '{}', {}", axis, context_.tensors[tensor].name,
                       print(context_.shapes[tensor][axis]));
  }

  void differ(const std::string& iterator, const std::string& first, const std::string& second, const Answer& answer) {
    std::string at;
    for (const auto& [name, value] : answer.counterexample)
      at += fmt::format("{}{} = {}", at.empty() ? "" : ", ", name, value);
    problems_.push_back(error_at(place(iterator),
                                 fmt::format("iterator '{}' has the extent of {} and of {}, which differ{}", iterator,
                                             first, second, at.empty() ? "" : ", for example at " + at),
                                 "make the sizes equal, state the fact that they are, or the extent under 'where'"));
  }

  AffineExpr extent(const std::string& iterator) {
    struct Axis {
      std::size_t tensor, axis;
    };
    std::vector<Axis> axes;
    for (const SymbolicAccess& access : accesses_)
      for (std::size_t d = 0; d < access.index.size(); ++d)
        if (access.index[d].as_dim() == symbolic_dim(iterator)) axes.push_back({access.tensor, d});
    const auto size = [&](const Axis& a) { return context_.shapes[a.tensor][a.axis]; };
    if (const auto stated = context_.extents.find(iterator); stated != context_.extents.end()) {
      if (!axes.empty() && !stated->second.is_constant() &&
          std::none_of(axes.begin(), axes.end(), [&](const Axis& a) { return facts_.equal(size(a), stated->second); }))
        differ(iterator, axis_text(axes[0].tensor, axes[0].axis), "'dims' or 'where', " + print(stated->second),
               facts_.equal(size(axes[0]), stated->second));
      return stated->second;
    }
    if (axes.empty()) {
      problems_.push_back(error_at(place(iterator),
                                   "no tensor dimension is indexed by iterator '" + iterator + "' alone at all sizes",
                                   "state its extent: where: {" + iterator + ": 3}"));
      return {};
    }
    for (std::size_t n = 1; n < axes.size(); ++n)
      if (const Answer same = facts_.equal(size(axes[0]), size(axes[n])); !same) {
        differ(iterator, axis_text(axes[0].tensor, axes[0].axis), axis_text(axes[n].tensor, axes[n].axis), same);
        break;
      }
    return size(axes[0]);
  }

  const ParsedStatement& parsed_;
  const Computation& bound_;
  const LiftContext& context_;
  const SourceLocation& where_;
  Facts facts_;
  std::vector<SymbolicAccess> accesses_;
  Diagnostics problems_;
};

}  // namespace

Result<SymbolicStatement> lift(const ParsedStatement& parsed, const Computation& bound, const LiftContext& context,
                               const SourceLocation& where) {
  return Lifter(parsed, bound, context, where).run();
}

}  // namespace isamap
