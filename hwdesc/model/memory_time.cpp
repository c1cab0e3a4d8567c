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

void add(std::vector<SharedPortUse>& uses, int port, double cycles) {
  for (SharedPortUse& use : uses)
    if (use.port == port) {
      use.cycles += cycles;
      return;
    }
  uses.push_back({port, cycles});
}

// Two numbers for each memory, then one for each link: that of the first link with its `port`.

int port_of(MemoryId id, const Memory& memory, bool write) {
  return 2 * static_cast<int>(id.index()) + (write && !memory.one_port ? 1 : 0);
}

int port_of(const Link& link, const HardwareModel& model) {
  const auto first = std::find_if(model.links().begin(), model.links().end(),
                                  [&](const Link& other) { return other.port == link.port; });
  return static_cast<int>(2 * model.memories().size()) + static_cast<int>(first - model.links().begin());
}

void add(std::vector<SharedPortUse>& uses, MemoryId id, bool write, double bytes, const HardwareModel& model) {
  const Memory& memory = model.memory(id);
  const double rate = write ? memory.write_bandwidth : memory.read_bandwidth;
  if (rate > 0 && bytes > 0) add(uses, port_of(id, memory, write), bytes / rate);
}

}  // namespace

std::vector<SharedPortUse> shared_port_uses(const Instruction& command, const std::vector<std::int64_t>& extents,
                                            DType type, const HardwareModel& model) {
  std::vector<SharedPortUse> uses;
  if (command.semantics.size() != 1) return uses;
  const Computation& statement = command.statement();
  for (int a = 0; a < access_count(statement); ++a) {
    const Operand& operand = operand_of(command, a);
    if (!operand.memory.valid()) continue;
    const Memory& memory = model.memory(operand.memory);
    if (memory.read_bandwidth <= 0 && memory.write_bandwidth <= 0) continue;
    const DType own = operand.dtype && !is_bits(*operand.dtype) ? *operand.dtype : type;
    const double moved = elements_of(statement, access_of(statement, a), extents) * bytes(own);
    if (a == 0) add(uses, operand.memory, true, moved, model);
    if (a > 0 || statement.reduction != Reduction::assign) add(uses, operand.memory, false, moved, model);
  }
  if (!command.link.valid()) return uses;
  const Link& link = model.link(command.link);
  if (link.port.empty() || link.bandwidth <= 0) return uses;
  add(uses, port_of(link, model), carried_bytes(command, extents, type) / link.bandwidth);
  return uses;
}

double carried_bytes(const Instruction& command, const std::vector<std::int64_t>& extents, DType type) {
  if (!command.link.valid()) return 0;
  if (command.semantics.size() == 1) {
    const auto own = operand_of(command, 0).dtype;
    return elements_of(command.statement(), access_of(command.statement(), 0), extents) *
           bytes(own && !is_bits(*own) ? *own : type);
  }
  double carried = bytes(type);
  for (const std::int64_t extent : extents) carried *= static_cast<double>(extent);
  return carried;
}

std::string_view owner_of_shared_port(int port, const HardwareModel& model) {
  const auto number = static_cast<std::size_t>(port), memories = model.memories().size();
  return number < 2 * memories ? model.memories()[number / 2].name : model.links()[number - 2 * memories].port;
}

std::string shared_port_name(int port, const HardwareModel& model) {
  const std::string owner(owner_of_shared_port(port, model));
  if (static_cast<std::size_t>(port) >= 2 * model.memories().size()) return "port " + owner + " of links";
  return owner + (port % 2 == 0 ? " of reads" : " of writes");
}

double transfer_cycles(const std::vector<SharedPortUse>& uses, const Instruction& command, double moved,
                       const HardwareModel& model) {
  double cycles = 0;
  for (const SharedPortUse& use : uses) cycles = std::max(cycles, use.cycles);
  if (command.link.valid())
    if (const double rate = model.link(command.link).bandwidth; rate > 0) cycles = std::max(cycles, moved / rate);
  return std::ceil(cycles);
}

std::vector<SharedPortUse> held_ports(std::vector<SharedPortUse> uses, const Instruction& command) {
  return command.link.valid() ? std::move(uses) : std::vector<SharedPortUse>();
}

double link_latency(const Instruction& command, const HardwareModel& model) {
  return command.link.valid() && !command.timing.latency ? model.link(command.link).latency : 0;
}

double result_latency(double interval, double latency, const Instruction& command, const HardwareModel& model) {
  return std::max(interval + link_latency(command, model), latency);
}

}  // namespace isamap
