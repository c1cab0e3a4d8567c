// SPDX-License-Identifier: Apache-2.0
#pragma once
// Raw mappings, without any theory of which columns matter: columns with entries -2..2, up to two digits a dim. Used to
// test that the class ALL leaves nothing out: for every sound raw mapping with independent columns and independent
// images in the output there is a member with conformally smaller columns on the same dims.

#include <optional>

#include "isamap/interpret.h"
#include "tests/mapping_oracle/classes.h"

namespace isamap::oracle {

/// Sound raw mappings of box kernels onto projection instructions, without partial sums, with carriers; judged over
/// differences of digits. One digit a dim: all of them when there are at most `most`, else that many random ones;
/// besides as many random ones with up to two digits a dim.
std::vector<Mapping> raw_mappings(Random& random, const Nest& kernel, const Nest& unit, std::size_t most);

/// Digits replaced by distinct directions of G_m conformally below them, extents and dims kept, such that the mapping
/// is still sound, without partial sums, and has carriers.
std::optional<Mapping> conformal_member(const Nest& kernel, const Nest& unit, const Mapping& raw);

}  // namespace isamap::oracle
