#pragma once
// The statement of one instruction call: its `emit` text with every placeholder filled, or its `asm` text as inline
// assembly.

#include <functional>
#include <string>

#include "backends/cpp/places.h"
#include "hwdesc/hardware_model.h"
#include "ir/program.h"

namespace isamap {

struct CallContext {
  const Program& program;
  const HardwareModel& model;
  const Places& places;
  /// An address as text: "A", "(A_k + 16)".
  std::function<std::string(const Place&, const Ranges&)> address;
  /// An index expression as text.
  std::function<std::string(const AffineExpr&, const Ranges&)> index;
  Diagnostics& diagnostics;
};

/// One or more lines. `item` is the call with its places.
std::string call_text(const Item& item, const Call& call, CallContext& context);

}  // namespace isamap
