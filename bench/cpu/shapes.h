// SPDX-License-Identifier: Apache-2.0
#pragma once
// One shape: ours and the peers interleaved with peak measurements.

#include "bench/cpu/calibration.h"
#include "bench/cpu/cases.h"
#include "bench/cpu/record.h"

namespace isamap::bench {

/// No timings if no model runs here. Notes report differing results, which invalidate the record.
Record run_shape(const CpuCase& what, Calibration& calibration, double seconds);
/// Valid: results equal, ours not above the peak.
bool is_right(const Record& record, const CpuCase& what);

/// Version line of a compiler, "g++ (Debian 12.2.0-14) 12.2.0"; without a command the system's.
std::string compiler_version(std::string command);

}  // namespace isamap::bench
