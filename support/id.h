// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers that cannot be confused: a MemoryId never passes for a TensorId.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace isamap {

template <class Tag>
struct Id {
  std::int32_t value = -1;  ///< position in the owning list; -1: none
  bool valid() const { return value >= 0; }
  std::size_t index() const { return static_cast<std::size_t>(value); }
  auto operator<=>(const Id&) const = default;
};

template <class IdType>
IdType make_id(std::size_t position) {
  return IdType{static_cast<std::int32_t>(position)};
}

using TensorId = Id<struct TensorTag>;            ///< in Kernel::tensors or Instruction::tensors
using StatementId = Id<struct StatementTag>;      ///< in Kernel::statements
using UnitId = Id<struct UnitTag>;                ///< in HardwareModel::units()
using MemoryId = Id<struct MemoryTag>;            ///< in HardwareModel::memories()
using LinkId = Id<struct LinkTag>;                ///< in HardwareModel::links()
using InstructionId = Id<struct InstructionTag>;  ///< in HardwareModel::instructions()
using BufferId = Id<struct BufferTag>;            ///< in Program::buffers

}  // namespace isamap
