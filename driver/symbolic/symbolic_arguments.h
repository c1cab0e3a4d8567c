// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isamap/program.h"

namespace isamap {

/// The kernel and its arguments without code: the calling convention of programs whose code is elsewhere.
Program symbolic_arguments(const Kernel& kernel);

}  // namespace isamap
