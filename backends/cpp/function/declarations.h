// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares variables of the emitted C++ in the innermost block that contains all uses, at their first assignment where
// possible.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/function/operand_storage.h"

namespace isamap {

/// Variables to declare in the block `items`, by the item before (or in) which they are declared; `declared`: those of
/// enclosing blocks. A variable used in one nested block only is declared there, unless an older value can reach it.
std::map<std::size_t, std::set<int>> starting_variables(const std::vector<Item>& items, const std::set<int>& declared,
                                                        const HardwareModel& model);

/// Variables written by calls after item `at` of the block, if that item opens them (Sync::Step::open).
std::set<int> opened_by(const std::vector<Item>& items, std::size_t at);

/// Turns a single statement `v = ...` into a declaration by prepending the type. True: it did.
bool declare_in_place(std::string& statement, const Variable& variable);

}  // namespace isamap
