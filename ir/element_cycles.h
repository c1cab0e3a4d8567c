// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cycles of one element statement on a scalar unit, for cost models and simulators (docs/cost.md).
//
// Compilers vectorise a contiguous copy; a strided one costs a load and a store. A loop of up to four steps is
// unrolled, and the one around it vectorised with shuffles where rows become neighbours: `Y[2*q + a] = X[a,q]`. An
// index with divisions (a fused window) costs these in addition: at each element, or once a row where only outer loops
// are divided, as compilers hoist them.

#include <string>
#include <vector>

#include "isamap/program.h"

namespace isamap {

/// Of copies of one element, and of each access of other statements; from the machine's `timing`.
struct ElementCycles {
  double contiguous = 0, strided = 0, divided = 0, access = 0;
};

/// The innermost loop around a statement: its variable ("": there is none) and its steps.
struct EnclosingLoop {
  std::string variable;
  double steps = 1;
  std::string around = {};  ///< the variable of the loop around it ("": none, or there is more in it)
};

double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const EnclosingLoop& inner,
                      const ElementCycles& each);

/// Cycles of a copy of one element between places at these offsets of their buffers, in elements.
double copied_element_cycles(const std::vector<AffineExpr>& offsets, const EnclosingLoop& inner,
                             const ElementCycles& each);

/// Is the variable part of what is divided?
bool is_divided(const AffineExpr& e, const std::string& variable);

}  // namespace isamap
