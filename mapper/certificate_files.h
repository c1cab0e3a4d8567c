#pragma once
// Certificates as files, each replayed by the solver as it is written.

#include "mapper/mapper.h"

namespace isamap {

/// Writes one file for each mapping of `result` into options.certificates (created when missing) and fills
/// certificate_files with names relative to it. A question that the solver answers by `unknown` within options.rlimit
/// makes the mapping's proof unknown.
Diagnostics write_certificates(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                               MapResult& result);

}  // namespace isamap
