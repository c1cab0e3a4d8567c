// SPDX-License-Identifier: Apache-2.0
#include "driver/overwritten_in_place.h"

#include <optional>

#include "backends/model_runner.h"
#include "planner/in_place.h"
#include "program/argument_aliasing.h"

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

struct Arguments {
  BufferId read, written;
};

/// Nothing: it does not read before, or the arrays differ.
std::optional<Arguments> overlapping_in(const Overwriting& one, const Program& program, const Kernel& kernel,
                                        const HardwareModel& machine) {
  const auto argument = [&](TensorId id) {
    return argument_named(program, *one.part, kernel.tensors[id.index()].name);
  };
  const Arguments found{argument(one.id), argument(one.by)};
  if (!found.read.valid() || !found.written.valid()) return std::nullopt;
  const Buffer &a = program.buffers[found.read.index()], &b = program.buffers[found.written.index()];
  const bool may = a.dtype == b.dtype && a.extents == b.extents && a.strides == b.strides &&
                   reads_before_overwriting(program, machine, found.read, found.written);
  return may ? std::optional(found) : std::nullopt;
}

}  // namespace

std::vector<Overwriting> all_overwriting(const Kernel& kernel, const CompiledModel& compiled,
                                         const HardwareModel& machine) {
  std::vector<Overwriting> found;
  if (!prints_bands(machine)) return found;
  const std::vector<Part>& parts = compiled.plan.parts;
  for (const CompiledBands& bands : compiled.bands)
    for (const auto& [id, by] : bands.schedule.in_place) {
      const std::size_t part = writer_of(kernel, parts, by) - bands.group.first;
      for (std::size_t k = 0; k < bands.programs.size(); ++k)
        if (bands.schedule.kernels[k].part == part) found.push_back({id, by, bands.programs[k], &bands.kernels[k]});
    }
  for (const auto& [id, by] : overwritten_tensors(kernel, parts)) {
    const std::size_t p = writer_of(kernel, parts, by);
    if (bands_of(compiled, p) == nullptr)
      found.push_back({id, by, compiled.parts[p].program, &compiled.parts[p].kernel});
  }
  return found;
}

std::map<TensorId, TensorId> overwritten_in_place(const Kernel& kernel, const CompiledModel& compiled,
                                                  const std::vector<Program>& programs, const HardwareModel& machine) {
  std::map<TensorId, TensorId> found;
  std::set<TensorId> kept;  // some program of its reader needs it after it has written
  for (const Overwriting& one : all_overwriting(kernel, compiled, machine)) {
    found[one.id] = one.by;
    if (!overlapping_in(one, programs[one.program], kernel, machine)) kept.insert(one.id);
  }
  for (const TensorId id : kept) found.erase(id);
  return found;
}

std::set<BufferId> overlapping_arguments(const Kernel& kernel, const std::vector<Overwriting>& overwriting,
                                         std::size_t number, const Program& program, const HardwareModel& machine) {
  std::set<BufferId> found;
  for (const Overwriting& one : overwriting)
    if (one.program == number)
      if (const auto both = overlapping_in(one, program, kernel, machine)) found.insert({both->read, both->written});
  return found;
}

}  // namespace isamap
