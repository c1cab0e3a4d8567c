// SPDX-License-Identifier: Apache-2.0
#pragma once
// A reduction over all elements up to one, for each of them, in steps that read four elements each.
//
//   Y[i,j] += X[i,j - t]   t < 1000      gives      A[i,j] += X[i,j - t]         t < 4
//                                                   B[i,j] += A[i,j - 4*t]       t < 4
//                                                   C[i,j] += B[i,j - 16*t]      t < 4
//                                                   D[i,j] += C[i,j - 64*t]      t < 4
//                                                   Y[i,j] += D[i,j - 256*t]     t < 4
//
// Twice four terms are sums of up to 16 elements: Hillis and Steele, "Data parallel algorithms", 1986, with four in
// place of two, which reads as many terms (4 log_4 n = 2 log_2 n) in half as many passes. All elements of a step are
// independent, so a step is computed by vectors along any dim.
//
// Along an axis that is not the last one, running totals are a recurrence of rows: one pass that reads and writes each
// element once, where the machine executes many short steps well.
//
//   Y[i,j] += X[i - t,j]   t < 4096      gives      Y[0,j] = X[0,j]
//                                                   repeat i: Y[i + 1,j] = Y[i,j] + X[i + 1,j]

#include "frontends/model.h"

namespace isamap {

struct PrefixOptions {
  bool strict_float = false;     ///< sums and products of floats stay in their order
  bool steps_are_cheap = false;  ///< of a recurrence: loops of the program, no launches
};

/// Sums, products, maxima and minima of a read that is moved along one axis by a reduction dim, to the end of the
/// tensor at least, with the identity of the operator beyond it. Steps of four only where that halves the elements that
/// are read and written. Recurrences stay.
Model prefix_reductions(Model model, const PrefixOptions& options);

}  // namespace isamap
