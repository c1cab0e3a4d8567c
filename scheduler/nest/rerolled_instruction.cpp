// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/rerolled_instruction.h"

#include <algorithm>

#include "mapper/match/reroll_sum.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// The access of the form to the tensor of this access of the described instruction.
std::size_t access_in_form(const Instruction& form, const Access& written) {
  const auto& reads = form.statement().reads;
  const auto at =
      std::find_if(reads.begin(), reads.end(), [&](const Access& read) { return read.tensor == written.tensor; });
  return static_cast<std::size_t>(at - reads.begin()) + 1;
}

/// The term of the sum that has this access: the value of the last dim at which the form's subscripts equal its own.
std::int64_t term_of(const Instruction& form, const Access& written) {
  const Access& own = access_of(form.statement(), static_cast<int>(access_in_form(form, written)));
  const Dim& sum = form.statement().domain.dims.back();
  for (std::int64_t t = 0; t < sum.extent; ++t) {
    std::vector<AffineExpr> index;
    for (const AffineExpr& e : own.index) index.push_back(substitute(e, {{sum.name, AffineExpr(t)}}));
    if (index == written.index) return t;
  }
  return -1;
}

}  // namespace

InstructionForm written_form(const HardwareModel& model, InstructionId instruction) {
  return {std::shared_ptr<void>{}, &model.instruction(instruction)};  // owned by the model
}

InstructionForm summed_form(const HardwareModel& model, InstructionId instruction) {
  const Instruction& written = model.instruction(instruction);
  const auto expansion =
      expand(written.statement().body, std::vector<Interval>(written.statement().reads.size(), Interval{0, 0}));
  const auto rolled = expansion ? reroll_sum(written, expansion->polynomial, Axes::kept) : std::nullopt;
  if (!rolled || rolled->overwrites) return nullptr;
  const std::string& sum = rolled->instruction->statement().domain.dims.back().name;
  for (const Access& read : rolled->instruction->statement().reads)
    for (const AffineExpr& e : read.index)
      if (e.names().contains(sum) && e != AffineExpr::dim(sum)) return nullptr;
  std::vector<bool> seen(written.tensors.size(), false);
  for (const Access& read : written.statement().reads) {
    const std::int64_t term = term_of(*rolled->instruction, read);
    if (term < 0 || (!seen[read.tensor.index()] && term != 0)) return nullptr;  // the address is that of the first read
    seen[read.tensor.index()] = true;
  }
  return rolled->instruction;
}

InstructionForm instruction_form(const Mapping& mapping, const HardwareModel& model) {
  if (!mapping.tree.empty()) return mapping.tree.form;
  return mapping.rolled.empty() ? written_form(model, mapping.instruction) : summed_form(model, mapping.instruction);
}

namespace {

/// Tile of a dim at the `do` line.
std::int64_t innermost_tile(const Nest& nest, const Dim& dim) {
  std::int64_t tile = dim.extent;
  for (const Line& line : nest.lines)
    if (const auto* f = std::get_if<For>(&line.is))
      for (const TiledLoop& loop : f->loops)
        if (loop.dim == dim.name) tile = f->tail == Tail::pad ? loop.tile : std::min(tile, loop.tile);
  return tile;
}

void fix_extent(Instruction& instruction, std::size_t dim, std::int64_t extent) {
  DimRange& range = instruction.ranges[dim];
  range.min = range.max = range.multiple_of = extent;
  Dim& own = instruction.semantics.back().domain.dims[dim];
  own.extent = extent;
  for (Operand& operand : instruction.operands) {
    auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
    if (fragment == nullptr) continue;
    std::erase_if(fragment->varying, [&](const auto& entry) {
      const auto value = evaluate(entry.second, [&](const Reference& r) {
        return r.object == "extent" && r.argument == own.name ? std::optional(extent) : std::nullopt;
      });
      for (auto& [unit, count] : fragment->over)
        if (value && unit == entry.first) count = *value;
      return value.has_value();
    });
  }
}

}  // namespace

FixedExtents compile_time_extents(const Nest& nest, const InstructionForm& form, const Mapping& mapping,
                                  const Computation& fused) {
  FixedExtents extents;
  for (std::size_t m = 0; form && m < form->ranges.size() && m < mapping.dims.size(); ++m) {
    const DimRange& range = form->ranges[m];
    if (!range.known_at_compile_time || range.fixed() || mapping.dims[m].empty()) continue;
    const int dim = fused.domain.find(fused_name(mapping.dims[m]));
    if (dim < 0) continue;
    const std::int64_t tile = innermost_tile(nest, fused.domain.dims[static_cast<std::size_t>(dim)]);
    extents.emplace_back(m, std::clamp(round_up(tile, range.multiple_of), range.min, range.max));
  }
  return extents;
}

InstructionForm with_extents(const InstructionForm& form, const FixedExtents& extents) {
  if (extents.empty()) return form;
  auto fixed = std::make_shared<Instruction>(*form);
  for (const auto& [dim, extent] : extents) fix_extent(*fixed, dim, extent);
  return fixed;
}

InstructionForm form_in(const Nest& nest, const Mapping& mapping, const Computation& fused,
                        const HardwareModel& model) {
  if (!mapping.instruction.valid()) return nullptr;
  const InstructionForm form = instruction_form(mapping, model);
  return with_extents(form, compile_time_extents(nest, form, mapping, fused));
}

std::vector<Ref> written_refs(const Instruction& form, const Instruction& written, const std::vector<Ref>& refs) {
  const std::string sum = "$" + form.statement().domain.dims.back().name;
  std::vector<Ref> result{refs[0]};
  for (const Access& read : written.statement().reads) {
    Ref ref = refs[access_in_form(form, read)];
    for (AffineExpr& e : ref.index) e = substitute(e, {{sum, AffineExpr(term_of(form, read))}});
    result.push_back(std::move(ref));
  }
  return result;
}

InstructionForm rerolled_form(const HardwareModel& model, InstructionId id) {
  const auto& reads = model.instruction(id).statement().reads;
  for (std::size_t a = 0; a < reads.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (reads[a].tensor == reads[b].tensor)
        if (InstructionForm summed = summed_form(model, id)) return summed;
  return written_form(model, id);
}

}  // namespace isamap
