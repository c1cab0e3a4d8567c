// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lane_exchange.h"

#include "isamap/kernel.h"

namespace isamap {

Partial add_partial(Program& program, MemoryId registers, DType type) {
  Partial partial;
  for (const auto& [id, name] : {std::pair(&partial.own, "partial"), {&partial.other, "given"}}) {
    Buffer buffer;
    buffer.name = name;
    buffer.memory = registers;
    buffer.dtype = type;
    buffer.slots = 0;
    *id = make_id<BufferId>(program.buffers.size());
    program.buffers.push_back(std::move(buffer));
  }
  return partial;
}

Element start_partial(const Element& element, const Partial& partial, DType type, UnitId unit) {
  Element start;
  start.unit = unit;
  start.write = {partial.own, {}};
  start.reduction = Reduction::assign;
  const Scalar nothing = identity(element.reduction, type);
  start.body = constant(as_double(type, nothing), type);
  return start;
}

Element take_other(const Element& element, const Partial& partial, DType type, UnitId unit) {
  Element take;
  take.unit = unit;
  take.write = {partial.own, {}};
  take.reduction = element.reduction;
  take.reads = {{partial.other, {}}};
  take.body = read(0, type);
  return take;
}

Element give_partial(const Element& element, const Partial& partial, DType type) {
  Element give = element;
  give.reads = {{partial.own, {}}};
  give.body = read(0, type);
  return give;
}

}  // namespace isamap
