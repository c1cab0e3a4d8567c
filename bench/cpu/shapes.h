// SPDX-License-Identifier: Apache-2.0
#pragma once
// One shape: ours and the peers in turn, beside what the processor can do at that moment.

#include "bench/cpu/calibration.h"
#include "bench/cpu/cases.h"
#include "bench/cpu/record.h"

namespace isamap::bench {

/// Without timings where no model runs here. Notes say where results differ: such a record is wrong.
Record run_shape(const CpuCase& what, Calibration& calibration, double seconds);
/// Results equal, nothing of ours above the peak.
bool is_right(const Record& record, const CpuCase& what);

/// What a compiler says it is, "g++ (Debian 12.2.0-14) 12.2.0"; without a command the system's.
std::string compiler_version(std::string command);

}  // namespace isamap::bench
