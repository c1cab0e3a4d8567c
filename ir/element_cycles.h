// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of one element statement on a scalar unit, for cost models and simulators (docs/cost.md).
//
// Compilers vectorise a contiguous copy; a strided one costs a load and a store. A loop of few steps is unrolled, and
// the one around it vectorised with shuffles where rows become neighbours: `Y[2*q + a] = X[a,q]`. An index with
// divisions (a fused window) costs these in addition: at each element, or once a row where only outer loops are
// divided, as compilers hoist them.

#include <cstdint>
#include <string>
#include <vector>

#include "isamap/program.h"

namespace isamap {

/// Of copies of one element, and of each access of other statements; from the machine's `timing`.
struct ElementCycles {
  double contiguous = 0, interleaved = 0, strided = 0, divided = 0, access = 0;
  double interleaved_rows = 0;  ///< most steps of an innermost loop that interleaves
  double vector_trips = 0;      ///< least steps of the loop around it
};

/// The innermost loop around a statement, and the loop around that one: variables ("": there is none) and steps.
struct EnclosingLoop {
  std::string variable;
  double steps = 1;
  std::string around = {};
  double steps_around = 1;
};

/// How far a place moves with a step of the innermost loop and of the loop around it, in elements.
struct LoopStrides {
  std::int64_t inner = 0, around = 0;
};

/// Do the two loops of a copy interleave rows? Each of its places moves by one element with the loop around, or is
/// contiguous in both loops together. Of `Y[2*q + a] = X[484*a + q]`, q around a: {1, 2} and {484, 1}.
bool is_interleaved(const std::vector<LoopStrides>& places, double steps, double steps_around,
                    const ElementCycles& each);

double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const EnclosingLoop& inner,
                      const ElementCycles& each);

/// Cycles of a copy of one element between places at these offsets of their buffers, in elements.
double copied_element_cycles(const std::vector<AffineExpr>& offsets, const EnclosingLoop& inner,
                             const ElementCycles& each);

/// Is the variable part of what is divided?
bool is_divided(const AffineExpr& e, const std::string& variable);

}  // namespace isamap
