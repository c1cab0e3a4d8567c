// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/conditions.h"

#include <algorithm>
#include <numeric>

#include "mapper/proof/differences.h"
#include "support/arithmetic.h"
#include "support/box.h"

namespace isamap {
namespace {

std::optional<IntVector> as_column(const AffineExpr& e, const IterationDomain& domain) {
  if (!e.is_linear() || e.constant() != 0) return std::nullopt;
  IntVector column(domain.dims.size(), 0);
  for (const AffineTerm& term : e.terms()) {
    const int d = domain.find(std::get<std::string>(term.atom));
    if (d < 0) return std::nullopt;
    column[static_cast<std::size_t>(d)] = term.coefficient;
  }
  return column;
}

bool uses(OperandSet set, int t) { return (set >> t & 1U) != 0; }

/// Operands that use one of the digit's dims.
OperandSet uses_of(const Alignment& alignment, const DigitStep& digit_step) {
  OperandSet set = 0;
  for (const DigitStep::Place& place : digit_step.places)
    set |= alignment.instruction_uses[static_cast<std::size_t>(place.dim)];
  return set;
}

constexpr std::int64_t max_counted = 1'000'000;

struct Image {
  IntVector direction;    ///< primitive, first entry positive
  std::int64_t size = 0;  ///< image = size * direction, up to sign
  std::int64_t extent = 1;
};

Image image_of(IntVector v, std::int64_t extent) {
  std::int64_t g = 0;
  for (const std::int64_t x : v) g = std::gcd(g, x);
  if (g == 0) return {std::move(v), 0, extent};
  const auto lead = std::find_if(v.begin(), v.end(), [](std::int64_t x) { return x != 0; });
  const std::int64_t sign = *lead < 0 ? -1 : 1;
  for (auto& x : v) x = x / g * sign;
  return {std::move(v), g, extent};
}

/// Images along independent directions; on each, every size exceeds the total reach of the smaller ones: sum of
/// size*(e-1) of the smaller < size. Then a sum of digit differences is 0 only when each is.
bool radix(std::vector<Image> images) {
  std::vector<IntVector> directions;
  for (const Image& image : images) {
    if (image.size == 0) return false;
    if (std::find(directions.begin(), directions.end(), image.direction) == directions.end())
      directions.push_back(image.direction);
  }
  std::stable_sort(images.begin(), images.end(), [](const Image& a, const Image& b) { return a.size < b.size; });
  for (const auto& direction : directions) {
    std::int64_t below = 0;
    for (const Image& image : images) {
      if (image.direction != direction) continue;
      if (below >= image.size) return false;
      const auto span = checked_mul(image.size, image.extent - 1);
      const auto sum = span ? checked_add(below, *span) : std::nullopt;
      if (!sum) return false;
      below = *sum;
    }
  }
  return independent(directions);
}

/// The fraction of the box, over the dims of the faces, that lies inside all faces.
double share_inside(const IterationDomain& domain) {
  std::vector<std::string> names;
  std::vector<std::int64_t> extents;
  std::int64_t box = 1;
  for (const Dim& dim : domain.dims) {
    const bool spoken_of = std::any_of(domain.faces.begin(), domain.faces.end(),
                                       [&](const AffineExpr& face) { return face.names().count(dim.name) > 0; });
    if (!spoken_of) continue;
    names.push_back(dim.name);
    extents.push_back(dim.extent);
    box = checked_mul(box, dim.extent).value_or(max_counted + 1);
    if (box > max_counted) return 1;
  }
  std::vector<CompiledAffine> faces;
  for (const AffineExpr& face : domain.faces) faces.emplace_back(face, names);
  std::vector<std::int64_t> x(names.size(), 0);
  std::int64_t inside = 0;
  for (std::int64_t n = 0; n < box; ++n) {
    inside += std::all_of(faces.begin(), faces.end(), [&](const CompiledAffine& face) { return face(x.data()) >= 0; })
                  ? 1
                  : 0;
    advance(x, extents);
  }
  return static_cast<double>(inside) / static_cast<double>(box);
}

}  // namespace

const DigitStep::Place* DigitStep::on(int dim) const {
  for (const Place& place : places)
    if (place.dim == dim) return &place;
  return nullptr;
}

std::uint32_t DigitStep::dims() const {
  std::uint32_t set = 0;
  for (const Place& place : places) set |= std::uint32_t{1} << place.dim;
  return set;
}

std::int64_t digits_extent(const std::vector<DigitStep>& digit_steps, int m) {
  std::int64_t extent = 1;
  for (const DigitStep& digit_step : digit_steps)
    if (digit_step.on(m) != nullptr) extent *= digit_step.extent;
  return extent;
}

std::optional<std::vector<DigitStep>> digit_steps_of(const Alignment& alignment,
                                                     const std::vector<std::vector<Digit>>& dims) {
  std::vector<DigitStep> digit_steps;
  std::size_t count = 0;
  for (const auto& digits : dims) count += digits.size();
  digit_steps.reserve(count);
  for (std::size_t m = 0; m < dims.size(); ++m) {
    std::int64_t weight = 1;
    for (const Digit& digit : dims[m])
      weight = checked_mul(weight, std::max<std::int64_t>(digit.extent, 1)).value_or(-1);
    if (weight < 0) return std::nullopt;
    for (const Digit& digit : dims[m]) {
      auto column = as_column(digit.column, alignment.computation().domain);
      if (!column || digit.extent < 0) return std::nullopt;
      weight /= std::max<std::int64_t>(digit.extent, 1);
      const auto tied = std::find_if(digit_steps.begin(), digit_steps.end(), [&](const DigitStep& w) {
        return w.column == *column && w.extent == digit.extent && w.on(static_cast<int>(m)) == nullptr;
      });
      if (tied != digit_steps.end())
        tied->places.push_back({static_cast<int>(m), weight});
      else
        digit_steps.push_back({std::move(*column), digit.extent, {{static_cast<int>(m), weight}}});
    }
  }
  return digit_steps;
}

namespace {

/// The change of each index of the instruction (slot) and of the statement (element) by one step of each digit.
struct Steps {
  std::vector<IntVector> slot, element;
};

/// Nothing where an index is not linear.
std::optional<Steps> steps_of(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, int t) {
  Steps steps;
  for (const IndexRow& row : alignment.instruction_rows[static_cast<std::size_t>(t)]) {
    if (!row.linear) return std::nullopt;
    IntVector moves;
    for (const DigitStep& digit_step : digit_steps) {
      std::int64_t sum = 0;
      for (const DigitStep::Place& place : digit_step.places) {
        const auto step = checked_mul(row.coefficients[static_cast<std::size_t>(place.dim)], place.weight);
        const auto total = step ? checked_add(sum, *step) : std::nullopt;
        if (!total) return std::nullopt;
        sum = *total;
      }
      moves.push_back(sum);
    }
    steps.slot.push_back(std::move(moves));
  }
  for (const IndexRow& row : alignment.rows[static_cast<std::size_t>(t)]) {
    IntVector moves;
    for (const DigitStep& digit_step : digit_steps) {
      const auto step = step_of(row, digit_step.column);
      if (!step) return std::nullopt;
      moves.push_back(*step);
    }
    steps.element.push_back(std::move(moves));
  }
  return steps;
}

/// Is the element a linear function of the slot? Then equal slots hold equal elements.
bool slot_determines_element(const Steps& steps) {
  RowSpan slots;
  for (const IntVector& row : steps.slot) slots.add(row);
  return std::all_of(steps.element.begin(), steps.element.end(),
                     [&](const IntVector& row) { return slots.contains(row); });
}

/// Do digit differences within a call that are 0 in the rows `given` also give 0 in the rows `implied`?
Truth implied_in_call(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                      const std::optional<Steps>& steps, bool by_slot) {
  const std::vector<Dim>& dims = alignment.computation().domain.dims;
  if (std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.extent == 0; }))
    return Truth::yes;  // no point
  if (!steps) return Truth::unknown;
  if (by_slot && slot_determines_element(*steps)) return Truth::yes;
  return by_slot ? decided_by_differences(alignment, digit_steps, steps->slot, steps->element)
                 : decided_by_differences(alignment, digit_steps, steps->element, steps->slot);
}

/// An instruction that adds up dims in an index.
Truth sound_by_steps(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet& open) {
  open = 0;
  for (int t = 0; t < alignment.operand_count(); ++t) {
    const Truth truth = implied_in_call(alignment, digit_steps, steps_of(alignment, digit_steps, t), true);
    if (truth == Truth::no) return Truth::no;
    if (truth == Truth::unknown) open |= OperandSet{1} << t;
  }
  return open == 0 ? Truth::yes : Truth::unknown;
}

bool is_projection(const Access& access) {
  return std::all_of(access.index.begin(), access.index.end(),
                     [](const AffineExpr& index) { return index.is_constant() || index.as_dim().has_value(); });
}

}  // namespace

Truth sound(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, OperandSet& open) {
  open = 0;
  if (!alignment.projection) return sound_by_steps(alignment, digit_steps, open);
  for (const DigitStep& digit_step : digit_steps) {
    if (digit_step.extent <= 1) continue;
    for (int t = 0; t < alignment.operand_count(); ++t) {
      if (uses(uses_of(alignment, digit_step), t)) continue;
      for (const IndexRow& row : alignment.rows[static_cast<std::size_t>(t)]) {
        const auto step = step_of(row, digit_step.column);
        if (!step)
          open |= OperandSet{1} << t;
        else if (*step != 0)
          return Truth::no;
      }
    }
  }
  return open == 0 ? Truth::yes : Truth::unknown;
}

Truth no_partials(const Alignment& alignment, const std::vector<DigitStep>& digit_steps) {
  if (!is_projection(alignment.instruction_access(0)))
    return implied_in_call(alignment, digit_steps, steps_of(alignment, digit_steps, 0), false);
  std::vector<IntVector> vectors;
  std::vector<std::int64_t> extents;
  vectors.reserve(digit_steps.size());
  bool linear = true;
  for (const DigitStep& digit_step : digit_steps) {
    if (digit_step.extent <= 1 || !uses(uses_of(alignment, digit_step), 0)) continue;
    if (is_invariant(alignment, 0, digit_step.column)) continue;  // kind `partial`
    IntVector& image = vectors.emplace_back();
    for (const IndexRow& row : alignment.rows[0]) {
      const auto step = step_of(row, digit_step.column);
      linear = linear && step.has_value();
      image.push_back(step.value_or(0));
    }
    extents.push_back(digit_step.extent);
  }
  // Nonlinear rows can only separate more elements: what the linear rows separate is separate.
  if (independent(vectors)) return Truth::yes;
  std::vector<Image> images;
  for (std::size_t v = 0; v < vectors.size(); ++v) images.push_back(image_of(std::move(vectors[v]), extents[v]));
  if (radix(std::move(images))) return Truth::yes;
  return linear ? Truth::no : Truth::unknown;
}

namespace {

/// Of a tied digit: one dim, as a rule.
std::string column_name(const Alignment& alignment, const IntVector& column) {
  std::string text;
  for (std::size_t d = 0; d < column.size(); ++d) {
    if (column[d] == 0) continue;
    text += (text.empty() ? "" : "+") + (column[d] == 1 ? "" : std::to_string(column[d]) + "*");
    text += alignment.computation().domain.dims[d].name;
  }
  return text;
}

}  // namespace

std::vector<Padding> fills(const Alignment& alignment, const std::vector<DigitStep>& digit_steps) {
  std::vector<Padding> reasons;
  for (std::size_t m = 0; m < alignment.instruction_uses.size(); ++m) {
    const std::int64_t extent = instruction_extent(alignment, static_cast<int>(m));
    const std::int64_t last = digits_extent(digit_steps, static_cast<int>(m)) % extent;
    if (last != 0) {
      reasons.push_back({"fill " + alignment.semantics().domain.dims[m].name,
                         std::uint32_t{1} << m,
                         static_cast<int>(m),
                         -1,
                         0,
                         {},
                         allows_extent(*alignment.hardware, static_cast<int>(m), last)});
    }
  }
  for (std::size_t w = 0; w < digit_steps.size(); ++w) {
    const std::uint32_t moving = varies_in_call(alignment, digit_steps[w]);
    const auto& places = digit_steps[w].places;
    const auto dim_of = [&](std::size_t p) {
      return alignment.semantics().domain.dims[static_cast<std::size_t>(places[p].dim)].name;
    };
    for (std::size_t p = 1; p < places.size(); ++p) {
      const std::uint32_t deciding = moving & (std::uint32_t{1} << places[0].dim | std::uint32_t{1} << places[p].dim);
      if (deciding == 0) continue;  // constant within a call
      Padding tie{"tie " + dim_of(0) + "." + dim_of(p) + " " + column_name(alignment, digit_steps[w].column),
                  deciding,
                  -1,
                  static_cast<int>(w),
                  static_cast<int>(p),
                  {}};
      reasons.push_back(std::move(tie));
    }
  }
  return reasons;
}

std::vector<Padding> paddings(const Alignment& alignment, const std::vector<DigitStep>& digit_steps,
                              const Cover& cover) {
  const IterationDomain& domain = alignment.computation().domain;
  std::vector<Padding> reasons;
  reasons.reserve(8);
  const auto deciding = [&](int d) {
    std::uint32_t dims = 0;
    for (const DigitStep& w : digit_steps) {
      if (d >= 0 && w.column[static_cast<std::size_t>(d)] != 0) dims |= varies_in_call(alignment, w);
    }
    return dims;
  };
  for (const AffineExpr& face : domain.faces) {
    std::uint32_t dims = 0;
    for (const std::string& name : face.names()) dims |= deciding(domain.find(name));
    if (dims != 0) reasons.push_back({print(face) + ">=0", dims, -1, -1, 0, {}});
  }
  for (std::size_t d = 0; d < domain.dims.size(); ++d) {
    const Dim& dim = domain.dims[d];
    const std::uint32_t dims = deciding(static_cast<int>(d));
    if (dims == 0 || dim.extent == 0) continue;
    const std::size_t before = reasons.size();
    if (cover.below[d]) reasons.push_back({dim.name + ">=0", dims, -1, -1, 0, {}});
    if (cover.beyond[d]) reasons.push_back({dim.name + "<=" + std::to_string(dim.extent - 1), dims, -1, -1, 0, {}});
    if (reasons.size() == before) continue;
    const bool bounds_loops = aligned(alignment, digit_steps, cover, d);
    for (std::size_t r = before; r < reasons.size(); ++r) reasons[r].aligned = bounds_loops;
  }
  for (Padding& fill : fills(alignment, digit_steps)) reasons.push_back(std::move(fill));
  return reasons;
}

Neutral neutralise(const Alignment& alignment, const std::vector<Padding>& reasons,
                   const std::vector<Annihilator>& annihilators) {
  const auto determines = [&](int t, std::uint32_t dims) {
    for (std::size_t m = 0; m < alignment.determined_by.size(); ++m) {
      if ((dims >> m & 1U) != 0 && !uses(alignment.determined_by[m], t)) return false;
    }
    return true;
  };
  Neutral result;
  result.carriers.reserve(reasons.size() + 1);
  for (const Padding& padding : reasons) {
    if (determines(0, padding.dims)) {
      result.carriers.push_back({padding.reason, 0});
      continue;
    }
    const auto annihilator = std::find_if(annihilators.begin(), annihilators.end(), [&](const Annihilator& k) {
      return std::all_of(k.begin(), k.end(),
                         [&](const auto& entry) { return determines(entry.first + 1, padding.dims); });
    });
    if (annihilator == annihilators.end()) {
      if (padding.avoidable || padding.aligned) continue;
      result.uncarried = padding;
      return result;
    }
    for (const auto& [read, value] : *annihilator) {
      result.carriers.push_back({padding.reason, alignment.operands[static_cast<std::size_t>(read) + 1]});
    }
    // An input that does not distinguish padding has live values where the constant is 0: 0 times infinity is not 0.
    for (int t = 1; t < alignment.operand_count(); ++t) {
      if (!determines(t, padding.dims) &&
          is_float(alignment.kernel->tensors[alignment.access(t).tensor.index()].dtype) && result.needs.empty()) {
        result.needs.push_back("finite");
      }
    }
  }
  return result;
}

double utilisation(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover) {
  const IterationDomain& domain = alignment.computation().domain;
  double points = 1, calls = 1, instruction_points = 1;
  for (const Dim& dim : domain.dims) points *= static_cast<double>(dim.extent);
  if (!domain.faces.empty() && points > 0) points *= share_inside(domain);
  for (const Cover::Loop& loop : cover.loops) calls *= static_cast<double>(loop.extent);
  for (std::size_t m = 0; m < alignment.instruction_uses.size(); ++m) {
    const std::int64_t extent = instruction_extent(alignment, static_cast<int>(m));
    calls *= static_cast<double>(ceil_div(digits_extent(digit_steps, static_cast<int>(m)), extent));
    instruction_points *= static_cast<double>(extent);
  }
  return points == 0 ? 0 : points / (calls * instruction_points);
}

// The part of a digit that varies within a call, and the part that its tile determines.

std::uint32_t varies_in_call(const Alignment& alignment, const DigitStep& digit_step) {
  std::uint32_t set = 0;
  if (digit_step.extent <= 1) return 0;
  for (const DigitStep::Place& place : digit_step.places)
    if (place.weight % instruction_extent(alignment, place.dim) != 0) set |= std::uint32_t{1} << place.dim;
  return set;
}

namespace {

/// A digit inside a call: its values are `block` * (a number that depends on the tile) + 0..steps-1. Nothing where
/// tiles cut it unevenly.
struct InCall {
  std::int64_t steps = 1, block = 1;
  bool tiled = false;
};
std::optional<InCall> in_call(const Alignment& alignment, const DigitStep& digit_step) {
  const DigitStep::Place& place = digit_step.places.front();
  const std::int64_t extent = instruction_extent(alignment, place.dim);
  if (place.weight % extent == 0) return InCall{1, 1, true};
  if (extent % place.weight != 0) return std::nullopt;
  const std::int64_t block = extent / place.weight;
  if (block % digit_step.extent == 0) return InCall{digit_step.extent, digit_step.extent, false};
  if (digit_step.extent % block == 0) return InCall{block, block, true};
  return std::nullopt;
}

}  // namespace

/// Do calls cover coordinate d in blocks that are entirely inside or outside the domain? Within a call it grows from a
/// multiple of g by less than g, where g divides the extent and all steps of loops and tiles.
bool aligned(const Alignment& alignment, const std::vector<DigitStep>& digit_steps, const Cover& cover, std::size_t d) {
  std::int64_t g = alignment.computation().domain.dims[d].extent, reach = 0;
  for (const Cover::Loop& loop : cover.loops) g = std::gcd(g, loop.step[d]);
  for (const DigitStep& digit_step : digit_steps) {
    if (digit_step.column[d] == 0 || digit_step.extent <= 1) continue;
    const auto part = in_call(alignment, digit_step);
    if (!part || (part->steps > 1 && digit_step.column[d] < 0)) return false;
    if (part->tiled) g = std::gcd(g, digit_step.column[d] * part->block);
    reach += digit_step.column[d] * (part->steps - 1);
  }
  return reach < g;
}

}  // namespace isamap
