// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a variable of the emitted C++ is declared: in the innermost block that holds all of its uses, by the statement
// that first writes it where that is possible.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/operand_storage.h"

namespace isamap {

/// Variables to declare in the block `items`, by the item before (or in) which they are declared; `declared` are those
/// of the blocks around it. A variable that only one nested block uses is left to that block if nothing there can see
/// an older value.
std::map<std::size_t, std::set<int>> starting_variables(const std::vector<Item>& items, const std::set<int>& declared,
                                                        const HardwareModel& model);

/// Variables that calls behind item `at` of the block write, if that item opens them (Sync::Step::open).
std::set<int> opened_by(const std::vector<Item>& items, std::size_t at);

/// Puts the type of the written variable before a single statement `v = ...` and so declares it. True: it did.
bool declare_in_place(std::string& statement, const Variable& variable);

}  // namespace isamap
