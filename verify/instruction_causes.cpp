// SPDX-License-Identifier: Apache-2.0
#include "verify/instruction_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <regex>

#include "ir/text/parse.h"

namespace isamap {
namespace {

std::optional<DType> other_sign(DType type) {
  return is_integer(type) ? integer_of(bits(type), !format_of(type).is_signed) : std::nullopt;
}

class Causes {
 public:
  Causes(const InstructionCase& one, const Instruction& instruction, const std::vector<TensorData>& before,
         const TensorData& found)
      : kernel_(one.kernel), instruction_(instruction), before_(before), found_(found) {
    for (const Access& read : kernel_.statements[0].reads)
      if (std::find(inputs_.begin(), inputs_.end(), read.tensor.index()) == inputs_.end())
        inputs_.push_back(read.tensor.index());
  }

  std::string find() {
    for (const auto& attempt :
         {&Causes::signs, &Causes::saturation, &Causes::update, &Causes::places, &Causes::exchange, &Causes::untouched})
      if (std::string words = (this->*attempt)(); !words.empty()) return words;
    return "";
  }

 private:
  std::size_t out() const { return kernel_.statements[0].write.tensor.index(); }
  const std::string& name_of(std::size_t tensor) const { return kernel_.tensors[tensor].name; }

  bool explains(const Kernel& kernel, const std::vector<TensorData>& before, const TensorData& found) const {
    std::vector<TensorData> expected;
    return differing(kernel, instruction_, before, found, expected).empty();
  }
  /// The kernel with other types or another body.
  std::optional<Kernel> reread(Kernel kernel, const std::function<void(std::string&)>& change = {}) const {
    std::string text = isamap::print(kernel);
    if (change) {
      const std::string old = text;
      change(text);
      if (text == old) return std::nullopt;
    }
    auto parsed = parse_kernel(text);
    if (!parsed) return std::nullopt;
    return std::move(*parsed);
  }

  std::string signs() {
    std::vector<std::size_t> integers;
    for (const std::size_t t : inputs_)
      if (other_sign(kernel_.tensors[t].dtype)) integers.push_back(t);
    for (std::size_t set = 1; set < (std::size_t{1} << std::min<std::size_t>(integers.size(), 4)); ++set) {
      Kernel kernel = kernel_;
      std::vector<TensorData> before = before_;
      std::string words;
      for (std::size_t i = 0; i < integers.size() && i < 4; ++i) {
        if ((set >> i & 1) == 0) continue;
        const std::size_t t = integers[i];
        const DType described = kernel.tensors[t].dtype;
        kernel.tensors[t].dtype = before[t].dtype = *other_sign(described);
        words += fmt::format("{}operand {} is {}, not {}", words.empty() ? "" : ", ", name_of(t),
                             name(*other_sign(described)), name(described));
      }
      if (const auto other = reread(kernel); other && explains(*other, before, found_)) return words;
    }
    return "";
  }

  std::string saturation() {
    static const std::regex saturating("\\bsat_([su](8|16|32))\\("), wrapping("\\b([su](8|16|32))\\(");
    const auto changed = [&](const std::regex& what, const std::string& by) {
      return reread(kernel_, [&](std::string& text) { text = std::regex_replace(text, what, by); });
    };
    if (const auto other = changed(saturating, "$1("); other && explains(*other, before_, found_))
      return "the result wraps; the description says that it saturates";
    if (const auto other = changed(saturating, "("); other && explains(*other, before_, found_))
      return "nothing is cut off in between; the description says that it saturates";
    if (const auto other = changed(wrapping, "sat_$1("); other && explains(*other, before_, found_))
      return "the result saturates; the description says that it wraps";
    static const std::regex rounding("\\bround\\(");
    if (const auto other = changed(rounding, "("); other && explains(*other, before_, found_))
      return "the result is truncated; the description says that it is rounded";
    static const std::regex clamping_sum(" sat\\+= "), plain_sum(" \\+= ");
    if (const auto other = changed(clamping_sum, " += "); other && explains(*other, before_, found_))
      return "the sum wraps; the description says that it saturates (sat+=)";
    if (std::string words = saturating_sum(); !words.empty()) return words;
    if (const auto other = changed(plain_sum, " sat+= "); other && explains(*other, before_, found_))
      return "the sum saturates at each step (sat+=); " + how_described();
    return "";
  }

  /// The sum in 64 bits, then clamped to the output's type.
  std::string saturating_sum() {
    const DType type = kernel_.tensors[out()].dtype;
    if (!is_integer(type) || bits(type) > 32) return "";
    Kernel wide = kernel_;
    wide.tensors[out()].dtype = DType::s64;
    const auto other = reread(wide);
    if (!other) return "";
    std::vector<TensorData> data = before_;
    data[out()] = make_data(wide.tensors[out()]);
    for (std::int64_t i = 0; i < data[out()].count(); ++i) data[out()].set(i, before_[out()].get(i));
    interpret(*other, data);
    for (std::int64_t i = 0; i < found_.count(); ++i) {
      const std::int64_t clamped = std::clamp(data[out()].get(i).integer, integer_min(type), integer_max(type));
      if (clamped != found_.get(i).integer) return "";
    }
    return fmt::format("the sum saturates at {}{}; {}", name(type),
                       kernel_.statements[0].reduction == Reduction::saturating_add ? ", once, at its end" : "",
                       how_described());
  }

  static bool saturates(const ScalarExpr& e) {
    const auto* cast = std::get_if<Cast>(&e.op);
    return (cast != nullptr && cast->saturate) || std::any_of(e.args.begin(), e.args.end(), saturates);
  }

  /// Text of the description's sum.
  std::string how_described() const {
    if (kernel_.statements[0].reduction == Reduction::saturating_add)
      return "the description saturates at each step (sat+=)";
    return saturates(kernel_.statements[0].body) ? "the description saturates each term, and adds them exactly"
                                                 : "the description adds exactly";
  }

  std::string update() {
    if (kernel_.statements[0].reduction == Reduction::assign) return "";
    Kernel fresh = kernel_;
    fresh.tensors[out()].inout = false;
    if (kernel_.tensors[out()].inout && explains(fresh, before_, found_))
      return fmt::format("{} is overwritten; the description says that it is updated", name_of(out()));
    return "";
  }

  /// Another layout of an operand: row-major in another order of its axes, or in groups.
  std::string places() {
    std::vector<std::size_t> tensors = inputs_;
    tensors.push_back(out());
    for (const std::size_t t : tensors) {
      const auto rank = static_cast<std::ptrdiff_t>(instruction_.operands[t].index_names.size());
      if (rank < 2 || rank >= static_cast<std::ptrdiff_t>(before_[t].shape.size())) continue;
      const std::vector<std::int64_t> box(before_[t].shape.end() - rank, before_[t].shape.end());
      const Operand& operand = instruction_.operands[t];
      Operand dense = operand;
      dense.layout = DenseLayout{};
      auto described = positions(operand, box);
      if (!described) described = positions(dense, box);
      if (!described) continue;
      for (const std::int64_t group : {1, 2, 4, 8}) {
        std::vector<std::size_t> order(box.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        do {
          const auto other = grouped(box, order, group);
          if (!other || *other == *described) continue;
          if (const auto moved = moving(*described, *other); moved && explained_by(t, *moved))
            return fmt::format("{} stands in another order: {}", name_of(t), layout_words(t, order, group));
        } while (std::next_permutation(order.begin(), order.end()));
      }
    }
    return "";
  }
  /// Row-major over the axes in `order`; the first of them in innermost groups of `group`.
  static std::optional<std::vector<std::int64_t>> grouped(const std::vector<std::int64_t>& box,
                                                          const std::vector<std::size_t>& order, std::int64_t group) {
    if (box[order[0]] % group != 0) return std::nullopt;
    std::int64_t count = 1;
    for (const std::int64_t extent : box) count *= extent;
    std::vector<std::int64_t> table, point(box.size(), 0);
    for (std::int64_t p = 0; p < count; ++p) {
      std::int64_t remaining = p;
      for (std::size_t d = box.size(); d-- > 0; remaining /= box[d]) point[d] = remaining % box[d];
      std::int64_t at = point[order[0]] / group;
      for (std::size_t i = 1; i < order.size(); ++i) at = at * box[order[i]] + point[order[i]];
      table.push_back(at * group + point[order[0]] % group);
    }
    return table;
  }
  /// moved[y]: the element at the position where the machine expects element y.
  static std::optional<std::vector<std::int64_t>> moving(const std::vector<std::int64_t>& described,
                                                         const std::vector<std::int64_t>& other) {
    std::map<std::int64_t, std::int64_t> at;
    for (std::size_t x = 0; x < described.size(); ++x) at[described[x]] = static_cast<std::int64_t>(x);
    std::vector<std::int64_t> moved;
    for (const std::int64_t place : other) {
      const auto found = at.find(place);
      if (found == at.end()) return std::nullopt;
      moved.push_back(found->second);
    }
    return moved;
  }
  static TensorData permuted(const TensorData& data, const std::vector<std::int64_t>& moved) {
    TensorData out = data;
    const auto each = static_cast<std::int64_t>(moved.size());
    for (std::int64_t i = 0; i < data.count(); ++i)
      out.set(i, data.get(i / each * each + moved[static_cast<std::size_t>(i % each)]));
    return out;
  }
  bool explained_by(std::size_t tensor, const std::vector<std::int64_t>& moved) const {
    std::vector<TensorData> before = before_;
    before[tensor] = permuted(before[tensor], moved);
    return explains(kernel_, before, tensor == out() ? permuted(found_, moved) : found_);
  }
  std::string layout_words(std::size_t tensor, const std::vector<std::size_t>& order, std::int64_t group) const {
    const auto& names = instruction_.operands[tensor].index_names;
    const auto axis = [&](std::size_t d) { return d < names.size() ? names[d] : std::to_string(d); };
    std::string text = group > 1 ? fmt::format("{}/{}", axis(order[0]), group) : axis(order[0]);
    for (std::size_t i = 1; i < order.size(); ++i) text += ", " + axis(order[i]);
    if (group > 1) text += fmt::format(", {}%{}", axis(order[0]), group);
    return "[" + text + "]";
  }

  std::string exchange() {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      for (std::size_t j = i + 1; j < inputs_.size(); ++j) {
        const std::size_t a = inputs_[i], b = inputs_[j];
        if (before_[a].shape != before_[b].shape || before_[a].dtype != before_[b].dtype) continue;
        std::vector<TensorData> before = before_;
        std::swap(before[a], before[b]);
        if (explains(kernel_, before, found_))
          return fmt::format("operands {} and {} are exchanged", name_of(a), name_of(b));
      }
    return "";
  }

  std::string untouched() {
    if (found_.count() > 0 && found_ == before_[out()] && kernel_.tensors[out()].inout) return "nothing was written";
    return "";
  }

  const Kernel& kernel_;
  const Instruction& instruction_;
  const std::vector<TensorData>& before_;
  const TensorData& found_;
  std::vector<std::size_t> inputs_;
};

}  // namespace

std::string likely_cause(const InstructionCase& one, const Instruction& instruction,
                         const std::vector<TensorData>& before, const TensorData& found) {
  return Causes(one, instruction, before, found).find();
}

}  // namespace isamap
