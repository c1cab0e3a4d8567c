// SPDX-License-Identifier: Apache-2.0
// A statement's sum is rounded to the output's type after every term, in the interpreter and in every instruction. With
// p significant bits the unit in the last place of a sum of n terms of one size is n / 2^(p-1) of a term, so log2(n) of
// the p bits can be lost, and from 2^p terms on a term is half a unit and the sum stands still: 256 in bf16, 2048 in
// f16, 16 in e4m3 (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).

#include "frontends/lossy_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace isamap {
namespace {

constexpr int least_bits = 4;  // that a sum must keep: a value is then right to about 5 %

/// Is a read of the tensor a summand of the body, as in S[t+1] = S[t] + X[t]?
bool adds_to(const ScalarExpr& body, const Computation& statement) {
  if (const auto* read = std::get_if<Read>(&body.op))
    return read->access < static_cast<int>(statement.reads.size()) &&
           statement.reads[static_cast<std::size_t>(read->access)].tensor == statement.write.tensor;
  const auto* binary = std::get_if<Binary>(&body.op);
  const bool sum = binary && (binary->op == BinaryOp::add || binary->op == BinaryOp::sub);
  if (!sum && !std::holds_alternative<Cast>(body.op)) return false;
  return std::any_of(body.args.begin(), body.args.end(), [&](const ScalarExpr& a) { return adds_to(a, statement); });
}

bool is_recurrence(const Kernel& kernel, std::size_t s) {
  const Computation& statement = kernel.statements[s];
  return repeat_of(kernel, s) != nullptr && statement.reduction == Reduction::assign &&
         adds_to(statement.body, statement);
}

/// Roundings between the first term and the result.
double terms_of(const Kernel& kernel, std::size_t s) {
  const Computation& statement = kernel.statements[s];
  if (is_recurrence(kernel, s)) return static_cast<double>(repeat_of(kernel, s)->steps);
  if (statement.reduction != Reduction::add) return 0;
  double terms = 1;
  for (const Dim& dim : statement.domain.dims)
    if (dim.kind == DimKind::reduction) terms *= static_cast<double>(dim.extent);
  return terms;
}

std::string single_spaced(const std::string& text) {
  std::string made;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank || (!made.empty() && made.back() != ' ')) made += blank ? ' ' : c;
  }
  while (!made.empty() && made.back() == ' ') made.pop_back();
  return made;
}

/// The statements that sum in `wide` and round once.
std::string rounded_once(const Kernel& kernel, const WrittenStatement& statement, DType wide) {
  const Tensor& output = kernel.tensors[kernel.statements[statement.number].write.tensor.index()];
  const auto sign = statement.text.find("+=");
  if (sign == std::string::npos) return fmt::format("make {} {}", output.name, name(wide));
  const std::string write = single_spaced(statement.text.substr(0, sign)),
                    body = single_spaced(statement.text.substr(sign + 2));
  std::string sum = output.name + "_sum";
  while (std::any_of(kernel.tensors.begin(), kernel.tensors.end(), [&](const Tensor& t) { return t.name == sum; }))
    sum += "_";
  const std::string partial = sum + write.substr(std::min(write.find('['), write.size()));
  return fmt::format(
      "sum in {0} and round once: tensor `{1}: {{shape: [{2}], dtype: {0}}}`, statements `{3} += {4}` "
      "and `{5} {6} {7}({3})`",
      name(wide), sum, fmt::join(output.shape, ", "), partial, body, write,
      holds_a_value(kernel, make_id<StatementId>(statement.number)) ? "+=" : "=", name(output.dtype));
}

}  // namespace

std::optional<Diagnostic> lossy_sum(const Kernel& kernel, const WrittenStatement& written) {
  const Computation& statement = kernel.statements[written.number];
  const Tensor& output = kernel.tensors[statement.write.tensor.index()];
  const double terms = terms_of(kernel, written.number);
  if (!is_float(output.dtype) || terms < 2) return std::nullopt;
  const int bits = format_of(output.dtype).precision;
  if (terms <= std::ldexp(1.0, bits - least_bits)) return std::nullopt;
  const std::string lost = terms > std::ldexp(1.0, bits)
                               ? fmt::format("it sticks at {:.0f} times the size of a term", std::ldexp(1.0, bits))
                               : fmt::format("up to {:.0f} of them are lost", std::ceil(std::log2(terms)));
  Diagnostic warning = error_at(
      written.where, fmt::format("the sum of {:.0f} terms in {} is rounded to {} ({} significant bits) after every "
                                 "term: {}",
                                 terms, output.name, name(output.dtype), bits, lost));
  warning.severity = Severity::warning;
  if (output.dtype != DType::f64)
    warning.hint = rounded_once(kernel, written, format_of(output.dtype).precision < 24 ? DType::f32 : DType::f64);
  return warning;
}

}  // namespace isamap
