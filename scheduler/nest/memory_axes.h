// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes of memory along which an access moves: the subscripts of its tensor, or the digits of a packed layout.

#include <boost/container/small_vector.hpp>
#include <utility>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

/// Dims of the statement that move along an axis, with their steps in elements of it.
using AxisTerms = boost::container::small_vector<std::pair<int, double>, 4>;

struct MemoryAxis {
  AxisTerms terms;
  double extent = 1;  ///< of the array
  double pitch = 1;   ///< distance of neighbours, in elements
};

/// An access to a tensor as it lies in memory.
struct MemoryAxes {
  std::vector<MemoryAxis> axes;  ///< outermost first
  /// A dim occurs in several subscripts, so that its steps move along several of them at once: then each dim is an
  /// axis.
  bool by_dim = false;
  std::vector<double> steps;  ///< of `by_dim`, by dim: elements in memory
  AxisTerms last;             ///< of the last subscript
};

AxisTerms axis_terms(const AffineExpr& e, const IterationDomain& domain);
MemoryAxes memory_axes(const Access& access, const Tensor& tensor, const IterationDomain& domain);

}  // namespace isamap
