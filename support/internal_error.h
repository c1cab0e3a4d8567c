// SPDX-License-Identifier: Apache-2.0
#pragma once
// Thrown by a failed invariant, a bug of isamap. A host of the library may catch it; the program prints the text and
// exits with 70.

#include <stdexcept>

namespace isamap {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace isamap
