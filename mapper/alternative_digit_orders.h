// SPDX-License-Identifier: Apache-2.0
#pragma once
// The orders of a mapping's digits that are no entries of a list: where two digits move the output along one direction,
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

  /// Of a listed mapping: the other orders of the same steps on the same dims, each proved like a mapping of the list,
  /// with the mapping's id. Of several entries with these steps the first has them.
  std::vector<Mapping> of(const Mapping& mapping, const Instruction& instruction);

 private:
  struct Frame;  ///< the bodies side by side, and which steps may go where
  using Key = std::tuple<StatementId, InstructionId, std::vector<int>, bool>;

  const Kernel& kernel_;
  std::map<Key, std::shared_ptr<const Frame>> frames_;
};

}  // namespace isamap
