// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a failed invariant throws: isamap is wrong, not its user. A library leaves to its host what becomes of that; the
// program prints the text and ends with 70.

#include <stdexcept>
#include <string>

namespace isamap {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace isamap
