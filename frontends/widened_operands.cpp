// SPDX-License-Identifier: Apache-2.0
#include "frontends/widened_operands.h"

#include <algorithm>
#include <set>

#include "frontends/dropped_statements.h"
#include "frontends/unused_name.h"

namespace isamap {
namespace {

/// Of an access; `type` is what all casts around it make, nothing where it has other uses.
struct Use {
  bool seen = false;
  std::optional<DType> type;
};

bool is_widening(const ScalarExpr& e) {
  return std::holds_alternative<Cast>(e.op) && std::holds_alternative<Read>(e.args[0].op) && is_float(e.type) &&
         is_float(e.args[0].type) && bits(e.args[0].type) < bits(e.type) && widens(e.args[0].type, e.type);
}

/// By access of the statement.
std::vector<Use> uses_of(const Computation& statement) {
  std::vector<Use> uses(statement.reads.size());
  const auto visit = [&](const ScalarExpr& e, const auto& again) -> void {
    const ScalarExpr& leaf = is_widening(e) ? e.args[0] : e;
    const auto* read = std::get_if<Read>(&leaf.op);
    if (read == nullptr) {
      for (const ScalarExpr& arg : e.args) again(arg, again);
      return;
    }
    Use& use = uses[static_cast<std::size_t>(read->access)];
    const std::optional<DType> type = is_widening(e) ? std::optional(e.type) : std::nullopt;
    use = {true, use.seen && use.type != type ? std::nullopt : type};
  };
  visit(statement.body, visit);
  return uses;
}

/// Of these tensors: reads of the wider type in place of the casts.
void drop_casts(ScalarExpr& e, const std::vector<Access>& reads, const std::map<TensorId, DType>& tensors) {
  const auto* leaf = is_widening(e) ? std::get_if<Read>(&e.args[0].op) : nullptr;
  if (leaf == nullptr) {
    for (ScalarExpr& arg : e.args) drop_casts(arg, reads, tensors);
  } else if (tensors.contains(reads[static_cast<std::size_t>(leaf->access)].tensor)) {
    e = read(leaf->access, e.type);
  }
}

class Widening {
 public:
  Widening(Model model, const WideningPrices& prices) : model_(std::move(model)), prices_(prices) {
    for (const Tensor& tensor : kernel().tensors) names_.insert(tensor.name);
    for (const Computation& statement : kernel().statements) statement_names_.insert(statement.name);
  }

  Model run() {
    for (std::size_t s = 0; s < kernel().statements.size(); ++s)
      if (is_candidate(s)) s += widen(s);
    drop_statements(model_, std::vector<bool>(kernel().statements.size(), false));  // weights that nothing reads now
    return std::move(model_);
  }

 private:
  using Wanted = std::map<TensorId, DType>;  ///< tensors that a statement reads under a cast

  Kernel& kernel() { return model_.kernel; }
  Tensor& tensor(TensorId id) { return kernel().tensors[id.index()]; }

  bool is_candidate(std::size_t s) {
    return !is_irregular(kernel().statements[s]) && repeat_of(kernel(), s) == nullptr;
  }

  bool is_written_from(std::size_t s, TensorId id) {
    const auto& all = kernel().statements;
    return std::any_of(all.begin() + static_cast<std::ptrdiff_t>(s), all.end(),
                       [&](const Computation& one) { return one.write.tensor == id; });
  }

  Wanted wanted_by(std::size_t s) {
    const Computation& statement = kernel().statements[s];
    const std::vector<Use> uses = uses_of(statement);
    Wanted wanted;
    std::set<TensorId> others;
    for (std::size_t r = 0; r < uses.size(); ++r) {
      const TensorId id = statement.reads[r].tensor;
      const bool once = statement.reduction == Reduction::assign && !tensor(id).constant;
      if (once || !uses[r].type || is_written_from(s, id) ||
          wanted.emplace(id, *uses[r].type).first->second != *uses[r].type)
        others.insert(id);
    }
    for (const TensorId id : others) wanted.erase(id);
    return wanted;
  }

  /// `X_f32[i0,i1] = f32(X[i0,i1])`; the tensor that it writes is not set.
  Computation conversion_of(TensorId id, DType type) {
    Computation made;
    made.name = tensor(id).name + "_" + std::string(name(type));
    Access element{id, {}};
    for (std::size_t d = 0; d < tensor(id).shape.size(); ++d) {
      made.domain.dims.push_back({"i" + std::to_string(d), tensor(id).shape[d], DimKind::parallel});
      element.index.push_back(AffineExpr::dim(made.domain.dims.back().name));
    }
    made.write.index = element.index;
    made.reads = {element};
    made.body = cast(type, read(0, tensor(id).dtype));
    return made;
  }

  Tensor wide_tensor(TensorId id, DType type) {
    Tensor made = tensor(id);
    made.dtype = type;
    made.inout = made.output = false;
    made.strides = {};
    return made;
  }

  /// Cycles that a run spends on the wider tensor beside its uses; nothing: no instruction converts.
  std::optional<double> price_of(TensorId id, DType type) {
    if (made_.contains({id, type})) return 0;
    const auto elements = static_cast<double>(element_count(tensor(id)));
    const double more = (bytes(type) - bytes(tensor(id).dtype)) * elements / prices_.bytes_per_cycle;
    if (tensor(id).constant) return more;
    Kernel alone;
    alone.name = "conversion";
    alone.tensors = {tensor(id), wide_tensor(id, type)};
    alone.statements = {conversion_of(id, type)};
    alone.statements[0].reads[0].tensor = make_id<TensorId>(0);
    alone.statements[0].write.tensor = make_id<TensorId>(1);
    const auto cycles = prices_.cycles_of_point(alone, 0);
    if (!cycles) return std::nullopt;
    return more + elements * (*cycles + bytes(type) / prices_.bytes_per_cycle);
  }

  bool pays(std::size_t s, const Wanted& wanted) {
    Kernel wide;
    wide.name = "wide";
    wide.tensors = kernel().tensors;
    wide.statements = {kernel().statements[s]};
    drop_casts(wide.statements[0].body, wide.statements[0].reads, wanted);
    for (const auto& [id, type] : wanted) wide.tensors[id.index()].dtype = type;
    const auto with = prices_.cycles_of_point(wide, 0), without = prices_.cycles_of_point(kernel(), s);
    if (!with) return false;
    double price = 0, elements = 0;
    bool converts = true;
    for (const auto& [id, type] : wanted) {
      const auto one = price_of(id, type);
      converts = converts && one.has_value();
      price += one.value_or(0);
      elements += static_cast<double>(element_count(tensor(id)));
    }
    const double points = point_count(kernel().statements[s]);
    if (!without) return points > elements;
    return converts && points * (*without - *with) > price;
  }

  /// The values of a constant in the wider type, as a weight; false: they cannot be read here.
  bool add_weight(TensorId from, TensorId to) {
    for (const Weight& weight : model_.weights) {
      if (weight.tensor != from) continue;
      const auto values = values_of(weight, tensor(from));
      if (!values) return false;
      auto wide = std::make_shared<TensorData>(make_data(tensor(to)));
      for (std::int64_t i = 0; i < values->count(); ++i)
        wide->set(i, convert(values->get(i), values->dtype, wide->dtype, false));
      Weight made{to, "", 0, static_cast<std::int64_t>(wide->bytes.size()), nullptr};
      made.values = std::move(wide);
      model_.weights.push_back(std::move(made));
      return true;
    }
    return false;
  }

  /// The wider tensor; `s` is behind its conversion, if one was inserted.
  TensorId wide_of(TensorId id, DType type, std::size_t& s) {
    const auto [place, is_new] = made_.emplace(std::pair(id, type), make_id<TensorId>(kernel().tensors.size()));
    const TensorId to = place->second;
    if (!is_new) return to;
    Tensor made = wide_tensor(id, type);
    made.name = unused_name(names_, made.name + "_" + std::string(name(type)));
    kernel().tensors.push_back(std::move(made));
    if (tensor(id).constant && add_weight(id, to)) return to;
    tensor(to).constant = false;
    Computation conversion = conversion_of(id, type);
    conversion.name = unused_name(statement_names_, conversion.name);
    conversion.write.tensor = to;
    const auto at = static_cast<std::ptrdiff_t>(s);
    kernel().statements.insert(kernel().statements.begin() + at, std::move(conversion));
    model_.origins.insert(model_.origins.begin() + at, Origin(model_.origins[s]));
    for (Repeat& repeat : kernel().repeats)
      if (repeat.first > s) ++repeat.first;
    ++s;
    return to;
  }

  /// The number of statements that were inserted in front.
  std::size_t widen(std::size_t s) {
    const Wanted wanted = wanted_by(s);
    if (wanted.empty() || !pays(s, wanted)) return 0;
    const std::size_t first = s;
    std::map<TensorId, TensorId> wider;
    for (const auto& [id, type] : wanted) wider[id] = wide_of(id, type, s);
    Computation& statement = kernel().statements[s];
    drop_casts(statement.body, statement.reads, wanted);
    for (Access& read : statement.reads)
      if (const auto to = wider.find(read.tensor); to != wider.end()) read.tensor = to->second;
    return s - first;
  }

  Model model_;
  const WideningPrices& prices_;
  std::map<std::pair<TensorId, DType>, TensorId> made_;
  std::set<std::string> names_, statement_names_;
};

}  // namespace

Model widened_operands(Model model, const WideningPrices& prices) { return Widening(std::move(model), prices).run(); }

}  // namespace isamap
