// SPDX-License-Identifier: Apache-2.0
#pragma once
// Certificates as files, each replayed by the solver as it is written.

#include "isamap/mapper.h"

namespace isamap {

/// "mapping_12_fma.smt2"; "mapping_12b_fma.smt2": of the second of the other orders of mapping 12.
std::string certificate_file(const Mapping& mapping, int other_order, const HardwareModel& model);
/// "12", "12b": how a mapping and its other orders are numbered where they are listed; -1: the mapping itself.
std::string number_of(const Mapping& mapping, int other_order);

/// Writes one file for each mapping of `result`, and for each of its other orders, into options.certificates (created
/// when missing) and fills certificate_files with the mappings' names relative to it. A question that the solver
/// answers by `unknown` within options.rlimit makes the mapping's proof unknown.
Diagnostics write_certificates(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                               MapResult& result);

}  // namespace isamap
