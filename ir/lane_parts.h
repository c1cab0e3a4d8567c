// SPDX-License-Identifier: Apache-2.0
#pragma once
// A reduction side by side in lanes, as a kernel of more statements.
//
//   y[i] += A[i,k] * x[k]     in 16 lanes along k, K = 16*Q + T, gives
//
//   y_parts[i,l] += A[i,16*q + l] * x[16*q + l]     q < Q, l < 16: an ordinary statement, whose lanes lie side by side
//   y_tail[i,t]   = A[i,16*Q + t] * x[16*Q + t]     t < T
//   y_whole[i]   += y_parts[i,l]
//   y_rest[i]    += y_tail[i,t]
//   y[i]          = y_whole[i] + y_rest[i]
//
// and without a tail y[i] += y_parts[i,l]. A reduction factored so is known as rfactor (Suriana, Adams, Kamil: Parallel
// associative reductions in Halide, CGO 2017). Operators of reductions are associative and commute, on reals but for
// rounding. Instructions that add `depth` neighbours up in each lane take 16*depth elements of k at a time.

#include <string>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace isamap {

/// `s0 k 16`: the reduction over k of statement s0 in 16 lanes; `s0 k 16 by 2`: each lane takes pairs.
struct LaneParts {
  std::string statement, dim;
  std::int64_t lanes = 1, depth = 1;
  bool operator==(const LaneParts&) const = default;
};
std::string print(const LaneParts& parts);
Result<LaneParts> parse_lane_parts(const std::string& text, const SourceLocation& where = {});

/// The kernel with these reductions in lanes; tensors and arguments of the kernel keep their numbers. Errors name the
/// statement, the dim, its extent and what is needed.
Result<Kernel> in_lanes(const Kernel& kernel, const std::vector<LaneParts>& parts, const SourceLocation& where = {});

/// The same of parts that are known to fit: what a schedule that has been read is for.
Kernel in_lanes_of(const Kernel& kernel, const std::vector<LaneParts>& parts);

}  // namespace isamap
