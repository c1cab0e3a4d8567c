// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which items of a function a team of threads divides, and which registers each member has to hold for that.

#include <set>
#include <vector>

#include "backends/cpp/function/operand_storage.h"

namespace isamap {

/// A loop whose iterations are distributed over threads.
bool is_threads(const Item& item, const HardwareModel& model);
/// Such a loop, or one inside.
bool has_threads(const Item& item, const HardwareModel& model);
/// A call that sets one of `values`.
bool sets_one_of(const Item& item, const std::set<int>& values);
/// Variables that distributed loops use, and those that they are computed from: each member has its own.
std::set<int> thread_values(const std::vector<Item>& items, const HardwareModel& model);

}  // namespace isamap
