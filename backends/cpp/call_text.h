// SPDX-License-Identifier: Apache-2.0
#pragma once
// The statement of one instruction call: its `emit` text with every placeholder filled, or its `asm` text as inline
// assembly.

#include <functional>
#include <string>

#include "backends/common/state.h"
#include "backends/cpp/operand_storage.h"
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
  /// The same in a buffer that lies permuted, of the element `more` (empty: 0) behind the place.
  std::function<std::string(const Place&, const Ranges&, const std::string& more)> permuted_address;
  /// An index expression as text.
  std::function<std::string(const AffineExpr&, const Ranges&)> index;
  /// Declares an array that holds a block of more than 64 bits; its name.
  std::function<std::string(const Word&)> block;
  Diagnostics& diagnostics;
};

/// One or more lines. `item` is the call with its places.
std::string call_text(const Item& item, const Call& call, CallContext& context);

/// What one placeholder that is a number stands for.
std::string number_in_text(const Item& item, const Call& call, const Placeholder& placeholder, CallContext& context);

/// The state that a call needs (backends/common/state.h).
Result<KnownState> needed_by(const Item& item, const Call& call, CallContext& context);
/// The statement of a setter; `known` tells fields that it does not set.
std::string setter_text(const SetterUse& use, const KnownState& known, CallContext& context);

/// A line of assembly without operands, as a statement.
std::string assembly_statement(const std::string& line);

}  // namespace isamap
