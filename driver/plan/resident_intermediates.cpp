// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/resident_intermediates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/matched_dims.h"

namespace isamap {
namespace {

using Memories = std::set<MemoryId>;

Memories operands_of(const HardwareModel& machine, DType type, bool results) {
  Memories found;
  for (const Instruction& one : machine.instructions()) {
    if (one.semantics.empty() || is_move(one) || one.statement().reads.empty()) continue;
    if (!results && one.statement().reduction != Reduction::add) continue;
    for (int access = results ? 0 : 1; access < (results ? 1 : access_count(one.statement())); ++access) {
      const Operand& operand = one.operands[operand_of_access(one, access).index()];
      if (operand.dtype == type && operand.memory.valid() && operand.memory != machine.home())
        found.insert(operand.memory);
    }
  }
  return found;
}

/// Where moves lead from these memories without going outside.
Memories reached_inside(const HardwareModel& machine, DType type, Memories from) {
  for (bool more = true; more;) {
    more = false;
    for (const Instruction& move : machine.instructions())
      if (is_move(move) && move.operands.size() > 1 && move.operands[0].dtype == type &&
          move.operands[0].memory != machine.home() && from.contains(move.operands[1].memory))
        more = from.insert(move.operands[0].memory).second || more;
  }
  return from;
}

std::string names_of(const Memories& memories, const HardwareModel& machine) {
  std::vector<std::string> names;
  for (const MemoryId id : memories) names.push_back(machine.memory(id).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Why no sum among the readers takes each element from where it was written.
std::string read_otherwise(const Kernel& kernel, TensorId tensor, const std::vector<std::size_t>& readers) {
  const std::string& name = kernel.tensors[tensor.index()].name;
  std::string why = fmt::format("no sum reads {}", name);
  for (const Computation& writer : kernel.statements) {
    if (writer.write.tensor != tensor) continue;
    for (const std::size_t r : readers)
      for (const Access& read : kernel.statements[r].reads) {
        if (read.tensor != tensor || kernel.statements[r].reduction != Reduction::add) continue;
        if (!read.outside && !read.computed && matched_dims(writer.write, read)) return "";
        why = fmt::format("{} reads {} at other indices than plain dims", kernel.statements[r].name, name);
      }
  }
  return why;
}

std::int64_t bytes_held(const Program& program, const std::string& tensor, MemoryId memory) {
  std::int64_t most = 0;
  for (const Buffer& buffer : program.buffers)
    if (buffer.memory == memory && buffer.slots < 0 && buffer.tensor.valid() &&
        program.kernel.tensors[buffer.tensor.index()].name == tensor)
      most = std::max(most, element_span(buffer) * bytes(buffer.dtype));
  return most;
}

}  // namespace

std::vector<ResidentTensor> resident_intermediates(const Compilation& part, const Kernel& kernel,
                                                   const HardwareModel& machine) {
  std::vector<ResidentTensor> kept;
  if (!part.program || !part.scheduled) return kept;
  const Kernel& own = part.program->kernel;
  const Schedule& schedule = part.scheduled->schedule;
  for (std::size_t s = 0; s < schedule.nests.size() && s < own.statements.size(); ++s)
    for (const Line& line : schedule.nests[s].lines) {
      const auto* stage = std::get_if<Stage>(&line.is);
      if (stage == nullptr || is_stored(own, make_id<StatementId>(s), *stage)) continue;
      const auto memory = machine.find_memory(stage->memory);
      if (!memory || *memory == machine.home()) continue;
      const std::size_t t = own.statements[s].write.tensor.index();
      const std::string& name = t < kernel.tensors.size() ? kernel.tensors[t].name : stage->tensor;
      kept.push_back({name, stage->memory, bytes_held(*part.program, stage->tensor, *memory)});
    }
  return kept;
}

std::string why_not_kept(const Kernel& kernel, TensorId written, const std::vector<std::size_t>& readers,
                         const HardwareModel& machine) {
  const Tensor& tensor = kernel.tensors[written.index()];
  if (const std::string why = read_otherwise(kernel, written, readers); !why.empty()) return why;
  const Memories made = operands_of(machine, tensor.dtype, true), used = operands_of(machine, tensor.dtype, false);
  const std::string type(name(tensor.dtype));
  if (made.empty())
    return fmt::format("{} of {}: no instruction leaves {} inside of the machine", tensor.name, type, type);
  if (used.empty()) return "";
  Memories both;
  for (const MemoryId id : reached_inside(machine, tensor.dtype, made))
    if (used.contains(id)) both.insert(id);
  if (both.empty())
    return fmt::format(
        "results of {} are in {}, operands in {}, and no move leads from one to the other: {} is stored "
        "and loaded again",
        type, names_of(made, machine), names_of(used, machine), tensor.name);
  const std::int64_t size = byte_count(tensor);
  for (const MemoryId id : both)
    if (machine.memory(id).is_register() || machine.memory(id).capacity >= size) return "";
  return fmt::format("{} takes {} bytes, and {} holds {}", tensor.name, size, machine.memory(*both.begin()).name,
                     machine.memory(*both.begin()).capacity);
}

}  // namespace isamap
