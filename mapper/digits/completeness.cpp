// SPDX-License-Identifier: Apache-2.0
#include "mapper/digits/completeness.h"

#include <algorithm>

#include "mapper/digits/digit_orders.h"

namespace isamap {
namespace {

/// Are there three directions that may be digits at once and move the output along one direction?
bool three_along_one(const Alignment& alignment, const Choices& choices) {
  std::vector<IntVector> images;
  for (const Direction& direction : choices.directions) {
    const bool on_output = std::any_of(direction.homes.begin(), direction.homes.end(), [&](const Home& home) {
      return !home.partial && (choices.slots[static_cast<std::size_t>(home.slot)].uses & 1U) != 0;
    });
    const IntVector image = output_image(alignment, direction.column);
    const bool moves = std::any_of(image.begin(), image.end(), [](std::int64_t x) { return x != 0; });
    if (on_output && moves) images.push_back(image);
  }
  return std::any_of(images.begin(), images.end(), [&](const IntVector& u) {
    return std::count_if(images.begin(), images.end(), [&](const IntVector& w) { return parallel(u, w); }) >
           2;  // itself among them
  });
}

bool has_divisions(const Alignment& alignment) {
  return std::any_of(alignment.rows.begin(), alignment.rows.end(), [](const std::vector<IndexRow>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const IndexRow& row) { return !row.linear; });
  });
}

}  // namespace

std::vector<KnownGap> known_gaps(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                 InstructionId instruction, Rule rule) {
  std::vector<KnownGap> found;
  const auto add = [&](KnownGap one) {
    if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(std::move(one));
  };
  if (rule == Rule::access || hardware.semantics.size() != 1) return found;
  for (const Alignment& alignment : alignments_of(kernel, statement, hardware, instruction, true)) {
    if (!alignment.projection) {
      add({"the instruction adds up dims in an index: combined and tied steps are not tried", true});
      continue;
    }
    if (has_divisions(alignment)) add({"dims in divisions move by unit steps only", true});
    if (three_along_one(alignment, choices_of(alignment, rule)))
      add({"three digits along one direction of the output are no members of the class", false});
  }
  return found;
}

}  // namespace isamap
