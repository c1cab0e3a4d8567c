// SPDX-License-Identifier: Apache-2.0
// From a parsed statement to a computation: names become tensors, numbers and iterators with extents.

#include <algorithm>
#include <set>

#include "ir/text/cursor.h"
#include "ir/text/parse.h"

namespace isamap {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

bool is_lower_case(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

class Binder {
 public:
  Binder(const std::vector<Tensor>& tensors, const std::map<std::string, std::int64_t>& extents,
         const std::map<std::string, std::int64_t>& sizes, const SourceLocation& where, StatementPlaces* places)
      : tensors_(tensors), extents_(extents), where_(where), asked_places_(places) {
    for (const auto& [name, size] : sizes) sizes_.emplace(name, AffineExpr(size));
  }

  Result<Computation> bind(const ParsedStatement& parsed) {
    Computation result;
    result.name = "s0";
    result.reduction = parsed.reduction;
    result.write = access(parsed.write);
    name_offsets_ = &parsed.name_offsets;
    StatementPlaces places{where_, {index_places(parsed.write)}};
    std::vector<SourceLocation> read_where;
    std::vector<int> renumbered;
    for (const ParsedAccess& read : parsed.reads) {
      Access bound = access(read);
      if (bound.computed) bound.computed->read = renumbered[static_cast<std::size_t>(bound.computed->read)];
      const auto same = std::find(result.reads.begin(), result.reads.end(), bound);
      renumbered.push_back(static_cast<int>(same - result.reads.begin()));
      if (same != result.reads.end()) continue;
      result.reads.push_back(bound);
      places.index.push_back(index_places(read));
      read_where.push_back(at(read.offset));
    }
    for (const AffineExpr& value : parsed.values) result.values.push_back(substitute(value, sizes_));
    if (!problems_.empty()) return problems_;
    result.domain = domain(result);
    if (!problems_.empty()) return problems_;
    ScalarExpr body = parsed.body;
    set_types(body, result.reads, renumbered);
    auto typed = elaborate(body, tensors_[result.write.tensor.index()].dtype, where_, read_where);
    if (!typed) return typed.diagnostics();
    result.body = std::move(*typed);
    if (asked_places_) *asked_places_ = std::move(places);
    return result;
  }

 private:
  SourceLocation at(int offset) const { return place_in(where_, static_cast<std::size_t>(offset)); }

  std::vector<SourceLocation> index_places(const ParsedAccess& access) const {
    std::vector<SourceLocation> result;
    for (const int offset : access.index_offsets) result.push_back(at(offset));
    return result;
  }

  int offset_of(const std::string& name) const {
    const auto found = name_offsets_->find(name);
    return found == name_offsets_->end() ? 0 : found->second;
  }

  void report(int offset, std::string message, std::string hint = "") {
    problems_.push_back(error_at(at(offset), std::move(message), std::move(hint)));
  }

  Access access(const ParsedAccess& parsed) {
    Access result;
    const auto tensor =
        std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.name == parsed.tensor; });
    if (tensor == tensors_.end()) {
      report(parsed.offset, "no tensor is named " + quoted(parsed.tensor));
      std::string declared;
      for (const Tensor& t : tensors_) declared += (declared.empty() ? "" : ", ") + t.name;
      problems_.back().notes.push_back("declared tensors: " + (declared.empty() ? "none" : declared));
      return result;
    }
    result.tensor = make_id<TensorId>(static_cast<std::size_t>(tensor - tensors_.begin()));
    if (tensor->shape.size() != parsed.index.size())
      report(parsed.offset, quoted(parsed.tensor) + " has " + std::to_string(tensor->shape.size()) +
                                (tensor->shape.size() == 1 ? " dim" : " dims") + " and is indexed by " +
                                std::to_string(parsed.index.size()) +
                                (parsed.index.size() == 1 ? " expression" : " expressions"));
    if (parsed.outside != tensor->outside) result.outside = parsed.outside;
    result.computed = parsed.computed;
    for (const AffineExpr& index : parsed.index) {
      result.index.push_back(substitute(index, sizes_));
      check_names(parsed, result.index.back());
    }
    return result;
  }

  void check_names(const ParsedAccess& parsed, const AffineExpr& index) {
    for (const std::string& name : index.names())
      if (!is_lower_case(name) && unknown_sizes_.insert(name).second)
        report(parsed.offset, "size " + quoted(name) + " in an index of " + quoted(parsed.tensor) + " has no number",
               "iterators are lower case; sizes are declared in 'dims'");
  }

  IterationDomain domain(const Computation& statement) {
    IterationDomain result;
    for (int number = 0; number < access_count(statement); ++number)
      for (const AffineExpr& index : access_of(statement, number).index)
        for (const std::string& name : index.names())
          if (result.find(name) < 0)
            result.dims.push_back(
                {name, extent(statement, name), number == 0 ? DimKind::parallel : DimKind::reduction});
    for (const AffineExpr& value : statement.values)
      for (const std::string& name : value.names())
        if (result.find(name) < 0) result.dims.push_back({name, extent(statement, name), DimKind::reduction});
    return result;
  }

  struct Found {
    std::int64_t extent;
    std::string at;  ///< "dim 0 of 'A'"
  };

  std::int64_t extent(const Computation& statement, const std::string& name) {
    if (const auto stated = extents_.find(name); stated != extents_.end()) return stated->second;
    std::optional<Found> found;
    for (int number = 0; number < access_count(statement); ++number) {
      const Access& access = access_of(statement, number);
      const Tensor& tensor = tensors_[access.tensor.index()];
      for (std::size_t d = 0; d < access.index.size(); ++d) {
        if (access.index[d].as_dim() != name) continue;
        const Found here{tensor.shape[d], "dim " + std::to_string(d) + " of " + quoted(tensor.name)};
        if (found && found->extent != here.extent) {
          report(offset_of(name),
                 "iterator " + quoted(name) + " indexes " + found->at + " of extent " + std::to_string(found->extent) +
                     " and " + here.at + " of extent " + std::to_string(here.extent),
                 "make the extents equal, or state the iterator's under 'where'");
          return 0;
        }
        if (!found) found = here;
      }
    }
    if (!found)
      report(offset_of(name),
             "no tensor dimension is indexed by iterator " + quoted(name) + " alone, so it has no extent",
             "state it: where: {" + name + ": 3}");
    return found ? found->extent : 0;
  }

  void set_types(ScalarExpr& e, const std::vector<Access>& reads, const std::vector<int>& renumbered) {
    if (auto* leaf = std::get_if<Read>(&e.op); leaf && leaf->access >= static_cast<int>(renumbered.size())) {
      leaf->access += static_cast<int>(reads.size()) - static_cast<int>(renumbered.size());  // the value of a dim
      e.type = DType::s32;
    } else if (leaf) {
      leaf->access = renumbered[static_cast<std::size_t>(leaf->access)];
      e.type = tensors_[reads[static_cast<std::size_t>(leaf->access)].tensor.index()].dtype;
    }
    for (ScalarExpr& arg : e.args) set_types(arg, reads, renumbered);
  }

  const std::vector<Tensor>& tensors_;
  const std::map<std::string, std::int64_t>& extents_;
  std::map<std::string, AffineExpr> sizes_;
  const SourceLocation& where_;
  StatementPlaces* asked_places_;
  const std::map<std::string, int>* name_offsets_ = nullptr;
  std::set<std::string> unknown_sizes_;
  Diagnostics problems_;
};

}  // namespace

Result<Computation> bind(const ParsedStatement& parsed, const std::vector<Tensor>& tensors,
                         const std::map<std::string, std::int64_t>& extents,
                         const std::map<std::string, std::int64_t>& sizes, const SourceLocation& where,
                         StatementPlaces* places) {
  return Binder(tensors, extents, sizes, where, places).bind(parsed);
}

}  // namespace isamap
