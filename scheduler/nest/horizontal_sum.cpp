// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/horizontal_sum.h"

#include "ir/scalar/scalar_functions.h"

namespace isamap {

std::int64_t lanes_added_up(const Instruction& instruction, Reduction reduction, DType type) {
  if (!is_compute(instruction)) return 0;
  const Computation& meaning = instruction.statement();
  if (meaning.reduction != reduction || meaning.body.type != type || !meaning.write.index.empty() ||
      meaning.reads.size() != 1 || meaning.domain.dims.size() != 1)
    return 0;
  const auto lane = meaning.reads[0].index.size() == 1 ? meaning.reads[0].index[0].as_dim() : std::nullopt;
  const bool only_read = std::holds_alternative<Read>(meaning.body.op);
  return lane && only_read ? meaning.domain.dims[0].extent : 0;
}

bool sums_lanes_in_any_order(const Instruction& instruction) {
  if (!is_compute(instruction) || !instruction.numerics.order_any) return false;
  const Computation& meaning = instruction.statement();
  return is_float(meaning.body.type) && lanes_added_up(instruction, meaning.reduction, meaning.body.type) > 1;
}

bool differs_in_last_digits(const Instruction& instruction) {
  return is_compute(instruction) &&
         (sums_lanes_in_any_order(instruction) || approximates(instruction.statement().body));
}

}  // namespace isamap
