// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of inline assembly.

#include <fmt/format.h>

#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// An assembly line escaped for a C++ string literal.
inline void add_assembly(std::string& text, const std::string& s) {
  for (const char c : s) {
    if (c == '%') text += '%';
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
}

inline std::string assembly_line(const std::string& text) {
  std::string escaped;
  add_assembly(escaped, text);
  return fmt::format("  asm volatile(\"{}\" ::: \"memory\");\n", escaped);
}

/// Inline assembly constraint of a register of the memory, or of an address in it; empty: not described.
inline std::string constraint_of(const Memory& memory, DType type, bool address) {
  if (address) return memory.pointer_constraint;
  for (const std::string& key : {std::string(name(type)), std::string("any"), std::string()})
    if (const auto found = memory.constraint.find(key); found != memory.constraint.end()) return found->second;
  return "";
}

}  // namespace isamap
