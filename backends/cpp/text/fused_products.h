// SPDX-License-Identifier: Apache-2.0
#pragma once
// `multiply_add` of the functions of reals (backends/cpp/text/real_functions.h) with one rounding, where the target has
// that: of a float by the compiler's function, of a register by the text of the target's instruction
//
//   C[j] += A[j] * B[j]     numerics: {fused: true}
//
// Half as many operations: exp, tanh and erf of GCC 12's loops take 0.6 to 0.7 of the time (AVX2). Compilers contract
// no vectors on their own without contracting the statements' products, too, which round as they are written.

#include <string>

#include "isamap/hardware.h"

namespace isamap {

/// The text of helpers with the body of `multiply_add` for this machine.
std::string with_fused_products(std::string helpers, const HardwareModel& model);

}  // namespace isamap
