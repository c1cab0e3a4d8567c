// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/layout_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "mapper/advice/price.h"
#include "mapper/match/instruction_tree.h"
#include "mapper/proof/conditions.h"

namespace isamap {
namespace {

/// The instruction's dim of a subscript of an access, if it is one plain dim of extent above 1.
std::optional<int> dim_of(const Computation& semantics, const Access& access, std::size_t subscript) {
  const auto name = access.index[subscript].as_dim();
  const int m = name ? semantics.domain.find(*name) : -1;
  return m >= 0 && semantics.domain.dims[static_cast<std::size_t>(m)].extent > 1 ? std::optional(m) : std::nullopt;
}

/// The dim along which the accessed operand is contiguous; nothing where the layout leaves it open.
std::optional<int> fastest(const Computation& semantics, const Access& access, const Operand& operand) {
  const std::size_t count = access.index.size();
  if (std::holds_alternative<DenseLayout>(operand.layout)) {
    for (std::size_t i = count; i-- > 0;)
      if (const auto m = dim_of(semantics, access, i)) return m;
    return std::nullopt;
  }
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  if (strided == nullptr) return std::nullopt;
  for (const StrideTerm& term : strided->terms) {
    if (!term.stride || term.term.names().size() != 1) continue;
    const std::string name = *term.term.names().begin();
    if (evaluate(*term.stride, [](const Reference&) { return std::nullopt; }) != 1) continue;
    for (std::size_t i = 0; i < count && i < operand.index_names.size(); ++i)
      if (operand.index_names[i] == name)
        if (const auto m = dim_of(semantics, access, i)) return m;
  }
  return std::nullopt;
}

/// Does a move to the operand (from the output) change which dim is contiguous, as a transposing load does?
bool moves_transpose(const HardwareModel& model, const Operand& operand, bool is_output) {
  const auto moves = model.moves();
  return std::any_of(moves.begin(), moves.end(), [&](InstructionId id) {
    const Instruction& move = model.instruction(id);
    if (move.operands.size() != 2 || move.semantics.size() != 1) return false;
    const Operand& end = move.operands[is_output ? 1 : 0];
    const Computation& copy = move.statement();
    if (end.memory != operand.memory || copy.reads.size() != 1) return false;
    if (end.dtype && operand.dtype && *end.dtype != *operand.dtype && !same_ring(*end.dtype, *operand.dtype))
      return false;
    const auto to = fastest(copy, copy.write, move.operands[copy.write.tensor.index()]);
    const auto from = fastest(copy, copy.reads[0], move.operands[copy.reads[0].tensor.index()]);
    return to && from && *to != *from;
  });
}

/// The innermost column on dim m; null: the dim is virtual.
const IntVector* innermost(const std::vector<DigitStep>& digit_steps, int m) {
  for (const DigitStep& w : digit_steps)
    if (const DigitStep::Place* place = w.on(m); place != nullptr && place->weight == 1 && w.extent > 1)
      return &w.column;
  return nullptr;
}

/// "B[j,k]": the access with the one index that the column moves put last; empty: it moves several, or by larger steps.
std::string reordered(const Alignment& alignment, int t, const IntVector& column) {
  const std::vector<IndexRow>& rows = alignment.rows[static_cast<std::size_t>(t)];
  std::vector<std::string> subscripts;
  std::optional<std::size_t> moved;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t step = step_of(rows[r], column).value_or(0);  // of boxes, whose indices are linear
    if (step != 0 && (moved || std::abs(step) != 1)) return "";
    if (step != 0)
      moved = r;
    else
      subscripts.push_back(print(alignment.access(t).index[r]));
  }
  if (!moved) return "";
  subscripts.push_back(print(alignment.access(t).index[*moved]));
  return fmt::format("{}[{}]", alignment.tensor_name(t), fmt::join(subscripts, ","));
}

std::optional<LayoutAdvice> advice_on(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, int t,
                                      const HardwareModel& model) {
  const Access& access = alignment.instruction_access(t);
  const Operand& operand = alignment.hardware->operands[access.tensor.index()];
  const auto fast = fastest(alignment.semantics(), access, operand);
  const IntVector* column = fast ? innermost(digit_steps, *fast) : nullptr;
  const std::int64_t step = column == nullptr ? 0 : std::abs(element_step(alignment, t, *column));
  if (step <= 1) return std::nullopt;
  const auto name = [&](int m) { return alignment.semantics().domain.dims[static_cast<std::size_t>(m)].name; };
  LayoutAdvice advice{operand.name, alignment.tensor_name(t), "", "", ""};
  std::vector<std::string> written;
  for (const AffineExpr& index : alignment.access(t).index) written.push_back(print(index));
  advice.found =
      fmt::format("{} holds {} with {} fastest; neighbours along it stand {} apart in {}[{}]", alignment.hardware->name,
                  operand.name, name(*fast), step, advice.tensor, fmt::join(written, ","));
  if (const std::string order = reordered(alignment, t, *column); !order.empty())
    advice.kernel = fmt::format("store {} as {}", advice.tensor, order);
  for (std::size_t i = 0; i < access.index.size() && advice.hardware.empty(); ++i) {
    const auto m = dim_of(alignment.semantics(), access, i);
    const IntVector* other = m && *m != *fast ? innermost(digit_steps, *m) : nullptr;
    if (other != nullptr && std::abs(element_step(alignment, t, *other)) == 1)
      advice.hardware = fmt::format("a variant that holds {} with {} fastest", operand.name, name(*m));
  }
  if (!advice.hardware.empty() && moves_transpose(model, operand, t == 0)) return std::nullopt;
  return advice;
}

}  // namespace

std::vector<LayoutAdvice> layout_advice(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping) {
  std::vector<LayoutAdvice> advice;
  const Instruction& instruction = instruction_of(mapping, model);
  if (!mapping.rolled.empty()) return advice;  // its operands' layouts refer to the unrolled sum
  const Alignment alignment = alignment_of(kernel, instruction, mapping);
  const auto digit_steps = digit_steps_of(alignment, mapping.dims);
  if (!digit_steps) return advice;
  const Price price = price_of(kernel, instruction, mapping);
  for (int t = 0; t < alignment.operand_count(); ++t) {
    const OperandPrice& operand = price.operands[static_cast<std::size_t>(t)];
    if (!operand.direct && !operand.padded) continue;
    if (auto one = advice_on(alignment, *digit_steps, t, model)) advice.push_back(std::move(*one));
  }
  return advice;
}

std::vector<LayoutAdvice> least_layout_advice(const Kernel& kernel, const HardwareModel& model,
                                              const std::vector<Mapping>& mappings) {
  constexpr int most = 64;
  double best = 0;
  for (const Mapping& mapping : mappings) best = std::max(best, mapping.utilisation);
  std::optional<std::vector<LayoutAdvice>> least;
  int asked = 0;
  for (const Mapping& mapping : mappings) {
    if (mapping.utilisation < best || (least && (least->empty() || asked == most))) continue;
    auto advice = layout_advice(kernel, model, mapping);
    ++asked;
    if (!least || advice.size() < least->size()) least = std::move(advice);
  }
  return least.value_or(std::vector<LayoutAdvice>{});
}

}  // namespace isamap
