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

bool is_one_of(const std::string& op, const std::set<std::string>& list) { return list.contains(op); }

/// Operands that elements are computed from; the others say shapes and places.
std::vector<std::size_t> data_operands(const SeenValue& value) {
  static const std::set<std::string> first{"Reshape", "Expand", "Tile",  "Unsqueeze",
                                           "Squeeze", "Slice",  "Trilu", "Pad"};
  if (value.op == "Shape" || value.op == "Size" || value.op == "ConstantOfShape" || value.op == "EyeLike") return {};
  if (value.op == "Range") return {0, 2};
  if (is_one_of(value.op, first)) return {0};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < value.inputs.size(); ++i) all.push_back(i);
  return all;
}

/// Elements are those of the operands at other places, or sums of them: equal at all samples is equal at all sizes.
bool is_linear(const SeenValue& value) {
  static const std::set<std::string> all{"Add",     "Sub",       "Mul",     "Neg",       "Where",   "Concat",
                                         "Gather",  "Slice",     "Squeeze", "Unsqueeze", "Reshape", "Identity",
                                         "Flatten", "Transpose", "Expand",  "Tile",      "Split",   "Cast"};
  const bool rounds = value.op == "Cast" && !value.inputs.empty() && !value.inputs[0].integer;
  return is_one_of(value.op, all) && value.integer && !value.truth && !rounds;
}

/// May agree at all samples and differ elsewhere, although it is another one at each of them.
bool has_pieces(const std::string& op) {
  static const std::set<std::string> all{"Min",       "Max",       "Clip",   "Relu",   "Abs", "Sign",
                                         "ReduceMin", "ReduceMax", "ArgMin", "ArgMax", "TopK"};
  return is_one_of(op, all);
}

/// Of positions: elements still depend on subscripts alone.
bool keeps_positions(const std::string& op) {
  static const std::set<std::string> all{"Range",       "ConstantOfShape",
                                         "EyeLike",     "Reshape",
                                         "Expand",      "Tile",
                                         "Unsqueeze",   "Squeeze",
                                         "Slice",       "Trilu",
                                         "Cast",        "Identity",
                                         "Flatten",     "Concat",
                                         "Transpose",   "Gather",
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
  return is_one_of(op, all);
}

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
      if (!follows) found_.decided.insert(samples_[0][v].name);
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
    std::size_t varying = 0;
    for (const SeenValue::Input& input : value.inputs) {
      if (dependence(input) == Dependence::same) continue;
      if (dependence(input) != Dependence::varying || !sums_[static_cast<std::size_t>(input.from)]) return false;
      ++varying;
    }
    return is_linear(value) && (value.op != "Mul" || varying <= 1);
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
    if (data <= Dependence::position && keeps_positions(value.op))
      return equal ? Dependence::same : one_shape ? Dependence::varying : Dependence::position;
    if (data != Dependence::varying) return equal ? Dependence::decided : Dependence::varying;
    if (compares(value.op)) return is_proved(v) ? Dependence::same : Dependence::decided;
    if ((value.op == "Min" || value.op == "Max") && is_proved(v)) return equal ? Dependence::same : Dependence::varying;
    if (has_pieces(value.op)) return Dependence::decided;
    return !equal ? Dependence::varying : is_linear(value) ? Dependence::same : Dependence::decided;
  }

  static bool compares(const std::string& op) {
    return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" || op == "GreaterOrEqual";
  }

  /// Is every element the same comparison, or the same operand, at all sizes, by the facts?
  bool is_proved(std::size_t v) {
    if (samples_[0][v].inputs.size() != 2) return false;
    std::size_t count = 1;
    for (const std::vector<SeenValue>& sample : samples_) {
      if (sample[v].shape != samples_[0][v].shape) return false;
      for (const SeenValue::Input& input : sample[v].inputs) {
        if (input.numbers.empty() || input.count != samples_[0][v].inputs[0].count) {
          if (input.count != 1 && samples_[0][v].inputs[0].count != 1) return false;
          if (input.numbers.empty()) return false;
        }
        count = std::max(count, input.count);
      }
    }
    for (std::size_t k = 0; k < count; ++k)
      if (!is_proved(v, k)) return false;
    return true;
  }

  bool is_proved(std::size_t v, std::size_t k) {
    std::vector<std::int64_t> differences;
    for (const std::vector<SeenValue>& sample : samples_) {
      const auto number = [&](std::size_t i) {
        const SeenValue::Input& input = sample[v].inputs[i];
        return input.numbers[input.count == 1 ? 0 : k];
      };
      const double difference = number(0) - number(1);
      if (difference != std::floor(difference) || std::abs(difference) > 1e15) return false;
      differences.push_back(static_cast<std::int64_t>(difference));
    }
    const auto e = fit_.fit(differences);
    if (!e) return false;
    const std::string& op = samples_[0][v].op;
    const bool at_least = bool(facts_.nonnegative(*e)), at_most = bool(facts_.nonnegative(-*e));
    if (op == "Min" || op == "Max") return at_least || at_most;
    const bool above = bool(facts_.nonnegative(*e - 1)), below = bool(facts_.nonnegative(-*e - 1));
    if (op == "Equal") return above || below || (at_least && at_most);
    return op == "Greater" || op == "LessOrEqual" ? above || at_most : below || at_least;
  }

  const Facts facts_;
  SizeFit fit_;
  const std::vector<std::vector<SeenValue>>& samples_;
  std::vector<Dependence> dependences_;  ///< by value, as far as known
  std::vector<bool> sums_;
  Dependences found_;
};

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
                  is_truth(value.values->dtype)};
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
