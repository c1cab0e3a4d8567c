// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of elements that accesses touch, exactly: unions of products of sets of indices, one set an axis.
//
//   C[p,c + 64]  over p < 7, c < 32     touches   [0,6] x [64,95]
//   C[2*p,i/4]   over p < 3, i < 8      touches   {0,2,4} x [0,1]
//
// Subscripts that share a dim, as in T[i/4,i%4], are no product: they are one for each value of the dims that they
// share, up to a limit.

#include <cstdint>
#include <optional>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

/// A set of indices along one axis: intervals in increasing order that neither overlap nor touch.
using IndexSet = std::vector<Interval>;

IndexSet intersection(const IndexSet& a, const IndexSet& b);
IndexSet difference(const IndexSet& a, const IndexSet& b);

/// Elements whose index along every axis is in the axis's set.
using Product = std::vector<IndexSet>;
/// A union of products, none of which is empty.
using Region = std::vector<Product>;

/// The elements inside the shape that an access touches; nothing: they are not found within the limits.
std::optional<Region> touched(const Access& access, const IterationDomain& domain,
                              const std::vector<std::int64_t>& shape);

/// An element of both.
std::optional<std::vector<std::int64_t>> common_element(const Region& a, const Region& b);
/// `a` without the elements of `b`; nothing: it has too many parts.
std::optional<Region> difference(Region a, const Region& b);
/// Is the statement an assignment, and the first writer of its tensor, all of whose other elements are assigned by
/// later ones before anything is added to them? Then the tensor needs no initial value.
bool completed_by_others(const Kernel& kernel, std::size_t statement);

/// Any element of a region that is not empty.
std::vector<std::int64_t> first_element(const Region& region);

}  // namespace isamap
