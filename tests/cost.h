// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bounds on what a test may cost: processor time, which other programs do not stretch, and more of it under sanitizers.

#include <ctime>

namespace isamap::cost {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ISAMAP_SANITIZED)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// Seconds, for a bound written for a plain build.
constexpr double allowed(double seconds) { return sanitized ? 20 * seconds : seconds; }

inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace isamap::cost
