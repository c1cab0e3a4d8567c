// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/values_of_sizes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "frontends/lifted_sizes.h"
#include "ir/symbolic/facts.h"

namespace isamap {
namespace {

constexpr std::int64_t most_kept = 64;

enum class Dependence { same, position, varying, decided };

std::vector<double> numbers_of(const TensorData& data) {
  std::vector<double> numbers;
  if (data.count() > most_kept) return numbers;
  for (std::int64_t k = 0; k < data.count(); ++k) numbers.push_back(as_double(data.dtype, data.get(k)));
  return numbers;
}

/// Operands that elements are computed from; the others say shapes and places.
std::vector<std::size_t> data_operands(const SeenValue& value) {
  static const std::set<std::string> first{"Reshape", "Expand", "Tile",  "Unsqueeze", "Squeeze",       "Slice",
                                           "Trilu",   "Pad",    "Split", "Gather",    "GatherElements"};
  if (value.op == "Shape" || value.op == "Size" || value.op == "ConstantOfShape" || value.op == "EyeLike") return {};
  if (value.op == "Range") return {0, 2};
  if (first.contains(value.op)) return {0};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < value.inputs.size(); ++i) all.push_back(i);
  return all;
}

/// Operands that say which elements of others are taken: a sum of extents is one only if they are equal at all sizes.
std::vector<std::size_t> choosing_operands(const SeenValue& value) {
  std::vector<std::size_t> choosing;
  const auto data = data_operands(value);
  for (std::size_t i = 0; i < value.inputs.size(); ++i)
    if (std::find(data.begin(), data.end(), i) == data.end() || (value.op == "Where" && i == 0)) choosing.push_back(i);
  return choosing;
}

/// Elements are those of the operands at other places, or sums of them: equal at all samples is equal at all sizes.
bool is_linear(const SeenValue& value) {
  static const std::set<std::string> all{"Add",     "Sub",       "Mul",     "Neg",       "Where",   "Concat",
                                         "Gather",  "Slice",     "Squeeze", "Unsqueeze", "Reshape", "Identity",
                                         "Flatten", "Transpose", "Expand",  "Tile",      "Split",   "Cast"};
  const bool rounds = value.op == "Cast" && !value.inputs.empty() && !value.inputs[0].integer;
  return all.contains(value.op) && value.integer && !value.truth && !rounds;
}

/// May agree at all samples and differ elsewhere, although it is another one at each of them.
bool has_pieces(const std::string& op) {
  static const std::set<std::string> all{"Min",       "Max",       "Clip",   "Relu",   "Abs", "Sign",
                                         "ReduceMin", "ReduceMax", "ArgMin", "ArgMax", "TopK"};
  return all.contains(op);
}

/// Element by element, or with axes added, removed, exchanged or repeated.
bool keeps_positions(const std::string& op) {
  static const std::set<std::string> all{"Range",       "ConstantOfShape",
                                         "EyeLike",     "Reshape",
                                         "Expand",      "Unsqueeze",
                                         "Squeeze",     "Trilu",
                                         "Cast",        "Flatten",
                                         "Transpose",   "Identity",
                                         "Add",         "Sub",
                                         "Mul",         "Div",
                                         "Neg",         "Not",
                                         "And",         "Or",
                                         "Xor",         "Equal",
                                         "Less",        "Greater",
                                         "LessOrEqual", "GreaterOrEqual",
                                         "Where",       "Min",
                                         "Max",         "Clip",
                                         "Abs",         "Sign",
                                         "Mod",         "Floor",
                                         "Ceil",        "Round",
                                         "Sqrt",        "Exp",
                                         "Log",         "Sin",
                                         "Cos",         "Pow",
                                         "Reciprocal",  "Relu"};
  return all.contains(op);
}

/// Does the operator take the same elements of its operands, or all, at every size? Of others, which statements there
/// are differs between sizes.
bool stays_in_place(const std::string& op) { return keeps_positions(op) || op == "ReduceMin" || op == "ReduceMax"; }

class Analysis {
 public:
  Analysis(const SizeFacts& facts, const std::vector<Bindings>& sizes,
           const std::vector<std::vector<SeenValue>>& samples)
      : facts_(facts), fit_(sizes), samples_(samples) {}

  Dependences run() {
    for (std::size_t v = 0; v < samples_[0].size() && are_alike(v); ++v) {
      dependences_.push_back(dependence_of(v));
      sums_.push_back(is_sum(v));
      if (sums_.back()) found_.sums.insert(samples_[0][v].name);
      if (dependences_.back() != Dependence::decided) continue;
      const auto& inputs = samples_[0][v].inputs;
      const bool follows = std::any_of(inputs.begin(), inputs.end(), [&](const auto& in) {
        return dependence(in) == Dependence::decided;  // it is not known once that one is computed
      });
      if (follows) continue;
      found_.decided.insert(samples_[0][v].name);
      if (found_.moving.empty() && !stays_in_place(samples_[0][v].op)) found_.moving = samples_[0][v].name;
    }
    return std::move(found_);
  }

 private:
  /// Do all samples have this value, of the same node?
  bool are_alike(std::size_t v) const {
    return std::all_of(samples_.begin(), samples_.end(), [&](const std::vector<SeenValue>& sample) {
      return v < sample.size() && sample[v].name == samples_[0][v].name && sample[v].op == samples_[0][v].op &&
             sample[v].inputs.size() == samples_[0][v].inputs.size();
    });
  }

  Dependence dependence(const SeenValue::Input& input) const {
    return input.from < 0 ? Dependence::same : dependences_[static_cast<std::size_t>(input.from)];
  }

  /// Of a value that varies.
  bool is_sum(std::size_t v) const {
    const SeenValue& value = samples_[0][v];
    if (dependences_[v] != Dependence::varying || !value.integer) return false;
    if (value.op == "Shape" || value.op == "Size") return value.op == "Shape";
    return takes_sums(value);
  }

  /// Is it linear in operands that are equal at all sizes or sums of extents, whose elements are always the same ones?
  bool takes_sums(const SeenValue& value) const {
    for (const std::size_t i : choosing_operands(value))
      if (dependence(value.inputs[i]) != Dependence::same) return false;
    std::size_t varying = 0;
    for (const SeenValue::Input& input : value.inputs) {
      if (dependence(input) == Dependence::same) continue;
      if (dependence(input) != Dependence::varying || !sums_[static_cast<std::size_t>(input.from)]) return false;
      ++varying;
    }
    return is_linear(value) && (value.op != "Mul" || varying <= 1);
  }

  /// Is none of the numbers that are known negative? Those count from the end of an axis.
  bool counts_from_the_start(std::size_t v, std::size_t i) const {
    bool known = false;
    for (const std::vector<SeenValue>& sample : samples_) {
      const std::vector<double>& numbers = sample[v].inputs[i].numbers;
      known = known || !numbers.empty();
      if (std::any_of(numbers.begin(), numbers.end(), [](double number) { return number < 0; })) return false;
    }
    return known;
  }

  /// Do elements depend on their subscripts alone, where those of the data do?
  bool is_of_positions(std::size_t v) const {
    const SeenValue& value = samples_[0][v];
    const auto most = [&](std::size_t i, Dependence allowed) {
      return i >= value.inputs.size() || dependence(value.inputs[i]) <= allowed;
    };
    const auto same = [&](std::size_t i) { return most(i, Dependence::same); };
    if (value.op == "Slice")
      return value.inputs.size() > 2 && same(1) && same(3) && same(4) && counts_from_the_start(v, 1) &&
             (value.inputs.size() < 5 || counts_from_the_start(v, 4));
    if (value.op == "Gather") return most(1, Dependence::position) && counts_from_the_start(v, 1);
    if (value.op == "Tile") return same(0);
    if (value.op == "Concat") {
      for (std::size_t i = 0; i + 1 < value.inputs.size(); ++i)
        if (!same(i)) return false;
      return true;
    }
    return keeps_positions(value.op) && (value.op != "Trilu" || same(1));
  }

  template <class Equal>
  bool all_samples(std::size_t v, Equal equal) const {
    return std::all_of(samples_.begin(), samples_.end(),
                       [&](const std::vector<SeenValue>& sample) { return equal(sample[v], samples_[0][v]); });
  }

  Dependence dependence_of(std::size_t v) {
    const SeenValue& value = samples_[0][v];
    Dependence all = Dependence::same, data = Dependence::same;
    for (const SeenValue::Input& input : value.inputs) all = std::max(all, dependence(input));
    for (const std::size_t i : data_operands(value))
      if (i < value.inputs.size()) data = std::max(data, dependence(value.inputs[i]));
    if (all == Dependence::decided) return all;
    const bool one_shape = all_samples(v, [](const SeenValue& a, const SeenValue& b) { return a.shape == b.shape; });
    const bool equal = one_shape && all_samples(v, [](const auto& a, const auto& b) { return a.hash == b.hash; });
    if (value.op == "Shape" || value.op == "Size") return equal ? Dependence::same : Dependence::varying;
    if (all == Dependence::same) return all;
    if (data <= Dependence::position && is_of_positions(v))
      return equal ? Dependence::same : one_shape ? Dependence::varying : Dependence::position;
    if (data != Dependence::varying) return equal ? Dependence::decided : Dependence::varying;
    if (value.narrow) return Dependence::decided;  // it wraps or rounds
    if (compares(value.op)) return is_proved(v) ? Dependence::same : Dependence::decided;
    if (has_pieces(value.op)) {
      if (!is_one_piece(v)) return Dependence::decided;
      return equal ? Dependence::same : Dependence::varying;
    }
    if (!equal) return Dependence::varying;
    return takes_sums(value) ? Dependence::same : Dependence::decided;
  }

  static bool compares(const std::string& op) {
    return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" || op == "GreaterOrEqual";
  }

  /// By sample, element k of the result's operand i; nothing: it is not known, or taken from another place.
  std::optional<std::vector<double>> numbers(std::size_t v, std::size_t i, std::size_t k) const {
    std::vector<double> found;
    for (const std::vector<SeenValue>& sample : samples_) {
      const SeenValue::Input& input = sample[v].inputs[i];
      if (input.numbers.empty() || (input.count != 1 && input.count != count_of(sample[v]))) return std::nullopt;
      found.push_back(input.numbers[input.count == 1 ? 0 : k]);
    }
    return found;
  }
  static std::size_t count_of(const SeenValue& value) {
    std::size_t count = 1;
    for (const std::int64_t extent : value.shape) count *= static_cast<std::size_t>(extent);
    return count;
  }

  /// The difference of two operands as an affine expression of the sizes. Numbers beyond 2^52, such as the 2^63 - 1
  /// that stands for no limit, count as 2^52: an order that is proved with it holds for them.
  std::optional<AffineExpr> difference(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<std::int64_t> differences;
    for (std::size_t n = 0; n < a.size(); ++n) {
      constexpr double most = std::int64_t{1} << 52;  // differences are exact
      const double one = std::clamp(a[n], -most, most) - std::clamp(b[n], -most, most);
      if (one != std::floor(one)) return std::nullopt;
      differences.push_back(static_cast<std::int64_t>(one));
    }
    return fit_.fit(differences);
  }

  bool have_one_shape(std::size_t v) const {
    return all_samples(v, [](const SeenValue& a, const SeenValue& b) { return a.shape == b.shape; });
  }

  /// Is every element the same comparison at all sizes, by the facts?
  bool is_proved(std::size_t v) {
    const SeenValue& value = samples_[0][v];
    if (value.inputs.size() != 2 || !have_one_shape(v)) return false;
    for (std::size_t k = 0; k < count_of(value); ++k) {
      const auto a = numbers(v, 0, k), b = numbers(v, 1, k);
      const auto e = a && b ? difference(*a, *b) : std::nullopt;
      if (!e || !is_decided(value.op, *e)) return false;
    }
    return true;
  }

  /// Of the difference of the operands.
  bool is_decided(const std::string& op, const AffineExpr& e) {
    const bool at_least = bool(facts_.nonnegative(e)), at_most = bool(facts_.nonnegative(-e));
    const bool above = bool(facts_.nonnegative(e - 1)), below = bool(facts_.nonnegative(-e - 1));
    if (op == "Equal") return above || below || (at_least && at_most);
    return op == "Greater" || op == "LessOrEqual" ? above || at_most : below || at_least;
  }

  /// Minima and the like: do the facts order what is compared, so that every element is the same operand at all sizes?
  bool is_one_piece(std::size_t v) {
    const SeenValue& value = samples_[0][v];
    if (!have_one_shape(v)) return false;
    const bool reduces = value.op == "ReduceMin" || value.op == "ReduceMax";
    if (reduces && count_of(value) != 1) return false;
    for (std::size_t k = 0; k < count_of(value); ++k) {
      const auto compared = reduces ? elements(v) : operands(v, k);
      if (!compared || !are_ordered(*compared)) return false;
    }
    return true;
  }

  using Compared = std::vector<std::vector<double>>;  ///< each by sample

  std::optional<Compared> operands(std::size_t v, std::size_t k) const {
    static const std::set<std::string> of_operands{"Min", "Max", "Clip"}, of_zero{"Relu", "Abs", "Sign"};
    const SeenValue& value = samples_[0][v];
    Compared compared;
    if (of_zero.contains(value.op)) compared.emplace_back(samples_.size(), 0.0);
    if (compared.empty() && !of_operands.contains(value.op)) return std::nullopt;
    for (std::size_t i = 0; i < value.inputs.size(); ++i) {
      if (value.inputs[i].count == 0 && value.inputs[i].from < 0) continue;  // left out
      const auto found = numbers(v, i, k);
      if (!found) return std::nullopt;
      compared.push_back(*found);
    }
    return compared;
  }

  /// Of the operand of a reduction to one element.
  std::optional<Compared> elements(std::size_t v) const {
    constexpr std::size_t most = 8;
    const std::size_t count = samples_[0][v].inputs[0].count;
    if (count == 0 || count > most) return std::nullopt;
    Compared compared(count);
    for (const std::vector<SeenValue>& sample : samples_) {
      const SeenValue::Input& input = sample[v].inputs[0];
      if (input.count != count || input.numbers.size() != count) return std::nullopt;
      for (std::size_t k = 0; k < count; ++k) compared[k].push_back(input.numbers[k]);
    }
    return compared;
  }

  bool are_ordered(const Compared& compared) {
    for (std::size_t a = 0; a < compared.size(); ++a)
      for (std::size_t b = a + 1; b < compared.size(); ++b) {
        const auto e = difference(compared[a], compared[b]);
        if (!e || !(facts_.nonnegative(*e) || facts_.nonnegative(-*e))) return false;
      }
    return true;
  }

  const Facts facts_;
  SizeFit fit_;
  const std::vector<std::vector<SeenValue>>& samples_;
  std::vector<Dependence> dependences_;  ///< by value, as far as known
  std::vector<bool> sums_;
  Dependences found_;
};

}  // namespace

namespace {

/// Does it not hold all sizes, or sums of them?
bool is_narrow(DType type) {
  return !is_truth(type) && type != DType::s64 && type != DType::s32 && type != DType::f64 && type != DType::f32;
}

}  // namespace

std::vector<SeenValue> seen(const std::vector<KnownValue>& values) {
  std::vector<SeenValue> list;
  for (const KnownValue& value : values) {
    SeenValue one{value.name,
                  value.op,
                  {},
                  value.values->shape,
                  0,
                  !is_float(value.values->dtype),
                  is_truth(value.values->dtype),
                  is_narrow(value.values->dtype)};
    for (const KnownValue::Input& input : value.inputs)
      one.inputs.push_back({input.values ? numbers_of(*input.values) : std::vector<double>{},
                            input.values ? static_cast<std::size_t>(input.values->count()) : 0, input.from,
                            input.values && !is_float(input.values->dtype)});
    const auto& bytes = value.values->bytes;
    one.hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    list.push_back(std::move(one));
  }
  return list;
}

Dependences dependences_of(const SizeFacts& facts, const std::vector<Bindings>& sizes,
                           const std::vector<std::vector<SeenValue>>& samples) {
  return samples.empty() ? Dependences{} : Analysis(facts, sizes, samples).run();
}

}  // namespace isamap
