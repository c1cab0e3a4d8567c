// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the language of a machine's programs implies. Only this file, the loader and the table of backends
// (backends/registry.cpp) know the names of languages; all other code asks for one of these facts.

#include <cstdint>
#include <string_view>

#include "isamap/hardware.h"

namespace isamap {

inline constexpr std::string_view command_stream_language = "asm", thread_block_language = "cuda",
                                  host_language = "c++";

/// A straight-line stream of commands with constant addresses, for an accelerator.
inline bool is_command_stream(const ProgramText& program) { return program.language == command_stream_language; }
inline bool is_command_stream(const HardwareModel& model) { return is_command_stream(model.program); }

/// Kernels of thread blocks in the memory of a device, launched by a host function.
inline bool has_thread_blocks(const HardwareModel& model) { return model.program.language == thread_block_language; }

/// Functions on the memory of the host.
inline bool is_host_code(const HardwareModel& model) { return model.program.language == host_language; }

/// Alignment in bytes that callers guarantee for arguments of this type. Allocators of devices give 256 bytes; 16, the
/// widest move of a lane, are required of callers.
inline std::int64_t argument_alignment(const HardwareModel& model, DType dtype) {
  constexpr std::int64_t device_alignment = 16;
  return has_thread_blocks(model) ? device_alignment : bytes(dtype);
}

}  // namespace isamap
