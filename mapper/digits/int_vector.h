// SPDX-License-Identifier: Apache-2.0
#pragma once
// Columns, steps and images: short vectors of integers, one number for each dim or index.

#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace isamap {

/// In place up to twelve numbers: the mapper makes millions of them, and allocating each took a third of its time.
using IntVector = boost::container::small_vector<std::int64_t, 12>;

}  // namespace isamap
