// SPDX-License-Identifier: Apache-2.0
#include "mapper/match/body_match.h"

#include <algorithm>
#include <functional>

#include "ir/scalar/scalar_functions.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr int max_steps = 20'000;  // trees of nested sums have exponentially many alignments
constexpr std::size_t max_matches = 64;

enum class Types { exact, ignored };

constexpr int open_read = -1, constant_read = -2;
struct Binding {
  std::vector<int> reads;  // instruction read -> statement read, open_read or constant_read
  std::optional<double> constant;
  bool operator==(const Binding&) const = default;
};

const ScalarExpr& without_casts(const ScalarExpr& e) {
  return std::holds_alternative<Cast>(e.op) && e.args.size() == 1 ? without_casts(e.args[0]) : e;
}

bool representable(double value, DType type) {
  if (is_float(type)) return __builtin_isfinite(value) ? round_to(type, value) == value : format_of(type).has_infinity;
  if (!is_integer(type) || !__builtin_isfinite(value) || bits(type) > 32) return value == 0;
  return is_value_of(type, value);
}

/// The read below casts, or nothing: s32(B).
const ScalarExpr* plain_read(const ScalarExpr& e) {
  const ScalarExpr& inner = without_casts(e);
  return std::holds_alternative<Read>(inner.op) ? &inner : nullptr;
}

/// The b for which `a op b` is a, bit for bit: -0 + 0 is 0, but x + -0 is x.
std::optional<double> neutral_element(BinaryOp op, DType type) {
  if (op == BinaryOp::mul) return 1;
  if (op == BinaryOp::add) return is_float(type) ? -0.0 : 0.0;
  return std::nullopt;
}

/// Backtracking over the orders of commutative arguments; `found` sees each consistent binding.
class Aligner {
 public:
  using Next = std::function<void(Binding&)>;
  Aligner(Types types, bool with_constant) : types_(types), with_constant_(with_constant) {}

  void align(const ScalarExpr& statement, const ScalarExpr& instruction, Binding& binding, const Next& next) {
    if (++steps_ > max_steps) return;
    const ScalarExpr& a = types_ == Types::exact ? statement : without_casts(statement);
    const ScalarExpr& b = types_ == Types::exact ? instruction : without_casts(instruction);
    if (types_ == Types::exact && a.type != b.type) return;
    if (with_constant_) align_constant(a, b, binding, next);
    if (const auto* u = std::get_if<Read>(&b.op)) return align_reads(a, u->access, binding, next);
    if (a.op != b.op || a.args.size() != b.args.size()) return;
    align_arguments(a, b, 0, binding, next);
    const auto* op = std::get_if<Binary>(&b.op);
    if (op == nullptr || !function_of(op->op).commutative) return;
    align(a.args[1], b.args[0], binding, [&](Binding& bound) { align(a.args[0], b.args[1], bound, next); });
  }

 private:
  void align_reads(const ScalarExpr& a, int unit_read, Binding& binding, const Next& next) {
    const auto* k = std::get_if<Read>(&a.op);
    if (k == nullptr) return;
    int& slot = binding.reads[static_cast<std::size_t>(unit_read)];
    if (slot != open_read && slot != k->access) return;
    const int before = slot;
    slot = k->access;
    next(binding);
    binding.reads[static_cast<std::size_t>(unit_read)] = before;
  }

  void align_arguments(const ScalarExpr& a, const ScalarExpr& b, std::size_t i, Binding& binding, const Next& next) {
    if (i == a.args.size()) return next(binding);
    align(a.args[i], b.args[i], binding, [&, i](Binding& bound) { align_arguments(a, b, i + 1, bound, next); });
  }

  /// A constant of the statement on a read of the instruction; or a whole expression on one side of a * or +, whose
  /// other side is a read set to 1 or 0.
  void align_constant(const ScalarExpr& a, const ScalarExpr& b, Binding& binding, const Next& next) {
    if (const auto* value = std::get_if<Constant>(&a.op))
      bind_constant(b, is_float(a.type) ? round_to(a.type, value->value) : value->value, binding, next);
    const auto* op = std::get_if<Binary>(&b.op);
    const auto neutral = op != nullptr ? neutral_element(op->op, b.type) : std::nullopt;
    if (!neutral) return;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
      bind_constant(b.args[1 - side], *neutral, binding, [&](Binding& bound) { align(a, b.args[side], bound, next); });
  }

  void bind_constant(const ScalarExpr& instruction, double value, Binding& binding, const Next& next) {
    const ScalarExpr* read = plain_read(instruction);
    if (read == nullptr || binding.constant || !representable(value, read->type)) return;
    int& slot = binding.reads[static_cast<std::size_t>(std::get<Read>(read->op).access)];
    if (slot != open_read) return;
    slot = constant_read;
    binding.constant = value;
    next(binding);
    binding.reads[static_cast<std::size_t>(std::get<Read>(read->op).access)] = open_read;
    binding.constant.reset();
  }

  Types types_;
  bool with_constant_;
  int steps_ = 0;
};

std::vector<Binding> alignments(const Computation& statement, const Computation& instruction, Types types,
                                bool with_constant = false) {
  std::vector<Binding> found;
  Binding open{std::vector<int>(instruction.reads.size(), open_read), {}};
  Aligner(types, with_constant).align(statement.body, instruction.body, open, [&](Binding& binding) {
    if (binding.constant.has_value() == with_constant && found.size() < max_matches &&
        std::find(found.begin(), found.end(), binding) == found.end()) {
      found.push_back(binding);
    }
  });
  return found;
}

std::vector<BodyMatch> matches(const Computation& statement, const Computation& instruction, bool with_constant,
                               Types types = Types::exact) {
  if (statement.reduction != instruction.reduction) return {};
  std::vector<BodyMatch> result;
  for (const Binding& binding : alignments(statement, instruction, types, with_constant)) {
    BodyMatch match{{0}, binding.constant};
    for (const int r : binding.reads) match.operands.push_back(r == constant_read ? access_count(statement) : r + 1);
    result.push_back(std::move(match));
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The tensors' names; of one that is read at several places the access, `A[o + 1]`.
std::string body_in_words(const Computation& c, const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Access& read : c.reads) {
    const auto same = [&](const Access& other) { return other.tensor == read.tensor; };
    std::string subscripts;
    for (const AffineExpr& index : read.index) subscripts += (subscripts.empty() ? "" : ",") + print(index);
    names.push_back(tensors[read.tensor.index()].name);
    if (std::count_if(c.reads.begin(), c.reads.end(), same) > 1) names.back() += "[" + subscripts + "]";
  }
  return print(c.body, names);
}

void collect_read_types(const ScalarExpr& e, std::vector<std::string>& types) {
  if (const auto* r = std::get_if<Read>(&e.op)) types[static_cast<std::size_t>(r->access)] = std::string(name(e.type));
  for (const ScalarExpr& arg : e.args) collect_read_types(arg, types);
}

std::string types_in_words(const Computation& c) {
  std::vector<std::string> types(c.reads.size(), "?");
  collect_read_types(c.body, types);
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) text += (i == 0 ? "" : " by ") + types[i];
  return text + " into " + std::string(name(c.body.type));
}

// -- annihilators ----------------------------------------------------------------------------------------

constexpr std::size_t max_annihilators = 16;
constexpr double infinite_value = __builtin_inf();

void add_annihilator(std::vector<Annihilator>& to, Annihilator annihilator) {
  std::sort(annihilator.begin(), annihilator.end());
  if (to.size() < max_annihilators && std::find(to.begin(), to.end(), annihilator) == to.end())
    to.push_back(std::move(annihilator));
}

std::vector<Annihilator> either(std::vector<Annihilator> a, const std::vector<Annihilator>& b) {
  for (const Annihilator& annihilator : b) add_annihilator(a, annihilator);
  return a;
}

/// The union; nothing if a read would need two constants.
std::vector<Annihilator> both(const std::vector<Annihilator>& a, const std::vector<Annihilator>& b) {
  std::vector<Annihilator> result;
  for (const Annihilator& x : a) {
    for (const Annihilator& y : b) {
      Annihilator sum = x;
      bool conflict = false;
      for (const auto& [read, value] : y) {
        const auto same = std::find_if(sum.begin(), sum.end(), [&, r = read](const auto& p) { return p.first == r; });
        if (same == sum.end())
          sum.emplace_back(read, value);
        else
          conflict = conflict || same->second != value;
      }
      if (!conflict) add_annihilator(result, std::move(sum));
    }
  }
  return result;
}

std::vector<Annihilator> reaching(const ScalarExpr& e, double target);

/// At 0 and at -inf functions have exact values.
std::vector<Annihilator> reaching_unary(UnaryOp op, const ScalarExpr& a, double target) {
  if (op == UnaryOp::negate)
    return is_float(a.type) || target == 0 ? reaching(a, target == 0 ? 0 : -target) : std::vector<Annihilator>{};
  const UnaryFunction& f = function_of(op);
  if (f.real == nullptr)
    return as_double(result_type(op, a.type), {0, apply_integer(op, a.type, 0)}) == target ? reaching(a, 0)
                                                                                           : std::vector<Annihilator>{};
  for (const double argument : {0.0, -infinite_value})
    if (f.real(argument) == target) return reaching(a, argument);
  return {};
}

std::vector<Annihilator> reaching_binary(BinaryOp op, const ScalarExpr& a, const ScalarExpr& b, double target) {
  const bool infinite = !__builtin_isfinite(target);
  switch (op) {
    case BinaryOp::mul:
      if (target == 0) return either(reaching(a, 0), reaching(b, 0));
      return target == 1 ? both(reaching(a, 1), reaching(b, 1)) : std::vector<Annihilator>{};
    case BinaryOp::add:
      if (target == 0) return both(reaching(a, 0), reaching(b, 0));
      return infinite ? either(reaching(a, target), reaching(b, target)) : std::vector<Annihilator>{};
    case BinaryOp::sub:
      if (target == 0) return both(reaching(a, 0), reaching(b, 0));
      return infinite ? either(reaching(a, target), reaching(b, -target)) : std::vector<Annihilator>{};
    case BinaryOp::max:
      return target == infinite_value ? either(reaching(a, target), reaching(b, target))
                                      : both(reaching(a, target), reaching(b, target));
    case BinaryOp::min:
      return target == -infinite_value ? either(reaching(a, target), reaching(b, target))
                                       : both(reaching(a, target), reaching(b, target));
    default:
      return {};
  }
}

/// Constants for reads that make e equal `target` for all finite values of the other reads.
std::vector<Annihilator> reaching(const ScalarExpr& e, double target) {
  return std::visit(
      overloaded{[&](const Constant& c) {
                   return c.value == target ? std::vector<Annihilator>{{}} : std::vector<Annihilator>{};
                 },
                 [&](const Read& r) {
                   return representable(target, e.type) ? std::vector<Annihilator>{{{r.access, target}}}
                                                        : std::vector<Annihilator>{};
                 },
                 [&](const Unary& u) { return reaching_unary(u.op, e.args[0], target); },
                 [&](const Binary& b) { return reaching_binary(b.op, e.args[0], e.args[1], target); },
                 [&](const Select&) { return both(reaching(e.args[1], target), reaching(e.args[2], target)); },
                 // A narrower type does not reach the limit of an integer's range, and a float has no such limit.
                 [&](const Cast&) { return reaching(e.args[0], target); }},
      e.op);
}

}  // namespace

std::vector<BodyMatch> match_bodies(const Computation& statement, const Computation& instruction) {
  return matches(statement, instruction, false);
}

std::vector<BodyMatch> match_with_constant(const Computation& statement, const Computation& instruction) {
  return matches(statement, instruction, true);
}

std::vector<BodyMatch> match_shapes(const Computation& statement, const Computation& instruction) {
  return matches(statement, instruction, false, Types::ignored);
}

Reason body_mismatch(const Computation& statement, const std::vector<Tensor>& tensors, const Instruction& hardware) {
  const Computation& instruction = hardware.statement();
  if (statement.reduction != instruction.reduction) {
    return {Reason::Kind::reduction, false,
            "reduction: the instruction combines with " + std::string(symbol(instruction.reduction)) +
                ", the statement with " + std::string(symbol(statement.reduction))};
  }
  const std::string own = body_in_words(instruction, hardware.tensors), needed = body_in_words(statement, tensors);
  if (!alignments(statement, instruction, Types::ignored).empty()) {
    return {Reason::Kind::dtype, false,
            "dtype: the instruction computes " + own + " (" + types_in_words(instruction) +
                ") exactly; the statement has " + needed + " (" + types_in_words(statement) + ")"};
  }
  return {Reason::Kind::body, false, "body: the instruction computes " + own + "; the statement computes " + needed};
}

std::vector<Annihilator> annihilators(const Computation& instruction) {
  const DType type = instruction.body.type;
  std::vector<Annihilator> all;
  switch (instruction.reduction) {
    case Reduction::add:
    case Reduction::saturating_add:
      all = reaching(instruction.body, 0);
      break;
    case Reduction::mul:
      all = reaching(instruction.body, 1);
      break;
    case Reduction::max:
      all = reaching(instruction.body,
                     is_float(type) ? -infinite_value : as_double(type, identity(Reduction::max, type)));
      break;
    case Reduction::min:
      all =
          reaching(instruction.body, is_float(type) ? infinite_value : as_double(type, identity(Reduction::min, type)));
      break;
    case Reduction::assign:
      break;
  }
  std::vector<Annihilator> minimal;
  std::stable_sort(all.begin(), all.end(),
                   [](const Annihilator& a, const Annihilator& b) { return a.size() < b.size(); });
  for (const Annihilator& annihilator : all) {
    const bool covered = std::any_of(minimal.begin(), minimal.end(), [&](const Annihilator& smaller) {
      return std::includes(annihilator.begin(), annihilator.end(), smaller.begin(), smaller.end());
    });
    if (!covered && !annihilator.empty()) minimal.push_back(annihilator);
  }
  return minimal;
}

}  // namespace isamap
