#include "mapper/realise.h"

#include <algorithm>
#include <numeric>

#include "support/arithmetic.h"

namespace isamap {
namespace {

/// c with: one step of `coarse` moves the output element like |c| steps of `fine`, |c| > 0; 0 when there is none.
std::int64_t ratio_of(const Alignment& alignment, std::size_t coarse, std::size_t fine) {
  std::int64_t ratio = 0;
  for (const IndexRow& row : alignment.rows[0]) {
    const std::int64_t large = row.coefficients[coarse], small = row.coefficients[fine];
    if (!row.linear && (row.dims >> coarse & 1U) + (row.dims >> fine & 1U) > 0) return 0;
    if (large == 0 && small == 0) continue;
    if (small == 0 || large % small != 0) return 0;
    if (ratio != 0 && ratio != large / small) return 0;
    ratio = large / small;
  }
  return ratio < 0 ? -ratio : ratio;
}

/// Extent of each placed dim as a digit.
std::vector<std::int64_t> digit_extents(const Alignment& alignment, const Placement& placement) {
  std::vector<std::int64_t> extents;
  for (const Dim& dim : alignment.computation().domain.dims) extents.push_back(dim.extent);
  for (std::size_t fine = 0; fine < placement.size(); ++fine) {
    if (placement[fine] < 0 || (alignment.statement_uses[fine] & 1U) == 0) continue;
    for (std::size_t coarse = 0; coarse < placement.size(); ++coarse) {
      if (coarse == fine || placement[coarse] < 0 || (alignment.statement_uses[coarse] & 1U) == 0 ||
          extents[coarse] <= 1)
        continue;
      if (const std::int64_t ratio = ratio_of(alignment, coarse, fine); ratio > 1)
        extents[fine] = std::min(extents[fine], ratio);
    }
  }
  return extents;
}

/// Puts a slot's digits on its dims. One dim takes them all. Of several, each inner dim takes exactly its extent from
/// the last digit, which becomes a chain of strides 1, E, ...; the outermost dim takes the rest.
void spread(const Alignment& alignment, const Slot& slot, std::vector<Digit> digits, Dims& dims) {
  if (digits.empty()) return;
  for (std::size_t i = slot.dims.size(); i-- > 1;) {
    Digit& last = digits.back();
    const std::int64_t extent = std::min(last.extent, unit_extent(alignment, slot.dims[i]));
    dims[static_cast<std::size_t>(slot.dims[i])] = {{last.column, extent}};
    if (extent > 0) last = {last.column * extent, ceil_div(last.extent, extent)};
  }
  dims[static_cast<std::size_t>(slot.dims[0])] = std::move(digits);
}

std::vector<std::string> residual_dims(const Alignment& alignment, const std::vector<Walker>& walkers,
                                       const Cover& cover) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  std::vector<bool> outer(dims.size(), true);
  for (const Walker& walker : walkers) {
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (walker.column[d] != 0) outer[d] = false;
  }
  for (const Chain& chain : cover) {
    for (const ChainLink& link : chain.links) {
      if (link.walker < 0) outer[static_cast<std::size_t>(chain.pivot)] = true;
    }
  }
  std::vector<std::string> names;
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (outer[d]) names.push_back(dims[d].name);
  return names;
}

std::string refusal_of(const Alignment& alignment, const Padding& padding, const std::vector<Walker>& walkers) {
  const std::string body = "the " + std::string(symbol(alignment.unit().reduction)) + " of this body";
  if (padding.fill < 0) {
    return "no operand tells the points beyond " + padding.reason + " apart, and " + body + " needs one that does";
  }
  const std::string dim = alignment.unit().domain.dims[static_cast<std::size_t>(padding.fill)].name;
  const std::int64_t needed = unit_extent(alignment, padding.fill), found = walked_extent(walkers, padding.fill);
  return "instruction dim " + dim + " takes " + std::to_string(needed) + ", its digits have " + std::to_string(found) +
         ", and no constant in an operand that uses " + dim + " makes the surplus vanish under " + body +
         "; a multiple of " + std::to_string(needed) + " would work";
}

}  // namespace

Dims realise(const Alignment& alignment, const std::vector<Slot>& slots, const Placement& placement) {
  const std::vector<Dim>& kernel_dims = alignment.computation().domain.dims;
  const std::vector<std::int64_t> extents = digit_extents(alignment, placement);
  Dims dims(alignment.unit_uses.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    std::vector<Digit> digits;
    for (std::size_t d = 0; d < placement.size(); ++d) {
      if (placement[d] == static_cast<int>(s)) digits.push_back({AffineExpr::dim(kernel_dims[d].name), extents[d]});
    }
    if (digits.empty() && slots[s].stand_in >= 0) {
      digits.push_back({AffineExpr::dim(kernel_dims[static_cast<std::size_t>(slots[s].stand_in)].name), 1});
    }
    spread(alignment, slots[s], std::move(digits), dims);
  }
  return dims;
}

std::set<Kind> kinds_of(const Alignment& alignment, const std::vector<Walker>& walkers) {
  std::set<Kind> kinds;
  std::vector<int> home(alignment.statement_uses.size(), -1);
  std::vector<bool> walked(alignment.unit_uses.size(), false);
  for (const Walker& walker : walkers) {
    walked[static_cast<std::size_t>(walker.dim)] = true;
    int moved = 0;
    OperandSet used = 0;
    for (std::size_t d = 0; d < walker.column.size(); ++d) {
      if (walker.column[d] == 0) continue;
      ++moved;
      used |= alignment.statement_uses[d];
      if (home[d] >= 0 && home[d] != walker.dim) kinds.insert(Kind::split);
      home[d] = walker.dim;
    }
    if (moved > 1) kinds.insert(Kind::skew);
    if ((alignment.unit_uses[static_cast<std::size_t>(walker.dim)] & ~used & ~OperandSet{1}) != 0)
      kinds.insert(Kind::replicate);
  }
  if (std::find(walked.begin(), walked.end(), false) != walked.end()) kinds.insert(Kind::virtual_dim);
  if (!in_written_order(alignment.operands)) kinds.insert(Kind::exchange);
  if (kinds.empty()) kinds.insert(Kind::axis);
  return kinds;
}

Judged judge(const Alignment& alignment, Dims dims, const std::vector<Kill>& kills) {
  const auto walkers = walkers_of(alignment, dims);
  if (!walkers) return {std::nullopt, "the digits of a dim have more than 2^63 counts"};
  const auto cover = exact_cover(alignment, *walkers);
  if (!cover) return {std::nullopt, "digits and residual loops form no radix chain"};
  const Truth slots = sound(alignment, *walkers), elements = no_partials(alignment, *walkers);
  if (slots == Truth::no) return {std::nullopt, "one slot of an operand would hold several elements"};
  if (elements == Truth::no) {
    return {std::nullopt, "two digits move " + alignment.tensor_name(0) +
                              " along one direction, so an element would have several slots (partial sums)"};
  }
  Neutral neutral = neutralise(alignment, paddings(alignment, *walkers, *cover), kills);
  if (neutral.uncarried) return {std::nullopt, refusal_of(alignment, *neutral.uncarried, *walkers)};
  Mapping mapping;
  mapping.statement = alignment.statement;
  mapping.instruction = alignment.instruction;
  mapping.operands = alignment.operands;
  mapping.kinds = kinds_of(alignment, *walkers);
  mapping.carriers = std::move(neutral.carriers);
  mapping.needs = std::move(neutral.needs);
  mapping.outer = residual_dims(alignment, *walkers, *cover);
  mapping.utilisation = utilisation(alignment, *walkers, *cover);
  mapping.proof = slots == Truth::yes && elements == Truth::yes ? Proof::proved : Proof::unknown;
  mapping.dims = std::move(dims);
  return {std::move(mapping), ""};
}

}  // namespace isamap
