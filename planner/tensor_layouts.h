// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts of stored tensors: permutations of their axes.

#include <vector>

#include "isamap/interpret.h"
#include "isamap/kernel.h"

namespace isamap {

/// By tensor: its axes, outermost first; empty: as they are.
using Orders = std::vector<std::vector<int>>;

/// The same kernel over tensors stored in these orders: shapes and subscripts are permuted, values are not touched, and
/// parallel dims stand in the order of the write.
/// Inputs and outputs should keep theirs, since the caller's arrays do.
Kernel in_order(const Kernel& kernel, const Orders& orders);

/// The elements of a tensor, stored in this order.
TensorData in_order(const TensorData& data, const std::vector<int>& order);

/// May the order of this tensor be chosen? It is no argument of the kernel, or constant, and has several axes of more
/// than one element.
bool is_free(const Kernel& kernel, TensorId tensor);

}  // namespace isamap
