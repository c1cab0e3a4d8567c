// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "mapper/advice/repair_proposals.h"
#include "mapper/digits/alignment.h"

namespace isamap {
namespace {

Computation& semantics_of(Repair& trial) { return trial.instruction.semantics.back(); }

DType type_in(const std::vector<Tensor>& tensors, const Access& access) { return tensors[access.tensor.index()].dtype; }

/// Gives the instruction the statement's body and types; operands[t] is the statement's access on access t.
Repair with_body_of(const Repair& from, const std::vector<int>& operands) {
  Repair trial = from;
  Computation& semantics = semantics_of(trial);
  const Computation& statement = statement_of(from);
  std::vector<int> to(statement.reads.size() + 1, 0);
  for (std::size_t t = 0; t < operands.size(); ++t) {
    const Access& access = access_of(semantics, static_cast<int>(t));
    const DType type = type_in(from.kernel.tensors, access_of(statement, operands[t]));
    trial.instruction.tensors[access.tensor.index()].dtype = type;
    if (access.tensor.index() < trial.instruction.operands.size())
      trial.instruction.operands[access.tensor.index()].dtype = type;
    to[static_cast<std::size_t>(operands[t])] = static_cast<int>(t);
  }
  semantics.body = statement.body;
  semantics.reduction = statement.reduction;
  renumber_reads(semantics.body, to);
  return trial;
}

std::string types_text(const Instruction& instruction) {
  const Computation& c = instruction.statement();
  return types_of_reads(c, instruction.tensors) + " into " + std::string(name(type_in(instruction.tensors, c.write)));
}

std::vector<std::string> printed_names(const Instruction& instruction) {
  std::vector<std::string> names;
  for (const Access& read : instruction.statement().reads)
    names.push_back(instruction.tensors[read.tensor.index()].name);
  return names;
}

void add_types_of_statement(const Repair& from, std::vector<Repair>& to) {
  if (!match_bodies(statement_of(from), from.instruction.statement()).empty()) return;
  for (const BodyMatch& match : match_shapes(statement_of(from), from.instruction.statement())) {
    Repair trial = with_body_of(from, match.operands);
    const std::string before = types_text(from.instruction), after = types_text(trial.instruction);
    trial.text = before == after ? fmt::format("a variant that computes {} exactly",
                                               print(semantics_of(trial).body, printed_names(trial.instruction)))
                                 : fmt::format("a variant that takes {}", after);
    to.push_back(std::move(trial));
  }
}

/// A sum that may saturate, without the saturation.
void add_exact(const Repair& from, std::vector<Repair>& to) {
  if (!why_not_exact(from.kernel, from.statement, from.instruction)) return;
  Repair trial = from;
  const std::function<ScalarExpr(ScalarExpr, DType)> typed = [&](ScalarExpr e, DType type) -> ScalarExpr {
    if (std::holds_alternative<Cast>(e.op)) return typed(e.args[0], type);
    if (std::holds_alternative<Read>(e.op)) return e.type == type ? e : cast(type, std::move(e));
    for (ScalarExpr& arg : e.args) arg = typed(std::move(arg), type);
    e.type = type;
    return e;
  };
  const DType result = semantics_of(trial).body.type;
  semantics_of(trial).body = typed(semantics_of(trial).body, result);
  trial.text = fmt::format("a variant that adds up exactly in {}", name(result));
  to.push_back(std::move(trial));
}

/// Sets the type of tensor's reads, where each is widened right away.
bool retype(ScalarExpr& e, const Computation& semantics, TensorId tensor, DType type, bool widened = false) {
  if (const auto* r = std::get_if<Read>(&e.op)) {
    if (semantics.reads[static_cast<std::size_t>(r->access)].tensor != tensor) return true;
    e.type = type;
    return widened;
  }
  const bool casts = std::holds_alternative<Cast>(e.op);
  for (ScalarExpr& arg : e.args)
    if (!retype(arg, semantics, tensor, type, casts && bits(e.type) > bits(type))) return false;
  return true;
}

/// An operand of the other signedness.
void add_signs(const Repair& from, std::vector<Repair>& to) {
  const Computation& semantics = from.instruction.statement();
  for (std::size_t t = 0; t < from.instruction.tensors.size(); ++t) {
    const DType type = from.instruction.tensors[t].dtype;
    if (make_id<TensorId>(t) == semantics.write.tensor || (type != DType::u8 && type != DType::s8)) continue;
    Repair trial = from;
    const DType other = type == DType::u8 ? DType::s8 : DType::u8;
    trial.instruction.tensors[t].dtype = other;
    if (t < trial.instruction.operands.size()) trial.instruction.operands[t].dtype = other;
    if (!retype(semantics_of(trial).body, semantics, make_id<TensorId>(t), other)) continue;
    trial.text = fmt::format("a variant whose {} is {}", trial.instruction.tensors[t].name, name(other));
    to.push_back(std::move(trial));
  }
}

/// Moves, and instructions with a scalar parameter of the command (a scale), are no arithmetic units to change.
bool has_purpose_of_its_own(const Instruction& instruction) {
  return instruction.link.valid() ||
         std::any_of(instruction.operands.begin(), instruction.operands.end(),
                     [](const Operand& o) { return !o.state.empty() || !o.immediate.empty(); });
}

/// The same operands and dims, another operation.
void add_operation(const Repair& from, std::vector<Repair>& to) {
  const Computation &statement = statement_of(from), &semantics = from.instruction.statement();
  if (statement.reads.size() != semantics.reads.size() || has_purpose_of_its_own(from.instruction)) return;
  std::vector<int> operands;
  for (int t = 0; t < access_count(semantics); ++t) operands.push_back(t);
  Repair trial = with_body_of(from, operands);
  trial.text =
      fmt::format("a variant that computes {} {} {}", trial.instruction.tensors[semantics.write.tensor.index()].name,
                  symbol(statement.reduction), print(semantics_of(trial).body, printed_names(trial.instruction)));
  to.push_back(std::move(trial));
}

/// Changes the operands of dim m to those of a dim of the statement.
void add_uses(const Repair& from, const Alignment& alignment, std::size_t m, OperandSet uses_of_dim,
              std::vector<Repair>& to) {
  Repair trial = from;
  Computation& semantics = semantics_of(trial);
  const std::string dim = semantics.domain.dims[m].name;
  std::vector<std::string> more, less;
  for (int t = 0; t < alignment.operand_count(); ++t) {
    Access& access = access_at(semantics, t);
    const std::string& tensor = trial.instruction.tensors[access.tensor.index()].name;
    // By the difference of the sets: GCC 12 at -O2 (-ftree-vrp) gets "has == needs" of two tested bits wrong here.
    if (((uses_of_dim ^ alignment.instruction_uses[m]) >> t & 1U) == 0) continue;
    const bool needs = (uses_of_dim >> t & 1U) != 0;
    (needs ? more : less).push_back(tensor);
    if (needs)
      access.index.push_back(AffineExpr::dim(dim));
    else
      std::erase_if(access.index, [&](const AffineExpr& e) { return e.as_dim() == dim; });
  }
  semantics.domain.dims[m].kind = (uses_of_dim & 1U) != 0 ? DimKind::parallel : DimKind::reduction;
  const std::string has = more.empty()
                              ? ""
                              : fmt::format("{} {} {} too", listed(more), more.size() > 1 ? "have" : "has", dim),
                    lacks = less.empty()
                                ? ""
                                : fmt::format("{} {} not {}", listed(less), less.size() > 1 ? "have" : "has", dim);
  trial.text = fmt::format("a variant where {}", has.empty() ? lacks : lacks.empty() ? has : has + " and " + lacks);
  to.push_back(std::move(trial));
}

void add_all_uses(const Repair& from, std::vector<Repair>& to) {
  struct Step {
    int distance;
    std::size_t m;
    OperandSet uses_of_dim;
    bool operator<(const Step& other) const { return distance < other.distance; }
  };
  const std::vector<Alignment> alignments =
      alignments_of(from.kernel, from.statement, from.instruction, from.id, false);
  for (const Alignment& alignment : alignments) {
    if (alignment.exact && alignment.exact->rolled) continue;
    std::vector<Step> steps;
    for (std::size_t m = 0; m < alignment.instruction_uses.size(); ++m) {
      for (const OperandSet uses_of_dim : alignment.statement_uses) {
        const int distance = std::popcount(uses_of_dim ^ alignment.instruction_uses[m]);
        const bool known = std::any_of(steps.begin(), steps.end(),
                                       [&](const Step& s) { return s.m == m && s.uses_of_dim == uses_of_dim; });
        if (distance > 0 && !known) steps.push_back({distance, m, uses_of_dim});
      }
    }
    std::stable_sort(steps.begin(), steps.end());
    for (const Step& step : steps) {
      add_uses(from, alignment, step.m, step.uses_of_dim, to);
      to.back().last_resort = step.distance > 1;
    }
  }
}

/// An instruction that assigns a sum, changed to accumulate.
void add_accumulation(const Repair& from, std::vector<Repair>& to) {
  const Computation& semantics = from.instruction.statement();
  if (semantics.reduction != Reduction::assign || statement_of(from).reduction != Reduction::add) return;
  Repair trial = from;
  semantics_of(trial).reduction = Reduction::add;
  if (alignments_of(trial.kernel, trial.statement, trial.instruction, trial.id, false).empty()) return;
  trial.text = fmt::format("a variant that adds to {}", trial.instruction.tensors[semantics.write.tensor.index()].name);
  to.push_back(std::move(trial));
}

void set_extent(Repair& trial, std::size_t m, std::int64_t least, std::int64_t most) {
  semantics_of(trial).domain.dims[m].extent = most;
  if (m < trial.instruction.ranges.size()) trial.instruction.ranges[m] = {least, most, 1, false, {}};
}

void add_extents(const Repair& from, std::vector<Repair>& to) {
  const std::vector<Dim> dims = from.instruction.statement().domain.dims;
  for (std::size_t m = 0; m < dims.size(); ++m) {
    const bool fixed = m >= from.instruction.ranges.size() || from.instruction.ranges[m].min == dims[m].extent;
    if (fixed && dims[m].extent > 1) {
      Repair shorter = from;
      set_extent(shorter, m, 1, dims[m].extent);
      shorter.text = fmt::format("a variant in which {} can run shorter than {} (a mask or a length)", dims[m].name,
                                 dims[m].extent);
      to.push_back(std::move(shorter));
    }
  }
  for (std::size_t m = 0; m < dims.size(); ++m) {
    if (dims[m].extent < 2) continue;
    Repair one = from;
    set_extent(one, m, 1, 1);
    one.text = fmt::format("a variant with {} = 1", dims[m].name);
    to.push_back(std::move(one));
  }
}

}  // namespace

std::vector<Repair> hardware_value_changes(const Repair& from) {
  std::vector<Repair> trials;
  add_exact(from, trials);
  add_types_of_statement(from, trials);
  add_accumulation(from, trials);
  if (trials.empty()) add_operation(from, trials);
  if (match_shapes(statement_of(from), from.instruction.statement()).empty()) add_signs(from, trials);
  return trials;
}

std::vector<Repair> hardware_dim_changes(const Repair& from) {
  std::vector<Repair> trials;
  add_extents(from, trials);
  add_all_uses(from, trials);
  return trials;
}

}  // namespace isamap
