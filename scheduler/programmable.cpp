// SPDX-License-Identifier: Apache-2.0
// Which of the mappings that cover a statement can be programmed.
//
// The mapper lists one distribution of a mapping's digits over the dims of a slot, the last digit cut into a chain
// (kind `split`); lowering runs over whole dims and takes any other distribution of the same digits. So a mapping with
// a cut digit can be programmed where one with whole digits lowers: k on both reduction dims of 16 x 1 is k on the
// first.

#include "isamap/scheduler.h"
#include "mapper/foreign_mapping.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/space/digit_assignments.h"

namespace isamap {

namespace {

/// May another distribution of the digits lower? Not where a column combines dims, is tied or where the reason is none
/// of the digits': these stay in all of them.
bool only_cut(const Mapping& mapping) {
  const auto is = [&](Kind kind) { return mapping.kinds.count(kind) > 0; };
  return is(Kind::split) && !is(Kind::skew) && !is(Kind::block_diagonal) && !is(Kind::partial);
}

}  // namespace

std::vector<Mapping> programmable_forms(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  check_own(mapping, kernel, model);
  if (not_lowered(mapping, model).empty()) return {mapping};
  if (!only_cut(mapping)) return {};
  const Computation& statement = kernel.statements[mapping.statement.index()];
  std::vector<Mapping> forms = digit_assignments(mapping, statement, instruction_of(mapping, model));
  std::erase_if(forms, [&](const Mapping& form) { return !not_lowered(form, model).empty(); });
  return forms;
}

std::string not_programmable(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  return programmable_forms(mapping, kernel, model).empty() ? not_lowered(mapping, model) : "";
}

MappingCount count_mappings(const std::vector<Mapping>& mappings, const Kernel& kernel, const HardwareModel& model) {
  MappingCount count;
  for (const Mapping& mapping : mappings) {
    ++count.covering;
    count.programmable += not_programmable(mapping, kernel, model).empty() ? 1 : 0;
  }
  return count;
}

}  // namespace isamap
