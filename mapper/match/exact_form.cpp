// SPDX-License-Identifier: Apache-2.0
#include "mapper/match/exact_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "mapper/match/reroll_sum.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::size_t max_exact_matches = 64;
constexpr int max_bindings = 4096;

/// The instruction as written, or rerolled.
struct Form {
  const Computation* semantics = nullptr;
  std::vector<DType> types;  ///< of its reads
  std::vector<int> from;     ///< for each read of the written instruction, the form's read
  std::optional<RerolledSum> rolled;
};

std::vector<DType> read_types(const Computation& c, const std::vector<Tensor>& tensors) {
  std::vector<DType> types;
  for (const Access& read : c.reads) types.push_back(tensors[read.tensor.index()].dtype);
  return types;
}

/// Values of a tensor's elements in a call, with the zeros of padding.
Interval values_of(const Kernel& kernel, const Access& read, bool stated) {
  const TensorId id = read.tensor;
  const Tensor& tensor = kernel.tensors[id.index()];
  Interval values = values_of(tensor.dtype);
  if (stated && tensor.range && role_of(kernel, id) == Role::input) {
    values = {static_cast<std::int64_t>(std::max(tensor.range->first, static_cast<double>(values.low))),
              static_cast<std::int64_t>(std::min(tensor.range->second, static_cast<double>(values.high)))};
    values = {std::min<std::int64_t>(values.low, 0), std::max<std::int64_t>(values.high, 0)};
    if (const auto beyond = outside_of(read, kernel.tensors)) {
      const auto outside = static_cast<std::int64_t>(*beyond);
      values = {std::min(values.low, outside), std::max(values.high, outside)};
    }
  }
  return values;
}

/// A read of the tensor, with the value beyond it.
Access read_of(const Computation& statement, TensorId tensor) {
  for (const Access& read : statement.reads)
    if (read.tensor == tensor && read.outside) return read;
  return {tensor, {}};
}

/// For each tensor, is its stated range used?
using UsedRanges = std::vector<bool>;

std::vector<Interval> ranges_of_reads(const Kernel& kernel, const Computation& c, const UsedRanges& stated) {
  std::vector<Interval> ranges;
  for (const Access& read : c.reads) ranges.push_back(values_of(kernel, read, stated[read.tensor.index()]));
  return ranges;
}

/// The most terms that are summed for one element of the output.
std::int64_t terms_of_an_element(const Computation& c) {
  const bool plain = std::all_of(c.write.index.begin(), c.write.index.end(),
                                 [](const AffineExpr& e) { return e.is_constant() || e.as_dim(); });
  std::int64_t terms = 1;
  for (const Dim& dim : c.domain.dims)
    if (!plain || !uses(c.write, dim.name))
      terms = checked_mul(terms, std::max<std::int64_t>(dim.extent, 1)).value_or(INT64_MAX);
  return terms;
}

std::vector<Form> forms_of(const Instruction& instruction) {
  const Computation& semantics = instruction.statement();
  std::vector<Interval> any(semantics.reads.size(), Interval{0, 0});
  const auto expansion = expand(semantics.body, any);
  if (!expansion) return {};
  std::vector<Form> forms(1);
  forms[0].semantics = &semantics;
  forms[0].types = read_types(semantics, instruction.tensors);
  for (std::size_t r = 0; r < semantics.reads.size(); ++r) forms[0].from.push_back(static_cast<int>(r));
  auto rolled = reroll_sum(instruction, expansion->polynomial, Axes::separated);
  if (!rolled) return forms;
  Form form;
  form.semantics = &rolled->instruction->statement();
  form.types = read_types(*form.semantics, instruction.tensors);
  for (const Access& read : semantics.reads) {
    const auto same = std::find_if(form.semantics->reads.begin(), form.semantics->reads.end(),
                                   [&](const Access& r) { return r.tensor == read.tensor; });
    form.from.push_back(static_cast<int>(same - form.semantics->reads.begin()));
  }
  form.rolled = std::move(rolled);
  forms.push_back(std::move(form));
  return forms;
}

/// Does the reduction give the same bits for integers of one ring?
bool wraps(Reduction reduction) {
  return reduction == Reduction::assign || reduction == Reduction::add || reduction == Reduction::mul;
}

Polynomial renamed(const Polynomial& polynomial, const std::vector<int>& to) {
  Polynomial result;
  for (const auto& [reads, coefficient] : polynomial) {
    std::vector<int> names;
    for (const int r : reads) names.push_back(to[static_cast<std::size_t>(r)]);
    std::sort(names.begin(), names.end());
    std::int64_t& sum = result[names];
    sum += coefficient;
    if (sum == 0) result.erase(names);
  }
  return result;
}

/// `found(form, binding)`: for each read of the form the statement's read.
using FoundBinding = std::function<void(const Form&, const std::vector<int>&)>;

/// Backtracking over the bindings of a form's reads to reads of the statement, up to a budget of steps.
class BindingSearch {
 public:
  BindingSearch(const Form& form, const std::vector<DType>& types, const Polynomial& of_form,
                const Polynomial& of_statement, const FoundBinding& found)
      : form_(form), types_(types), of_form_(of_form), of_statement_(of_statement), found_(found) {}

  void run(int& budget) {
    if (--budget < 0) return;
    if (binding_.size() == form_.types.size()) {
      if (renamed(of_form_, binding_) == of_statement_) found_(form_, binding_);
      return;
    }
    for (std::size_t r = 0; r < types_.size(); ++r) {
      const DType needed = form_.types[binding_.size()];
      if (types_[r] != needed && !same_ring(types_[r], needed)) continue;
      binding_.push_back(static_cast<int>(r));
      run(budget);
      binding_.pop_back();
    }
  }

 private:
  const Form& form_;
  const std::vector<DType>& types_;  ///< of the statement's reads
  const Polynomial &of_form_, &of_statement_;
  const FoundBinding& found_;
  std::vector<int> binding_;
};

/// One statement and instruction: the ways to bind reads under which the polynomials are equal.
class Matcher {
 public:
  Matcher(const Kernel& kernel, StatementId statement, const Instruction& instruction)
      : kernel_(kernel),
        statement_(kernel.statements[statement.index()]),
        instruction_(instruction),
        added_to_(holds_a_value(kernel, statement)) {}

  void each(const FoundBinding& found) const {
    const Computation& semantics = instruction_.statement();
    const bool same_type = semantics.body.type == statement_.body.type;
    if (!same_type && !same_ring(semantics.body.type, statement_.body.type)) return;
    const UsedRanges all(kernel_.tensors.size(), true);
    const auto of_statement = expand(statement_.body, ranges_of_reads(kernel_, statement_, all));
    if (!of_statement || !of_statement->losses.empty()) return;
    const std::vector<DType> types = read_types(statement_, kernel_.tensors);
    int budget = max_bindings;
    for (const Form& form : forms_of(instruction_)) {
      const bool saturates =
          form.semantics->reduction == Reduction::saturating_add && statement_.reduction == Reduction::add;
      if (form.semantics->reduction != statement_.reduction && !saturates) continue;
      if (!same_type && !wraps(form.semantics->reduction)) continue;
      const auto of_form = expand(form.semantics->body, std::vector<Interval>(form.types.size()));
      if (!of_form || of_form->polynomial.size() < of_statement->polynomial.size()) continue;
      BindingSearch(form, types, of_form->polynomial, of_statement->polynomial, found).run(budget);
    }
  }

  /// The instruction's expansion with the ranges of the bound reads.
  std::optional<Expansion> expansion(const Form& form, const std::vector<int>& binding,
                                     const UsedRanges& stated) const {
    const Computation& semantics = instruction_.statement();
    const std::vector<Interval> values = ranges(form, binding, stated);
    auto expansion = expand(semantics.body, values);
    if (expansion && semantics.reduction == Reduction::saturating_add) {
      const TensorId out = statement_.write.tensor;
      const std::int64_t at_once = form.rolled ? form.rolled->instruction->statement().domain.dims.back().extent : 1;
      require_sums(*expansion, semantics.body, values, ceil_div(terms_of_an_element(statement_), at_once),
                   added_to_ ? values_of(kernel_.tensors[out.index()].dtype) : Interval{0, 0});
    }
    return expansion;
  }
  std::vector<Interval> ranges(const Form& form, const std::vector<int>& binding, const UsedRanges& stated) const {
    const std::vector<Interval> bound = ranges_of_reads(kernel_, statement_, stated);
    std::vector<Interval> result;
    for (const int r : form.from)
      result.push_back(bound[static_cast<std::size_t>(binding[static_cast<std::size_t>(r)])]);
    return result;
  }
  const Computation& statement() const { return statement_; }

 private:
  const Kernel& kernel_;
  const Computation& statement_;
  const Instruction& instruction_;
  const bool added_to_;
};

std::vector<std::string> printed_reads(const Instruction& instruction) {
  std::vector<std::string> names;
  for (const Access& read : instruction.statement().reads) {
    std::string text = instruction.tensors[read.tensor.index()].name + "[";
    for (std::size_t i = 0; i < read.index.size(); ++i) text += (i > 0 ? "," : "") + print(read.index[i]);
    names.push_back(text + "]");
  }
  return names;
}

bool contains(const Interval& all, const Interval& values) { return all.low <= values.low && values.high <= all.high; }

std::string print(const Interval& values) { return fmt::format("[{}, {}]", values.low, values.high); }

/// Drops stated ranges one by one while nothing saturates without them: the remaining ones are needed.
UsedRanges needed_ranges(const Kernel& kernel, const Matcher& matcher, const Form& form,
                         const std::vector<int>& binding) {
  UsedRanges stated(kernel.tensors.size(), true);
  for (std::size_t t = 0; t < stated.size(); ++t) {
    stated[t] = false;
    const auto without = matcher.expansion(form, binding, stated);
    stated[t] = !without || !without->losses.empty();
  }
  return stated;
}

ExactMatch exact_match(const Kernel& kernel, const Instruction& instruction, const Matcher& matcher, const Form& form,
                       const std::vector<int>& binding) {
  ExactMatch result;
  result.match.operands = {0};
  for (const int r : binding) result.match.operands.push_back(r + 1);
  auto exact = std::make_shared<Exactness>();
  const UsedRanges stated = needed_ranges(kernel, matcher, form, binding);
  for (std::size_t t = 0; t < stated.size(); ++t) {
    if (stated[t])
      exact->needs.push_back(kernel.tensors[t].name + " in " +
                             print(values_of(kernel, read_of(matcher.statement(), make_id<TensorId>(t)), true)));
  }
  exact->reads = printed_reads(instruction);
  exact->ranges = matcher.ranges(form, binding, stated);
  exact->fitting = matcher.expansion(form, binding, stated)->fitting;
  for (std::size_t r = 0; r < exact->ranges.size(); ++r) {  // values that both types have, if they matter
    const DType type = instruction.tensors[instruction.statement().reads[r].tensor.index()].dtype;
    const auto bound = static_cast<std::size_t>(binding[static_cast<std::size_t>(form.from[r])]);
    const DType given = kernel.tensors[matcher.statement().reads[bound].tensor.index()].dtype;
    if (type != given && contains(values_of(type), exact->ranges[r]))
      exact->fitting.push_back({read(static_cast<int>(r), type), false, type, exact->ranges[r]});
  }
  if (form.rolled) exact->rolled = form.rolled->instruction;
  result.exact = std::move(exact);
  return result;
}

/// The widest [0, m] of an unsigned tensor or [-m, m] of a signed one under which nothing is lost.
std::optional<Interval> saving_range(const Kernel& kernel, TensorId tensor, StatementId statement,
                                     const Instruction& instruction, const Form& form,
                                     const std::vector<int>& binding) {
  const Interval all = values_of(kernel.tensors[tensor.index()].dtype);
  Kernel narrowed = kernel;
  const auto range = [&](std::int64_t m) { return Interval{all.low < 0 ? -m : 0, m}; };
  const auto saves = [&](std::int64_t m) {
    narrowed.tensors[tensor.index()].range = {static_cast<double>(range(m).low), static_cast<double>(range(m).high)};
    const auto expansion =
        Matcher(narrowed, statement, instruction).expansion(form, binding, UsedRanges(kernel.tensors.size(), true));
    return expansion && expansion->losses.empty();
  };
  std::int64_t good = 0, bad = all.high;
  if (!saves(1)) return std::nullopt;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (saves(middle) ? good : bad) = middle;
  }
  if (saves(bad)) good = bad;
  return good > 0 ? std::optional(range(good)) : std::nullopt;
}

}  // namespace

std::vector<ExactMatch> match_exactly(const Kernel& kernel, StatementId statement, const Instruction& instruction) {
  std::vector<ExactMatch> result;
  const Matcher matcher(kernel, statement, instruction);
  matcher.each([&](const Form& form, const std::vector<int>& binding) {
    const auto expansion = matcher.expansion(form, binding, UsedRanges(kernel.tensors.size(), true));
    if (expansion && expansion->losses.empty() && result.size() < max_exact_matches)
      result.push_back(exact_match(kernel, instruction, matcher, form, binding));
  });
  return result;
}

SaturationReason why_not_exact(const Kernel& kernel, StatementId statement, const Instruction& instruction) {
  SaturationReason found;
  const Matcher matcher(kernel, statement, instruction);
  matcher.each([&](const Form& form, const std::vector<int>& binding) {
    const UsedRanges stated(kernel.tensors.size(), true);
    const auto expansion = matcher.expansion(form, binding, stated);
    if (found || !expansion || expansion->losses.empty()) return;
    const Loss& loss = expansion->losses.front();
    const std::vector<std::string> names = printed_reads(instruction);
    found.reason.kind = loss.saturates ? Reason::Kind::saturation : Reason::Kind::overflow;
    std::string& text = found.reason.text;
    text = fmt::format("{}: {} can reach {}, and {} holds {}", loss.saturates ? "saturation" : "overflow",
                       print(loss.argument, names), print(loss.reached), name(loss.type), print(values_of(loss.type)));
    std::vector<TensorId> seen;
    for (const int r : binding) {
      const TensorId tensor = matcher.statement().reads[static_cast<std::size_t>(r)].tensor;
      if (std::find(seen.begin(), seen.end(), tensor) != seen.end()) continue;
      seen.push_back(tensor);
      const auto saving = role_of(kernel, tensor) == Role::input
                              ? saving_range(kernel, tensor, statement, instruction, form, binding)
                              : std::nullopt;
      if (saving) found.ranges.emplace_back(tensor, *saving);
    }
    for (std::size_t i = 0; i < found.ranges.size(); ++i)
      text += fmt::format("{} range: {} on {}", i == 0 ? "; with" : " or", print(found.ranges[i].second),
                          kernel.tensors[found.ranges[i].first.index()].name);
    text += found.ranges.empty()
                ? fmt::format("; it may {} whatever range one input has", loss.saturates ? "saturate" : "wrap")
                : " it would be exact";
  });
  return found;
}

}  // namespace isamap
