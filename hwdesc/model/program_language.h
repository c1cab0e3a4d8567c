// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of languages, and what the language of a machine's programs implies. Only this table and the table of
// backends (backends/registry.cpp) hold the names of languages; all other code asks for one of these facts.

#include <cstdint>
#include <string_view>

#include "isamap/hardware.h"

namespace isamap {

/// What a program in the language is, which decides what schedules of it can do.
enum class ProgramForm {
  host_functions,  ///< on the memory of the host, by a compiler that allocates registers
  thread_blocks,   ///< kernels in the memory of a device, launched by a host function
  command_stream   ///< straight-line commands with constant addresses, for an accelerator
};

/// A row for each language, in the order in which messages list them.
struct ProgramLanguage {
  std::string_view name;   ///< `language` of a machine's file
  std::string_view title;  ///< in messages
  ProgramForm form;
};
inline constexpr ProgramLanguage program_languages[] = {
    {"c++", "C++", ProgramForm::host_functions},
    {"cuda", "CUDA C++", ProgramForm::thread_blocks},
    {"asm", "assembly", ProgramForm::command_stream},
};
/// Of files that state none.
inline constexpr std::string_view default_language = "asm";

/// Null: there is no such language.
constexpr const ProgramLanguage* find_language(std::string_view name) {
  for (const ProgramLanguage& row : program_languages)
    if (row.name == name) return &row;
  return nullptr;
}

inline bool has_form(const ProgramText& program, ProgramForm form) {
  const ProgramLanguage* row = find_language(program.language);
  return row != nullptr && row->form == form;
}

inline bool is_command_stream(const ProgramText& program) { return has_form(program, ProgramForm::command_stream); }
inline bool is_command_stream(const HardwareModel& model) { return is_command_stream(model.program); }
inline bool has_thread_blocks(const HardwareModel& model) {
  return has_form(model.program, ProgramForm::thread_blocks);
}
inline bool is_host_code(const HardwareModel& model) { return has_form(model.program, ProgramForm::host_functions); }

/// Alignment in bytes that callers guarantee for arguments of this type. Allocators of devices give 256 bytes; 16, the
/// widest move of a lane, are required of callers.
inline std::int64_t argument_alignment(const HardwareModel& model, DType dtype) {
  constexpr std::int64_t device_alignment = 16;
  return has_thread_blocks(model) ? device_alignment : bytes(dtype);
}

}  // namespace isamap
