// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prints one instruction call: its `emit` text with placeholders filled, or its `asm` text as inline assembly.

#include <functional>
#include <string>

#include "backends/common/state.h"
#include "backends/cpp/function/operand_storage.h"
#include "backends/encoding/word.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct CallContext {
  const Program& program;
  const HardwareModel& model;
  const Places& places;
  /// An address as text: "A", "(A_k + 16)".
  std::function<std::string(const Place&, const Ranges&)> address;
  /// The same in a swizzled buffer, of the element at offset `more` (empty: 0).
  std::function<std::string(const Place&, const Ranges&, const std::string& more)> permuted_address;
  /// An index expression as text.
  std::function<std::string(const AffineExpr&, const Ranges&)> index;
  /// Declares a constant array for a packed block of more than 64 bits; returns its name.
  std::function<std::string(const Word&)> block;
  Diagnostics& diagnostics;
  const RuntimeNumbers* numbers = nullptr;
};

/// One or more lines. `item`: the call with its operand places.
std::string call_text(const Item& item, const Call& call, CallContext& context);

/// The value of a numeric placeholder.
std::string number_in_text(const Item& item, const Call& call, const Placeholder& placeholder, CallContext& context);

/// The state needed by a call (backends/common/state.h).
Result<KnownState> needed_by(const Item& item, const Call& call, CallContext& context);
/// The statement of a setter; `known`: values of fields that it does not set.
std::string setter_text(const SetterUse& use, const KnownState& known, CallContext& context);

/// The constraint of values of this type in registers of a file, for inline assembly; empty: none is stated.
std::string register_constraint(const Memory& memory, DType type);

/// An assembly line without operands, as a statement.
std::string assembly_statement(const std::string& line);

}  // namespace isamap
