// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/memory_time.h"

#include <algorithm>
#include <cmath>

#include "ir/operand_use.h"

namespace isamap {
namespace {

/// Elements that an access covers: the values of each subscript over the extents.
double elements_of(const Computation& statement, const Access& access, const std::vector<std::int64_t>& extents) {
  double elements = 1;
  for (const AffineExpr& subscript : access.index) {
    std::int64_t span = 1;
    for (std::size_t d = 0; d < extents.size(); ++d)
      span += std::abs(subscript.coefficient(statement.domain.dims[d].name)) * (extents[d] - 1);
    elements *= static_cast<double>(span);
  }
  return elements;
}

void add(std::vector<MemoryUse>& uses, const Memory& memory, MemoryId id, bool write, double bytes) {
  const double rate = write ? memory.write_bandwidth : memory.read_bandwidth;
  if (rate <= 0 || bytes <= 0) return;
  const int port = write && !memory.one_port ? 1 : 0;
  for (MemoryUse& use : uses)
    if (use.memory == id && use.port == port) {
      use.cycles += bytes / rate;
      return;
    }
  uses.push_back({id, port, bytes / rate});
}

}  // namespace

std::vector<MemoryUse> memory_uses(const Instruction& command, const std::vector<std::int64_t>& extents, DType type,
                                   const HardwareModel& model) {
  std::vector<MemoryUse> uses;
  if (command.semantics.size() != 1) return uses;
  const Computation& statement = command.statement();
  for (int a = 0; a < access_count(statement); ++a) {
    const Operand& operand = operand_of(command, a);
    if (!operand.memory.valid()) continue;
    const Memory& memory = model.memory(operand.memory);
    if (memory.read_bandwidth <= 0 && memory.write_bandwidth <= 0) continue;
    const DType own = operand.dtype && !is_bits(*operand.dtype) ? *operand.dtype : type;
    const double moved = elements_of(statement, access_of(statement, a), extents) * bytes(own);
    if (a == 0) add(uses, memory, operand.memory, true, moved);
    if (a > 0 || statement.reduction != Reduction::assign) add(uses, memory, operand.memory, false, moved);
  }
  return uses;
}

double transfer_cycles(const std::vector<MemoryUse>& uses, const Instruction& command, double moved,
                       const HardwareModel& model) {
  double cycles = 0;
  for (const MemoryUse& use : uses) cycles = std::max(cycles, use.cycles);
  if (command.link.valid())
    if (const double rate = model.link(command.link).bandwidth; rate > 0) cycles = std::max(cycles, moved / rate);
  return std::ceil(cycles);
}

std::vector<MemoryUse> held_ports(std::vector<MemoryUse> uses, const Instruction& command) {
  return command.link.valid() ? std::move(uses) : std::vector<MemoryUse>();
}

double link_latency(const Instruction& command, const HardwareModel& model) {
  return command.link.valid() && !command.timing.latency ? model.link(command.link).latency : 0;
}

}  // namespace isamap
