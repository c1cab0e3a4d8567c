// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves that take several positions of an axis at once, into a local array, where the axis may have any number of them.
//
// A block with tiles of one position along a sum may pack an input with a move of up to 16 x 16 elements, which
// transposes it:
//
//   for (v = 0; v < (K + 15) / 16; ++v)  move(to + 512 * v, from + 16 * v, positions: min(16, K - 16 * v))
//
// The last step moves what is left, and no step writes what another one does, so that the loop is right for every K,
// although its step is no divisor of it. Loops that read the array have steps of fewer positions. A move that writes
// zeros behind the last position needs an array of whole steps.

#include <set>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

enum class PartialMove {
  none,   ///< no such moves
  exact,  ///< they write as many positions as they move
  padded  ///< or all of a step
};

/// Do all calls below move `step` positions for each step of the loop over `variable`, to a section for each step of an
/// axis of a local array, and may they move any smaller number?
PartialMove partial_moves(const std::vector<Node>& nodes, const Program& program, const HardwareModel& model,
                          const std::string& variable, std::int64_t step);

/// The last step of these loops moves the positions that the axis has. False: there is no number for an extent that is
/// known at the call, or the axis is rounded up, so that its last positions have to be filled.
bool end_moves(Block& block, const GridShape& shape, const std::set<std::string>& variables,
               const HardwareModel& model);

}  // namespace isamap
