// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// A statement element by element: a loop over each dim, `do NAME with scalar`.
Nest scalar_nest(const Computation& statement);

}  // namespace isamap
