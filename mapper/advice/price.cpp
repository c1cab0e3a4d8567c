// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/price.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/legal.h"
#include "mapper/match/instruction_tree.h"
#include "mapper/proof/conditions.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

class Pricing {
 public:
  Pricing(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping)
      : mapping_(mapping),
        alignment_(mapping.rolled.empty() ? align(kernel, mapping.statement, instruction, mapping.instruction,
                                                  {mapping.operands, mapping.constant})
                                          : alignment_of(kernel, instruction, mapping)),
        digit_steps_(digit_steps_of(alignment_, mapping.dims).value_or(std::vector<DigitStep>{})) {}

  Price run() const {
    Price price;
    price.calls = calls(~OperandSet{0});
    double instruction_points = 1, points = 1;
    for (const Dim& dim : alignment_.semantics().domain.dims) instruction_points *= static_cast<double>(dim.extent);
    for (const Dim& dim : alignment_.computation().domain.dims) points *= static_cast<double>(dim.extent);
    price.extra_points = std::max(price.calls * instruction_points - points, 0.0);
    for (int t = 0; t < alignment_.operand_count(); ++t) price.operands.push_back(operand(t));
    return price;
  }

 private:
  bool uses(int m, int t) const { return (alignment_.instruction_uses[static_cast<std::size_t>(m)] >> t & 1U) != 0; }
  int instruction_dims() const { return static_cast<int>(alignment_.instruction_uses.size()); }
  const std::string& instruction_dim(int m) const {
    return alignment_.semantics().domain.dims[static_cast<std::size_t>(m)].name;
  }

  IntVector column_of(const AffineExpr& step) const {
    IntVector column;
    for (const Dim& dim : alignment_.computation().domain.dims) column.push_back(step.coefficient(dim.name));
    return column;
  }

  /// Iterations of the loops and tiles that move one of the operands.
  double calls(OperandSet operands) const {
    const auto moves = [&](const IntVector& column) {
      for (int t = 0; t < alignment_.operand_count(); ++t)
        if ((operands >> t & 1U) != 0 && !is_invariant(alignment_, t, column)) return true;
      return false;
    };
    double count = 1;
    for (const ResidualLoop& loop : mapping_.loops)
      if (moves(column_of(loop.step))) count *= static_cast<double>(loop.extent);
    for (int m = 0; m < instruction_dims(); ++m) {
      const bool moved = std::any_of(digit_steps_.begin(), digit_steps_.end(),
                                     [&](const DigitStep& w) { return w.on(m) != nullptr && moves(w.column); });
      if (moved) {
        count *= static_cast<double>(
            ceil_div(std::max<std::int64_t>(digits_extent(digit_steps_, m), 1), instruction_extent(alignment_, m)));
      }
    }
    return count;
  }

  OperandPrice operand(int t) const {
    OperandPrice price;
    const Tensor& tensor = alignment_.kernel->tensors[alignment_.access(t).tensor.index()];
    price.operand = alignment_.operand_name(t);
    price.tensor = tensor.name;
    price.why_packed = shape_of(t);
    if (const std::string padding = padding_of(t); price.why_packed.empty() && !padding.empty()) {
      price.why_packed = padding;
      price.padded = true;
    }
    price.direct = price.why_packed.empty();
    double slots = 1, elements = 1;
    for (int m = 0; m < instruction_dims(); ++m)
      if (uses(m, t)) slots *= static_cast<double>(instruction_extent(alignment_, m));
    for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
    const double size = static_cast<double>(bits(tensor.dtype)) / 8;
    price.bytes = calls(OperandSet{1} << t) * slots * size;
    price.extra_bytes = price.direct ? 0 : std::max(price.bytes - elements * size, 0.0);
    return price;
  }

  std::string padding_of(int t) const {
    for (const Carrier& carrier : mapping_.carriers) {
      if (t > 0 && carrier.access == mapping_.operands[static_cast<std::size_t>(t)])
        return "its surplus slots hold the constant that makes " + carrier.reason + " vanish";
    }
    return "";
  }

  std::string shape_of(int t) const {
    if (mapping_.constant &&
        mapping_.operands[static_cast<std::size_t>(t)] == access_count(alignment_.computation()) - 1)
      return "a constant tile, made once";
    for (const IndexRow& row : alignment_.rows[static_cast<std::size_t>(t)])
      if (!row.linear) return "its index divides";
    for (const DigitStep& w : digit_steps_) {
      const auto used = std::count_if(w.places.begin(), w.places.end(),
                                      [&](const DigitStep::Place& place) { return uses(place.dim, t); });
      if (used > 1) return "only its diagonal is live";
    }
    for (int m = 0; m < instruction_dims(); ++m) {
      if (!uses(m, t)) continue;
      std::optional<std::int64_t> per_count;
      for (const DigitStep& w : digit_steps_) {
        const DigitStep::Place* place = w.on(m);
        if (place == nullptr || w.extent <= 1) continue;
        const std::int64_t step = element_step(alignment_, t, w.column);
        if (step % place->weight != 0 || (per_count && *per_count != step / place->weight))
          return fmt::format("neighbours along {} are not one step apart", instruction_dim(m));
        per_count = step / place->weight;
      }
    }
    return "";
  }

  const Mapping& mapping_;
  Alignment alignment_;
  std::vector<DigitStep> digit_steps_;
};

}  // namespace

Price price_of(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping) {
  return Pricing(kernel, instruction, mapping).run();
}

Price price_of(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping) {
  return price_of(kernel, instruction_of(mapping, model), mapping);
}

double points_per_cycle(const Instruction& instruction) {
  const std::vector<std::int64_t> extents = largest_extents(instruction);
  double points = 1;
  for (const std::int64_t extent : extents) points *= static_cast<double>(extent);
  const auto extent_of = [&](const Reference& r) -> std::optional<std::int64_t> {
    const int d = r.object == "extent" ? instruction.statement().domain.find(r.argument) : -1;
    return d < 0 ? std::nullopt : std::optional(extents[static_cast<std::size_t>(d)]);
  };
  const auto& interval = instruction.timing.interval;
  const auto cycles = interval ? evaluate(*interval, extent_of) : std::optional<std::int64_t>(1);
  return cycles && *cycles > 0 ? points / static_cast<double>(*cycles) : points;
}

}  // namespace isamap
