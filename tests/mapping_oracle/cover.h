// SPDX-License-Identifier: Apache-2.0
#pragma once
// Residual loops for digits: a basis and an order of its directions in which every digit lengthens one direction's
// chain of strides and moves only later directions besides.

#include <optional>

#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

/// Sets basis, cosets and loops of `mapping`. Tries the unit vectors first, then bases of unit vectors and primitive
/// columns, smallest index first. False: no radix chain covers the points exactly.
bool add_loops(const Nest& kernel, Mapping& mapping);

/// Every reason that occurs (loops must be there) gets a carrier: the output if it uses all instruction dims that
/// decide the reason, else inputs that make the term vanish and use them. False: some reason has none.
bool add_carriers(const Nest& kernel, const Nest& unit, Mapping& mapping);

/// A face that no call crosses only because other dims are as small as they are: with these larger some call does.
bool right_by_luck(const Nest& kernel, const Nest& unit, const Mapping& mapping);

}  // namespace isamap::oracle
