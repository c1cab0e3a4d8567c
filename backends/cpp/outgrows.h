#pragma once
// Loops that compilers must not print one step after another.

#include "backends/cpp/places.h"

namespace isamap {

/// A loop of few steps, none inside it, whose calls take operands from memory beside registers that the target's
/// compiler allocates. Unrolled, neighbouring steps of a window share such operands (`I[2*q + s]`), the compiler keeps
/// them, and where tile and operands of two steps outgrow the registers it spills the tile instead: GCC 12 made 60 of
/// 95 GFLOP/s of a 7x7 window.
bool outgrows_registers(const Loop& loop, const Item& item, const Places& places, const Program& program,
                        const HardwareModel& model);

}  // namespace isamap
