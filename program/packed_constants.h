// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants of grids that are packed once, ahead of time.
//
// A constant whose shape has no symbolic size, such as the weights of a convolution over images of any size, is the
// same in every cell: a schedule may pack it ahead of time (`aot`) as that of a static kernel does. What it packs does
// not depend on the sizes, so that all blocks of all versions which pack it alike read one copy, an argument of the
// entry that `NAME_pack` fills.

#include <optional>
#include <set>
#include <vector>

#include "isamap/program.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// A copy that a program packs ahead of time.
struct PackedConstant {
  BufferId buffer;            ///< that is filled
  BufferId source;            ///< an argument
  std::set<BufferId> locals;  ///< by way of which it is filled
  std::vector<Node> nodes;    ///< of `prepack` that fill it, without comments
};

/// In the order of the buffers. Nothing: a copy has several sources, a source has several copies, or one node makes
/// several.
std::optional<std::vector<PackedConstant>> packed_constants(const Program& program);

/// Gives `program.arguments` a buffer for each distinct copy, after the arguments of the kernel, with the code that
/// fills it, and tells each block where its copies are (`Block::constants`).
void share_packed_constants(SymbolicProgram& program);

}  // namespace isamap
