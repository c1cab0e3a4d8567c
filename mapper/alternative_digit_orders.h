// SPDX-License-Identifier: Apache-2.0
#pragma once
// Digit orders of a mapping that the list does not contain: where two digits move the output along one direction,
// either may be the finer one, `2*q` and `q - s` or `q` and `2*q - 2*s` (docs/mapping.md).

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

class AlternativeDigitOrders {
 public:
  explicit AlternativeDigitOrders(const Kernel& kernel) : kernel_(kernel) {}

  /// The other orders of a listed mapping's steps on the same dims, each proved like a listed mapping, with the same
  /// id. If several entries have these steps, the orders belong to the first.
  std::vector<Mapping> of(const Mapping& mapping, const Instruction& instruction);

 private:
  struct Frame;  ///< the alignment, and the dims each step may be placed on
  using Key = std::tuple<StatementId, InstructionId, std::vector<int>, bool>;

  const Kernel& kernel_;
  std::map<Key, std::shared_ptr<const Frame>> frames_;
};

}  // namespace isamap
