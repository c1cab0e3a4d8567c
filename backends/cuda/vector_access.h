// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elements that lie side by side in the memory of all blocks, fetched and stored several at a time.
//
//   for n, on lanes:  Y[n] = f(X[n])      becomes      for n, on lanes:  R = X[4n..4n+3]     one request of 16 bytes
//                                                                        for e in 4:  S_e = f(R_e)
//                                                                        Y[4n..4n+3] = S     one request of 16 bytes
//
// Which moves there are is found from what they mean: neighbours between registers of one instance and that memory, in
// the same order. How many elements are taken at a time follows from them: as many as make the fewest requests for an
// element, where every access that runs over along neighbours is one move, at a multiple of what the move asks for.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/operand_use.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// An element statement in terms of numbers that stand around it, and which of its chunk it is (`each`, below `count`).
struct ChunkElement {
  Element element;
  std::string each;
  Ranges ranges;  ///< of all variables in it, `each` among them
};

struct Neighbours {
  std::int64_t count = 1;                           ///< elements of one chunk
  std::vector<std::optional<InstructionId>> moves;  ///< for the write, then for each read; nothing: element by element
};

/// `chunk(count)`: the statement when chunks have so many elements. `stores`: the write goes to that memory too, and is
/// part of it. Nothing: element by element is no worse.
std::optional<Neighbours> neighbours(const Program& program, const HardwareModel& model, UnitId unit,
                                     const std::function<ChunkElement(std::int64_t count)>& chunk, bool stores);

/// Chunks as nodes: everything is fetched, then computed, then stored. The program gets registers. `rounds`: so many
/// chunks, told apart by the variable `round` in `element`, are fetched before the first is used; empty: one.
std::vector<Node> chunk_nodes(Program& program, const HardwareModel& model, const Neighbours& how,
                              const ChunkElement& element, const std::string& round = "", std::int64_t rounds = 1);

}  // namespace isamap
