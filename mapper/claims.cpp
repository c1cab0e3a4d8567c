#include "mapper/claims.h"

#include <algorithm>
#include <numeric>

#include "mapper/placements.h"

namespace isamap {
namespace {

IntVector image_of(const Alignment& alignment, const IntVector& column) {
  IntVector image;
  for (const IndexRow& row : alignment.rows[0])
    if (row.linear)
      image.push_back(std::inner_product(column.begin(), column.end(), row.coefficients.begin(), std::int64_t{0}));
  return image;
}

/// Three directions that may walk the output at once and move it alike?
bool three_along_one(const Alignment& alignment, const Choices& choices) {
  std::vector<IntVector> images;
  for (const Direction& direction : choices.directions) {
    const bool on_output = std::any_of(direction.homes.begin(), direction.homes.end(), [&](const Home& home) {
      return !home.partial && (choices.slots[static_cast<std::size_t>(home.slot)].uses & 1U) != 0;
    });
    const IntVector image = image_of(alignment, direction.column);
    const bool moves = std::any_of(image.begin(), image.end(), [](std::int64_t x) { return x != 0; });
    if (on_output && moves) images.push_back(image);
  }
  return std::any_of(images.begin(), images.end(), [&](const IntVector& u) {
    return std::count_if(images.begin(), images.end(), [&](const IntVector& w) {
             return !independent({u, w});
           }) > 2;  // itself among them
  });
}

bool has_divisions(const Alignment& alignment) {
  return std::any_of(alignment.rows.begin(), alignment.rows.end(), [](const std::vector<IndexRow>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const IndexRow& row) { return !row.linear; });
  });
}

}  // namespace

std::vector<std::string> outside_the_class(const Kernel& kernel, StatementId statement, const Instruction& hardware,
                                           InstructionId instruction, Rule rule) {
  std::vector<std::string> texts;
  const auto add = [&](const char* text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  if (rule == Rule::access || hardware.semantics.size() != 1) return texts;
  for (const Alignment& alignment : alignments_of(kernel, statement, hardware, instruction, true)) {
    if (!alignment.projection) {
      add("the instruction adds up dims in an index: combined and tied steps are not tried");
      continue;
    }
    if (has_divisions(alignment)) add("dims in divisions move by unit steps only");
    if (three_along_one(alignment, choices_of(alignment, rule)))
      add("three digits along one direction of the output are not combined");
  }
  return texts;
}

}  // namespace isamap
