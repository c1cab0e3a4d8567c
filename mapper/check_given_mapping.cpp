// SPDX-License-Identifier: Apache-2.0
#include "mapper/check_given_mapping.h"

#include "mapper/digits/alignment.h"
#include "mapper/legality.h"
#include "mapper/match/exact_form.h"
#include "mapper/match/instruction_tree.h"

namespace isamap {
namespace {

bool says_the_same(const Alignment& alignment, const Mapping& stated) {
  const bool rolled = alignment.exact && alignment.exact->rolled;
  return alignment.operands == stated.operands && alignment.constant == stated.constant &&
         rolled == !stated.rolled.empty() && alignment.instruction_uses.size() == stated.dims.size();
}

std::string why_no_alignment(const Kernel& kernel, const Mapping& stated, const Instruction& instruction, bool some) {
  if (some) return "with these operands the bodies differ";
  const SaturationReason lossy = why_not_exact(kernel, stated.statement, instruction);
  if (lossy) return lossy.reason.text;
  return body_mismatch(kernel.statements[stated.statement.index()], kernel.tensors, instruction).text;
}

}  // namespace

CheckedMapping check_given_mapping(const Kernel& kernel, const HardwareModel& model, const Mapping& stated,
                                   std::uint64_t rlimit) {
  const Instruction& instruction = instruction_of(stated, model);
  const std::vector<Alignment> alignments =
      alignments_of(kernel, stated.statement, instruction, stated.instruction, stated.constant.has_value());
  CheckedMapping result{std::nullopt, why_no_alignment(kernel, stated, instruction, !alignments.empty())};
  for (const Alignment& alignment : alignments) {
    if (!says_the_same(alignment, stated)) continue;
    Legality legality = legality_of(alignment, stated.dims, false, annihilators(alignment.semantics()));
    if (legality.mapping) legality.mapping->tree = stated.tree;
    if (legality.mapping && legality.mapping->proof == Proof::unknown)
      legality.mapping->proof = prove(kernel, model, *legality.mapping, rlimit).proof;
    if (legality.mapping && legality.mapping->proof == Proof::proved) return {std::move(legality.mapping), ""};
    result.refusal = legality.mapping ? "the solver found no proof within its limit" : legality.refusal;
  }
  return result;
}

}  // namespace isamap
