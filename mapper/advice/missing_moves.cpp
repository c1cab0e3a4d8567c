// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/missing_moves.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

/// Does an operand hold values of this type, as they are or as the same bits?
bool takes(const Operand& operand, DType type) {
  return !operand.dtype || *operand.dtype == type || same_ring(*operand.dtype, type) || is_bits(*operand.dtype);
}

DType type_of(const Instruction& instruction, std::size_t operand) {
  return instruction.operands[operand].dtype.value_or(instruction.tensors[operand].dtype);
}

/// Which memories data of the home memory reach, and from which results come back: by moves, by results of other
/// instructions, and by scalar code.
class Ways {
 public:
  explicit Ways(const HardwareModel& model) : model_(model) {
    for (const Memory& memory : model.memories())
      filled_.push_back(memory.kind == MemoryKind::dram || scalar_reaches(memory));
    emptied_ = filled_;
    for (std::size_t round = 0; round < filled_.size(); ++round)
      for (const Instruction& step : model.instructions()) spread(step);
  }

  /// Of values of this type; the type on the way there may be another.
  bool lead_to(MemoryId memory, DType type) const {
    return at_scalar(memory) || any([&](const Instruction& step) {
             return step.operands[0].memory == memory && takes(step.operands[0], type) && !fill_value(step) &&
                    (!is_move(step) || filled_[step.operands[1].memory.index()]);
           });
  }
  bool lead_from(MemoryId memory, DType type) const {
    return at_scalar(memory) || any([&](const Instruction& step) {
             for (std::size_t o = 1; o < step.operands.size(); ++o)
               if (step.operands[o].memory == memory && takes(step.operands[o], type) &&
                   (!is_move(step) || emptied_[step.operands[0].memory.index()]))
                 return true;
             return false;
           });
  }

 private:
  void spread(const Instruction& step) {
    if (step.operands.size() < 2 || fill_value(step) || !step.operands[0].memory.valid()) return;
    const auto to = step.operands[0].memory.index();
    bool all = true;
    for (std::size_t o = 1; o < step.operands.size(); ++o) {
      if (!step.operands[o].memory.valid()) continue;
      const auto from = step.operands[o].memory.index();
      all = all && filled_[from];
      if (emptied_[to]) emptied_[from] = true;
    }
    if (all) filled_[to] = true;
  }

  bool at_scalar(MemoryId memory) const {
    return model_.memory(memory).kind == MemoryKind::dram || scalar_reaches(model_.memory(memory));
  }
  bool scalar_reaches(const Memory& memory) const {
    if (memory.is_register() || memory.kind == MemoryKind::cache) return false;
    for (const Unit& unit : model_.units())
      for (const Unit* at = &unit; unit.scalar; at = &model_.unit(at->parent)) {
        if (at == &model_.unit(memory.per)) return true;
        if (!at->parent.valid()) break;
      }
    return false;
  }

  template <class Test>
  bool any(Test test) const {
    return std::any_of(model_.instructions().begin(), model_.instructions().end(),
                       [&](const Instruction& step) { return step.operands.size() > 1 && test(step); });
  }

  const HardwareModel& model_;
  std::vector<bool> filled_, emptied_;
};

/// What a move transfers: "mvin_bias, which takes s32 from dram to acc".
std::string text_of(const Instruction& move, const HardwareModel& model) {
  const auto& from = move.operands[1];
  return fmt::format("{}, which takes {} from {} to {}", move.name, from.dtype ? name(*from.dtype) : "any type",
                     model.memory(from.memory).name, model.memory(move.operands[0].memory).name);
}

/// Of the moves the one that shares most with what is missing: the memory, then the type. `side`: 0 into it, 1 out.
std::string nearest(const HardwareModel& model, MemoryId memory, DType type, std::size_t side) {
  const Instruction* best = nullptr;
  int most = -1;
  for (const InstructionId id : model.moves()) {
    const Instruction& move = model.instruction(id);
    if (move.operands.size() < 2 || !move.operands[0].memory.valid() || !move.operands[1].memory.valid()) continue;
    const int shared = (move.operands[side].memory == memory ? 2 : 0) + (takes(move.operands[side], type) ? 1 : 0);
    if (shared > most) most = shared, best = &move;
  }
  return best == nullptr ? model.name + " has no moves" : "nearest is " + text_of(*best, model);
}

std::vector<std::string> missing(const Instruction& instruction, const HardwareModel& model, const Ways& ways) {
  std::vector<std::string> found;
  for (std::size_t o = 0; o < instruction.operands.size(); ++o) {
    const Operand& operand = instruction.operands[o];
    if (!operand.memory.valid()) continue;
    const DType type = type_of(instruction, o);
    if (o == 0 ? ways.lead_from(operand.memory, type) : ways.lead_to(operand.memory, type)) continue;
    const std::string& memory = model.memory(operand.memory).name;
    found.push_back(fmt::format("no way {} operand {} of {}: nothing takes {} {} {}; {}", o == 0 ? "from" : "to",
                                instruction.tensors[o].name, instruction.name, name(type), o == 0 ? "out of" : "to",
                                memory, nearest(model, operand.memory, type, o == 0 ? 1 : 0)));
  }
  return found;
}

}  // namespace

std::vector<std::string> missing_moves(const Instruction& instruction, const HardwareModel& model) {
  return missing(instruction, model, Ways(model));
}

std::vector<std::string> missing_moves(const std::set<InstructionId>& instructions, const HardwareModel& model) {
  const Ways ways(model);
  std::vector<std::string> found;
  for (const InstructionId id : instructions)
    for (std::string& one : missing(model.instruction(id), model, ways)) found.push_back(std::move(one));
  return found;
}

std::vector<std::string> missing_moves(const std::vector<Mapping>& mappings, const HardwareModel& model) {
  std::set<InstructionId> instructions;
  for (const Mapping& mapping : mappings)
    if (mapping.instruction.valid()) instructions.insert(mapping.instruction);
  return missing_moves(instructions, model);
}

}  // namespace isamap
