// SPDX-License-Identifier: Apache-2.0
#include "driver/overwritten_in_place.h"

#include "backends/model_runner.h"
#include "planner/in_place.h"
#include "program/overwriting.h"

namespace isamap {
namespace {

/// The part that writes a tensor; it is one.
std::size_t writer_of(const Kernel& kernel, const std::vector<Part>& parts, TensorId id) {
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const std::size_t s : parts[p].statements)
      if (kernel.statements[s].write.tensor == id) return p;
  return parts.size();
}

/// The argument of this name; invalid: there is none.
BufferId argument_named(const Program& program, const Kernel& kernel, const std::string& name) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.role == BufferRole::argument && !buffer.ahead_of_time &&
        kernel.tensors[buffer.tensor.index()].name == name)
      return make_id<BufferId>(b);
  }
  return {};
}

/// `part`: what the program computes.
bool may_overwrite(const Program& program, const Kernel& part, const HardwareModel& machine, const std::string& read,
                   const std::string& written) {
  const BufferId from = argument_named(program, part, read), to = argument_named(program, part, written);
  if (!from.valid() || !to.valid()) return false;
  const Buffer &a = program.buffers[from.index()], &b = program.buffers[to.index()];
  return a.dtype == b.dtype && a.extents == b.extents && a.strides == b.strides &&
         reads_before_overwriting(program, machine, from, to);
}

}  // namespace

std::map<TensorId, TensorId> overwritten_in_place(const Kernel& kernel, const CompiledModel& compiled,
                                                  const std::vector<Program>& programs, const HardwareModel& machine) {
  std::map<TensorId, TensorId> found;
  if (!prints_bands(machine)) return found;
  const std::vector<Part>& parts = compiled.plan.parts;
  const auto name = [&](TensorId id) { return kernel.tensors[id.index()].name; };
  for (const CompiledBands& bands : compiled.bands)
    for (const auto& [id, by] : bands.schedule.in_place) {
      const std::size_t part = writer_of(kernel, parts, by) - bands.group.first;
      bool may = true;
      for (std::size_t k = 0; k < bands.programs.size(); ++k)
        if (bands.schedule.kernels[k].part == part)
          may &= may_overwrite(programs[bands.programs[k]], bands.kernels[k], machine, name(id), name(by));
      if (may) found[id] = by;
    }
  for (const auto& [id, by] : overwritten_tensors(kernel, parts)) {
    const std::size_t p = writer_of(kernel, parts, by);
    const CompiledPart& part = compiled.parts[p];
    if (bands_of(compiled, p) == nullptr &&
        may_overwrite(programs[part.program], part.kernel, machine, name(id), name(by)))
      found[id] = by;
  }
  return found;
}

}  // namespace isamap
