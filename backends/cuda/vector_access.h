// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectorized access to global memory: contiguous elements are loaded and stored several at a time.
//
//   for n, on lanes:  Y[n] = f(X[n])      becomes      for n, on lanes:  R = X[4n..4n+3]     one request of 16 bytes
//                                                                        for e in 4:  S_e = f(R_e)
//                                                                        Y[4n..4n+3] = S     one request of 16 bytes
//
// Vector moves are found by their semantics: contiguous elements between registers of one instance and that memory, in
// order. The vector width minimizes requests per element, where every contiguous access is one move, aligned as the
// move requires.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/operand_use.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// An element statement over the surrounding variables and its position in the chunk (`each`, below `count`).
struct ChunkElement {
  Element element;
  std::string each;
  Ranges ranges;  ///< of all variables in it, `each` among them
};

struct Neighbours {
  std::int64_t count = 1;                           ///< elements of one chunk
  std::vector<std::optional<InstructionId>> moves;  ///< for the write, then each read; nothing: scalar access
};

/// `chunk(count)`: the statement for chunks of `count` elements. `stores`: the write goes to global memory too, and is
/// vectorized as well. Nothing: scalar access is no worse.
std::optional<Neighbours> neighbours(const Program& program, const HardwareModel& model, UnitId unit,
                                     const std::function<ChunkElement(std::int64_t count)>& chunk, bool stores);

/// Chunks as nodes: load all, compute, store all. Adds registers to the program. `rounds` chunks, numbered by the
/// variable `round` in `element`, are loaded before the first is used; empty: one.
std::vector<Node> chunk_nodes(Program& program, const HardwareModel& model, const Neighbours& how,
                              const ChunkElement& element, const std::string& round = "", std::int64_t rounds = 1);

}  // namespace isamap
