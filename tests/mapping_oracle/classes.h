// SPDX-License-Identifier: Apache-2.0
#pragma once
// The class ALL of mappings onto a projection instruction, enumerated by brute force.
//
// Instruction dims used by the same operands are one dim class m. K_m: the integer vectors v that leave every operand
// without m in place; G_m: its conformally minimal vectors. Each direction of the union of the G_m is left residual or
// put on one class; a unit vector in no K_m may be tied on as few as leave it possible. Two digits that move the output
// along one direction, F_0 w = c F_0 u, are counted in two orders (u inside w or w inside u).

#include <set>
#include <string>

#include "tests/mapping_oracle/lattice.h"

namespace isamap::oracle {

/// Which orders of two parallel output digits count.
///  every_order: both, wherever some choice of residual directions makes the cover exact: what the definitions say.
///  counted_once: u inside w only when w is c*u plus an integer combination of the other directions, where these are
///    the placed ones and the unit vectors that complete them with least index, earliest first; never on one dim, never
///    with a tied digit. Besides, for independent columns and |c| > 1, u cut to |c| steps. The published counts.
enum class Orders { every_order, counted_once };

struct DimClass {
  std::vector<int> dims;  ///< of the instruction
  Int extent = 1;
  std::set<int> uses;           ///< operands
  std::vector<Vec> directions;  ///< G_m
};
std::vector<DimClass> dim_classes(const Nest& kernel, const Nest& unit);

struct Placed {
  Vec column;
  std::vector<int> classes;  ///< several: tied
};
/// Digits (positions in `digits`) whose output images are parallel: outer image = ratio * inner image.
struct Chained {
  int inner = 0, outer = 0;
  Int numerator = 1, denominator = 1;
  bool bounded = false;  ///< the inner extent is cut to the ratio
};
struct Member {
  std::vector<Placed> digits;
  std::vector<Chained> chains;
  bool skew = false, split = false, block = false, has_virtual = false;
  bool in_default = false;
  bool carried = true;  ///< every face and fill has an operand that tells it (product bodies)
};
std::vector<Member> all_members(const Nest& kernel, const Nest& unit, Orders orders);
std::string print(const Member& member, const Nest& kernel, const Nest& unit);

/// A mapping of the member's class: unit columns loop their whole dims, others as far as the instruction does; an inner
/// digit runs over a multiple of the ratio and its outer one continues where it ends. Without loops and carriers.
Mapping realise(const Member& member, const Nest& kernel, const Nest& unit);

}  // namespace isamap::oracle
