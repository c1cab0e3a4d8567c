// SPDX-License-Identifier: Apache-2.0
#include "mapper/digits/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "mapper/match/body_match.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

std::vector<OperandSet> uses_of(const Computation& computation, const std::vector<int>& accesses) {
  std::vector<OperandSet> uses(computation.domain.dims.size(), 0);
  for (std::size_t t = 0; t < accesses.size(); ++t) {
    for (const AffineExpr& index : access_of(computation, accesses[t]).index) {
      for (const std::string& name : index.names()) {
        const int d = computation.domain.find(name);
        if (d >= 0) uses[static_cast<std::size_t>(d)] |= OperandSet{1} << t;
      }
    }
  }
  return uses;
}

IndexRow row_of(const AffineExpr& index, const IterationDomain& domain) {
  IndexRow row;
  row.linear = index.is_linear();
  row.coefficients.assign(domain.dims.size(), 0);
  for (const std::string& name : index.names()) {
    const int d = domain.find(name);
    if (d < 0) continue;
    row.dims |= std::uint32_t{1} << d;
    row.coefficients[static_cast<std::size_t>(d)] = index.coefficient(name);
  }
  return row;
}

std::vector<OperandSet> determining_operands(const Computation& semantics) {
  std::vector<OperandSet> determined_by(semantics.domain.dims.size(), 0);
  for (int t = 0; t < access_count(semantics); ++t) {
    for (const AffineExpr& index : access_of(semantics, t).index) {
      if (!index.is_linear() || index.terms().size() != 1) continue;
      const int m = semantics.domain.find(*index.names().begin());
      if (m >= 0) determined_by[static_cast<std::size_t>(m)] |= OperandSet{1} << t;
    }
  }
  return determined_by;
}

bool is_projection(const Computation& computation) {
  for (int t = 0; t < access_count(computation); ++t) {
    for (const AffineExpr& index : access_of(computation, t).index) {
      if (!index.is_linear() || index.terms().size() > 1) return false;
    }
  }
  return true;
}

std::vector<int> iota(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return all;
}

/// Dim renaming that makes index lists of operand t and operands[t] equal, if index lists are plain dims.
std::optional<std::vector<int>> dim_renaming(const Computation& semantics, const std::vector<int>& operands) {
  std::vector<int> to(semantics.domain.dims.size(), -1);
  for (int t = 0; t < access_count(semantics); ++t) {
    const Access& a = access_of(semantics, t);
    const Access& b = access_of(semantics, operands[static_cast<std::size_t>(t)]);
    if (a.index.size() != b.index.size()) return std::nullopt;
    for (std::size_t i = 0; i < a.index.size(); ++i) {
      const auto from_name = a.index[i].as_dim(), to_name = b.index[i].as_dim();
      if (!from_name || !to_name) {
        if (a.index[i] == b.index[i] && a.index[i].is_constant()) continue;
        return std::nullopt;
      }
      int& slot = to[static_cast<std::size_t>(semantics.domain.find(*from_name))];
      const int target = semantics.domain.find(*to_name);
      if (slot >= 0 && slot != target) return std::nullopt;
      slot = target;
    }
  }
  std::vector<int> seen = to;
  std::sort(seen.begin(), seen.end());
  return seen == iota(static_cast<int>(to.size())) ? std::optional(to) : std::nullopt;
}

OperandLayout renamed(OperandLayout layout, const std::map<std::string, AffineExpr>& names) {
  if (auto* strided = std::get_if<StridedLayout>(&layout)) {
    for (StrideTerm& term : strided->terms) {
      term.term = substitute(term.term, names);
      term.text.clear();
    }
  }
  return layout;
}

/// Are two operands equal up to names?
bool same_operand(const Operand& a, const Operand& b, const std::map<std::string, AffineExpr>& names) {
  const OperandLayout left = renamed(a.layout, names), right = renamed(b.layout, {});
  return a.memory == b.memory && a.dtype == b.dtype && left == right && a.align == b.align &&
         a.align_buffer == b.align_buffer && a.group == b.group && a.state == b.state && a.immediate == b.immediate &&
         a.outside == b.outside && a.view == b.view && a.object == b.object &&
         a.multiple_of.empty() == b.multiple_of.empty();
}

bool preserves(const Instruction& instruction, const Automorphism& by) {
  const Computation& semantics = instruction.statement();
  std::map<std::string, AffineExpr> names;
  for (std::size_t m = 0; m < by.dims.size(); ++m) {
    const std::size_t to = static_cast<std::size_t>(by.dims[m]);
    if (semantics.domain.dims[m].extent != semantics.domain.dims[to].extent) return false;
    if (m < instruction.ranges.size() && !(instruction.ranges[m] == instruction.ranges[to])) return false;
    if (m != to && !instruction.masks.empty()) return false;
    names[semantics.domain.dims[m].name] = AffineExpr::dim(semantics.domain.dims[to].name);
  }
  for (std::size_t t = 0; t < by.operands.size(); ++t) {
    const TensorId a = access_of(semantics, static_cast<int>(t)).tensor,
                   b = access_of(semantics, by.operands[t]).tensor;
    if (instruction.tensors[a.index()].dtype != instruction.tensors[b.index()].dtype) return false;
    if (a.index() < instruction.operands.size() && b.index() < instruction.operands.size() &&
        !same_operand(instruction.operands[a.index()], instruction.operands[b.index()], names)) {
      return false;
    }
  }
  return true;
}

/// The kernel with one more input: a scalar with the constant's value, read by the statement but not yet in its body.
std::shared_ptr<const Kernel> with_constant(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                            const BodyMatch& match) {
  auto extended = std::make_shared<Kernel>(kernel);
  Computation& computation = extended->statements[statement.index()];
  const auto t = std::find(match.operands.begin(), match.operands.end(), access_count(computation));
  const int operand = static_cast<int>(t - match.operands.begin());
  Tensor tensor;
  tensor.name = fmt::format("{}", *match.constant);
  tensor.dtype = hardware.tensors[access_of(hardware.statement(), operand).tensor.index()].dtype;
  extended->tensors.push_back(std::move(tensor));
  computation.reads.push_back({make_id<TensorId>(extended->tensors.size() - 1), {}});
  return extended;
}

}  // namespace

std::optional<std::int64_t> step_of(const IndexRow& row, const IntVector& column) {
  std::int64_t sum = 0;
  for (std::uint32_t left = row.dims; left != 0; left &= left - 1) {
    const auto d = static_cast<std::size_t>(std::countr_zero(left));
    if (column[d] == 0) continue;
    const auto term = row.linear ? checked_mul(row.coefficients[d], column[d]) : std::nullopt;
    const auto total = term ? checked_add(sum, *term) : std::nullopt;
    if (!total) return std::nullopt;
    sum = *total;
  }
  return sum;
}

bool is_invariant(const Alignment& alignment, int t, const IntVector& column) {
  const std::vector<IndexRow>& rows = alignment.rows[static_cast<std::size_t>(t)];
  return std::all_of(rows.begin(), rows.end(), [&](const IndexRow& row) { return step_of(row, column) == 0; });
}

std::int64_t element_step(const Alignment& alignment, int t, const IntVector& column) {
  const std::vector<IndexRow>& rows = alignment.rows[static_cast<std::size_t>(t)];
  const Tensor& tensor = alignment.kernel->tensors[alignment.access(t).tensor.index()];
  std::int64_t stride = 1, step = 0;
  for (std::size_t r = rows.size(); r-- > 0;) {
    step += step_of(rows[r], column).value_or(0) * stride;
    stride *= tensor.shape[r];
  }
  return step;
}

Alignment align(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId instruction,
                const BodyMatch& match) {
  Alignment a;
  a.statement = statement;
  a.instruction = instruction;
  a.kernel = match.constant ? with_constant(kernel, statement, hardware, match)
                            : std::shared_ptr<const Kernel>(std::shared_ptr<const Kernel>(), &kernel);
  a.hardware = &hardware;
  a.operands = match.operands;
  a.constant = match.constant;
  a.statement_uses = uses_of(a.computation(), a.operands);
  a.instruction_uses = uses_of(a.semantics(), iota(access_count(a.semantics())));
  for (int t = 0; t < a.operand_count(); ++t) {
    a.rows.emplace_back();
    for (const AffineExpr& index : a.access(t).index) a.rows.back().push_back(row_of(index, a.computation().domain));
    a.instruction_rows.emplace_back();
    for (const AffineExpr& index : a.instruction_access(t).index)
      a.instruction_rows.back().push_back(row_of(index, a.semantics().domain));
  }
  a.determined_by = determining_operands(a.semantics());
  a.projection = is_projection(a.semantics());
  return a;
}

std::vector<Alignment> alignments_of(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                     InstructionId instruction, bool with_constants) {
  const Computation& computation = kernel.statements[statement.index()];
  std::vector<Alignment> alignments;
  for (const BodyMatch& match : match_bodies(computation, hardware.statement()))
    alignments.push_back(align(kernel, statement, hardware, instruction, match));
  if (!alignments.empty()) return alignments;
  for (ExactMatch& found : match_exactly(kernel, statement, hardware)) {
    const Instruction& form = found.exact->rolled ? *found.exact->rolled : hardware;
    alignments.push_back(align(kernel, statement, form, instruction, found.match));
    alignments.back().exact = std::move(found.exact);
  }
  if (!alignments.empty() || !with_constants) return alignments;
  for (const BodyMatch& match : match_with_constant(computation, hardware.statement()))
    alignments.push_back(align(kernel, statement, hardware, instruction, match));
  return alignments;
}

Alignment alignment_of(const Kernel& kernel, const Instruction& hardware, const Mapping& mapping) {
  if (!mapping.constant) {
    for (Alignment& alignment : alignments_of(kernel, mapping.statement, hardware, mapping.instruction, false))
      if (alignment.operands == mapping.operands && alignment.instruction_uses.size() == mapping.dims.size())
        return std::move(alignment);
  }
  return align(kernel, mapping.statement, hardware, mapping.instruction, {mapping.operands, mapping.constant});
}

bool in_written_order(const std::vector<int>& operands) { return std::is_sorted(operands.begin(), operands.end()); }

std::int64_t instruction_extent(const Alignment& alignment, int m) {
  return alignment.semantics().domain.dims[static_cast<std::size_t>(m)].extent;
}

bool allows_extent(const Instruction& hardware, int m, std::int64_t extent) {
  const auto position = static_cast<std::size_t>(m);
  if (position >= hardware.ranges.size()) return extent == hardware.statement().domain.dims[position].extent;
  const DimRange& range = hardware.ranges[position];
  return extent >= range.min && extent <= range.max && extent % std::max<std::int64_t>(range.multiple_of, 1) == 0;
}

std::string in_words(const Alignment& alignment, OperandSet set) {
  std::vector<std::string> names;
  for (int t = 0; t < alignment.operand_count(); ++t) {
    if ((set >> t & 1U) != 0) names.push_back(alignment.tensor_name(t));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return names.empty() ? "no operand" : text;
}

std::vector<Automorphism> automorphisms(const Instruction& instruction) {
  const Computation& semantics = instruction.statement();
  std::vector<Automorphism> result;
  for (const BodyMatch& match : match_bodies(semantics, semantics)) {
    const std::vector<int>& operands = match.operands;
    std::vector<int> sorted = operands;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != iota(access_count(semantics)) || operands == sorted) continue;
    const auto dims = dim_renaming(semantics, operands);
    if (dims && preserves(instruction, {operands, *dims})) result.push_back({operands, *dims});
  }
  return result;
}

}  // namespace isamap
