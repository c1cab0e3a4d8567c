// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// A statement element by element: a loop over each dim, those of one step included, and `do NAME with scalar`.
Nest nest_of_all_dims(const Computation& statement);

}  // namespace isamap
