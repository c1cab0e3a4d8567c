// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/timing_choice.h"

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "hwdesc/model/program_language.h"

namespace isamap {

namespace {

const Instruction* timed_move(const HardwareModel& model) {
  const auto found = std::find_if(model.instructions().begin(), model.instructions().end(),
                                  [](const Instruction& i) { return is_move(i) && i.timing.interval; });
  return found == model.instructions().end() ? nullptr : &*found;
}

}  // namespace

std::string_view name(TimingModel model) {
  switch (model) {
    case TimingModel::overlapped:
      return "overlapped";
    case TimingModel::issued_moves:
      return "issued moves";
    case TimingModel::thread_blocks:
      return "thread blocks";
    case TimingModel::parallel_scalar:
      return "parallel scalar code";
    case TimingModel::command_stream:
      break;
  }
  return "command stream";
}

bool issues_moves(const HardwareModel& model) { return timed_move(model) != nullptr; }

bool executes_a_stream(const HardwareModel& model) { return is_command_stream(model) && issues_moves(model); }

std::optional<UnitId> block_of(const HardwareModel& model, const Instruction* calls) {
  const std::optional<UnitId> unit = calls != nullptr ? calls->unit : model.scalar_unit_for(model.home());
  const auto block = unit ? outermost_numbered(model, *unit) : std::nullopt;
  return block && *block != *unit && model.unit(*block).queued ? block : std::nullopt;
}

TimingModel timing_model(const HardwareModel& model, const Instruction* calls) {
  if (calls != nullptr && executes_a_stream(model)) return TimingModel::command_stream;
  if (block_of(model, calls)) return calls != nullptr ? TimingModel::thread_blocks : TimingModel::parallel_scalar;
  return issues_moves(model) ? TimingModel::issued_moves : TimingModel::overlapped;
}

std::string timing_reason(const HardwareModel& model, const Instruction* calls) {
  const Instruction* move = timed_move(model);
  switch (timing_model(model, calls)) {
    case TimingModel::command_stream:
      return "programs are one stream of commands, and " + move->name + " has an interval";
    case TimingModel::thread_blocks:
    case TimingModel::parallel_scalar: {
      const Unit& block = model.unit(*block_of(model, calls));
      const std::string around = block.parent.valid() ? model.unit(block.parent).name : "the machine";
      return "instances of " + block.name + " are queued on " + around;
    }
    case TimingModel::issued_moves:
      return "moves take issue slots: " + move->name + " has an interval";
    case TimingModel::overlapped:
      break;
  }
  return "no move has an interval";
}

}  // namespace isamap
