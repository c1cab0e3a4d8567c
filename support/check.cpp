// SPDX-License-Identifier: Apache-2.0
#include "isamap/result.h"

namespace isamap {

void internal_error(const char* file, int line, const std::string& what) {
  throw InternalError(what + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace isamap
