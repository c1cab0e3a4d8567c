// SPDX-License-Identifier: Apache-2.0
#include "verify/instruction_check.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/evaluation/error_bounds.h"
#include "ir/scalar/scalar_functions.h"
#include "support/overloaded.h"
#include "verify/instruction_causes.h"

namespace isamap {
namespace {

bool rounds(const Instruction& instruction) {
  const Computation& s = instruction.statement();
  return is_float(s.body.type) || is_float(instruction.tensors[s.write.tensor.index()].dtype);
}

/// Values on a machine that treats denormals as zero.
void flush(TensorData& data) {
  if (!is_float(data.dtype)) return;
  const double smallest = smallest_normal(data.dtype);
  for (std::int64_t i = 0; i < data.count(); ++i)
    if (const double x = data.get(i).real; x != 0 && std::fabs(x) < smallest) data.set(i, {std::copysign(0.0, x), 0});
}

std::string text_of(DType type, Scalar value) {
  if (!is_float(type)) return integer_text(type, value);
  if (std::isnan(value.real)) return "NaN";
  const std::string text = fmt::format("{:.9g}", value.real);
  return value.real == 0 && std::signbit(value.real) ? "-0" : text;
}

std::vector<std::int64_t> point_of(std::int64_t position, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> point(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; position /= shape[d]) point[d] = position % shape[d];
  return point;
}

/// "A[1,0..3]": the positions of an operand that contribute to one result, without the vector's number.
class Gathered {
 public:
  void add(const std::vector<std::int64_t>& index, const std::string& value) {
    if (std::find(points_.begin(), points_.end(), index) != points_.end()) return;
    points_.push_back(index);
    values_.push_back(value);
  }
  bool empty() const { return points_.empty(); }
  std::pair<std::string, std::string> words(const std::string& name) const {
    constexpr std::size_t most = 8;
    std::string place, text;
    for (std::size_t i = 0; i < std::min(points_.size(), most); ++i) {
      std::string index;
      for (std::size_t d = 1; d < points_[i].size(); ++d) index += (d > 1 ? "," : "") + std::to_string(points_[i][d]);
      if (i == 0 || points_.size() <= 2) place += (place.empty() ? name + "[" : "], " + name + "[") + index;
      text += (text.empty() ? "" : ", ") + values_[i];
    }
    if (points_.size() > 2) place += "] and the " + std::to_string(points_.size() - 1) + " behind it, " + name + "[..";
    if (points_.size() > most) text += ", ..";
    return {place + "]", text};
  }

 private:
  std::vector<std::vector<std::int64_t>> points_;
  std::vector<std::string> values_;
};

/// Every operand value that contributes to the element, and its initial value.
std::vector<std::pair<std::string, std::string>> values_at(const Kernel& kernel, const std::vector<TensorData>& before,
                                                           const std::vector<std::int64_t>& element) {
  const Computation& s = kernel.statements[0];
  std::vector<Gathered> gathered(s.reads.size());
  std::vector<std::string> names;
  for (const Dim& dim : s.domain.dims) names.push_back(dim.name);
  const auto compiled = [&](const Access& access) {
    std::vector<CompiledAffine> all;
    for (const AffineExpr& e : access.index) all.emplace_back(e, names);
    return all;
  };
  const auto write = compiled(s.write);
  std::vector<std::vector<CompiledAffine>> reads;
  for (const Access& access : s.reads) reads.push_back(compiled(access));
  std::vector<std::int64_t> point(names.size(), 0);
  point[0] = element[0];  // the vector
  for (bool more = true; more;) {
    bool here = true;
    for (std::size_t d = 0; d < write.size(); ++d) here = here && write[d](point.data()) == element[d];
    for (std::size_t r = 0; here && r < reads.size(); ++r) {
      const TensorData& data = before[s.reads[r].tensor.index()];
      std::vector<std::int64_t> index;
      std::int64_t position = 0;
      bool inside = true;
      for (std::size_t d = 0; d < reads[r].size(); ++d) {
        index.push_back(reads[r][d](point.data()));
        inside = inside && index.back() >= 0 && index.back() < data.shape[d];
        position = position * data.shape[d] + index.back();
      }
      gathered[r].add(index, inside ? text_of(data.dtype, data.get(position)) : "outside");
    }
    more = false;
    for (std::size_t d = names.size(); d-- > 1 && !more;) {
      more = ++point[d] < s.domain.dims[d].extent;
      if (!more) point[d] = 0;
    }
  }
  std::vector<std::pair<std::string, std::string>> all;
  for (std::size_t r = 0; r < reads.size(); ++r)
    if (!gathered[r].empty()) all.push_back(gathered[r].words(kernel.tensors[s.reads[r].tensor.index()].name));
  const TensorData& out = before[s.write.tensor.index()];
  if (kernel.tensors[s.write.tensor.index()].inout) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < element.size(); ++d) position = position * out.shape[d] + element[d];
    all.emplace_back(kernel.tensors[s.write.tensor.index()].name + " before", text_of(out.dtype, out.get(position)));
  }
  return all;
}

/// The written element, with names of plain dims: "C[i=1,j=3]".
std::string name_of(const Kernel& kernel, const std::vector<std::int64_t>& element) {
  const Access& write = kernel.statements[0].write;
  std::string text;
  for (std::size_t d = 1; d < element.size(); ++d) {
    const auto dim = write.index[d].as_dim();
    text += fmt::format("{}{}{}", d > 1 ? "," : "", dim ? *dim + "=" : "", element[d]);
  }
  return kernel.tensors[write.tensor.index()].name + "[" + text + "]";
}

}  // namespace

constexpr int sum_room = 10;  // log2 of the products that are added up

double smallest_normal(DType type) { return std::ldexp(1.0, format_of(type).emin); }

std::string bound_in_words(const Instruction& instruction) {
  if (instruction.semantics.empty() || !rounds(instruction)) return "";
  const Numerics& n = instruction.numerics;
  std::string why;
  const auto add = [&](const std::string& text) { why += (why.empty() ? "" : ", ") + text; };
  if (n.fused) add("fused");
  if (n.order_any || !n.order.empty()) add("order of summation");
  if (n.round) add("round: " + std::string(name(*n.round)));
  if (n.bits) add(fmt::format("{} bits", *n.bits));
  if (n.flushes_denormals) add("denormals are zero");
  if (approximates(instruction.statement().body)) add("approximated functions");
  return why;
}

/// By vector: where intermediate sums may overflow in one order or precision only, infinities prove no difference.
/// These are the vectors for which a thousand products of their operands would come near the largest number of `type`.
std::vector<bool> near_overflow(const std::vector<TensorData>& operands, DType type, std::int64_t vectors) {
  const double large = std::ldexp(1.0, (format_of(type).emax - sum_room) / 2);
  std::vector<bool> near(static_cast<std::size_t>(vectors), false);
  for (const TensorData& data : operands) {
    if (!is_float(data.dtype) || data.shape.empty() || vectors == 0) continue;
    const std::int64_t count = data.count() / vectors;
    for (std::int64_t i = 0; i < data.count(); ++i)
      if (const double x = std::fabs(data.get(i).real); std::isfinite(x) && x > large)
        near[static_cast<std::size_t>(i / count)] = true;
  }
  return near;
}

/// Units of error_bounds in which an instruction of these numerics may err.
double error_units(const Numerics& numerics, DType type) {
  const double units = numerics.round == Numerics::Round::truncate ? 2 : 1;  // one unit in the last place, not half
  if (!numerics.bits || !is_float(type)) return units;  // the bound is in units of the type's last place
  return std::ldexp(units, std::max(0, format_of(type).precision - static_cast<int>(*numerics.bits)));
}

bool equal_scalars(DType type, const Scalar& a, const Scalar& b, bool signs_of_zeros) {
  if (!is_float(type)) return a.integer == b.integer;
  if (a.real != b.real) return std::isnan(a.real) && std::isnan(b.real);
  return !signs_of_zeros || a.real != 0 || std::signbit(a.real) == std::signbit(b.real);
}

std::vector<std::int64_t> differing(const Kernel& kernel, const Instruction& instruction,
                                    const std::vector<TensorData>& before, const TensorData& found,
                                    std::vector<TensorData>& expected) {
  const bool exact = bound_in_words(instruction).empty();
  const Computation& statement = kernel.statements[0];
  const bool signs = exact && statement.reduction != Reduction::min && statement.reduction != Reduction::max &&
                     !takes_either_zero(statement.body);
  const bool flushes = instruction.numerics.flushes_denormals;
  expected = before;
  if (flushes)
    for (TensorData& data : expected) flush(data);
  const std::vector<TensorData> seen = expected;
  interpret(kernel, expected);
  const std::size_t out = statement.write.tensor.index();
  const TensorData& reference = expected[out];
  std::vector<std::int64_t> wrong;
  if (found.count() != reference.count()) return {0};
  std::vector<double> bounds;
  if (!exact) bounds = error_bounds(kernel, expected)[out];
  const DType type = reference.dtype;
  const double units = error_units(instruction.numerics, type);
  const double floor = flushes && is_float(type) ? 2 * smallest_normal(type) : 0;
  const std::int64_t vectors = reference.shape.empty() ? 1 : reference.shape[0];
  const std::int64_t each = vectors > 0 ? reference.count() / vectors : 0;
  const std::vector<bool> near = exact ? std::vector<bool>{} : near_overflow(seen, type, vectors);
  for (std::int64_t i = 0; i < reference.count(); ++i) {
    const Scalar a = reference.get(i), b = found.get(i);
    bool same = equal_scalars(type, a, b, signs);
    if (!same && !exact) {
      const double x = as_double(type, a), y = as_double(type, b);
      const double bound = bounds.empty() ? 0 : bounds[static_cast<std::size_t>(i)] * units;
      if (!std::isfinite(x) || !std::isfinite(y))
        same = near[static_cast<std::size_t>(i / each)];
      else
        same = !std::isfinite(bound) || std::fabs(x - y) <= bound + floor;
    }
    if (!same) wrong.push_back(i);
  }
  return wrong;
}

std::optional<InstructionDifference> check_case(const InstructionCase& one, const Instruction& instruction,
                                                const std::vector<TensorData>& before,
                                                const std::vector<TensorData>& found) {
  const std::size_t out = one.kernel.statements[0].write.tensor.index();
  std::vector<TensorData> expected;
  const auto wrong = differing(one.kernel, instruction, before, found[out], expected);
  if (wrong.empty()) return std::nullopt;
  InstructionDifference difference;
  const auto element = point_of(wrong.front(), expected[out].shape);
  difference.position = name_of(one.kernel, element);
  difference.operands = values_at(one.kernel, before, element);
  difference.found = text_of(expected[out].dtype, found[out].get(wrong.front()));
  difference.expected = text_of(expected[out].dtype, expected[out].get(wrong.front()));
  difference.wrong = static_cast<std::int64_t>(wrong.size());
  difference.cause = likely_cause(one, instruction, before, found[out]);
  return difference;
}

}  // namespace isamap
