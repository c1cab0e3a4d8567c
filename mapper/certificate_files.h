// SPDX-License-Identifier: Apache-2.0
#pragma once
// Certificates as files, each checked by the solver as written.

#include "isamap/mapper.h"

namespace isamap {

/// "mapping_12_fma.smt2"; "mapping_12b_fma.smt2": the second of the other orders of mapping 12.
std::string certificate_file(const Mapping& mapping, int other_order, const HardwareModel& model);
/// "12", "12b": the number of a mapping, or of one of its other orders, in lists; -1: the mapping itself.
std::string number_of(const Mapping& mapping, int other_order);

/// Writes one file for each mapping of `result`, and for each of its other orders, into options.certificates (created
/// when missing) and fills certificate_files with the mappings' names relative to it. If the solver answers `unknown`
/// within options.rlimit, the mapping's proof is unknown.
Diagnostics write_certificates(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                               MapResult& result);

/// Writes certificates that are texts already, by file name, into a folder as above.
Diagnostics write_certificate_texts(const std::string& folder,
                                    const std::vector<std::pair<std::string, std::string>>& texts);
/// The comments at the head of a certificate: kernel, instruction, mapping, needs, carriers.
std::vector<std::string> certificate_comments(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping);

}  // namespace isamap
