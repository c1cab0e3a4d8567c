// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schedules of a program for all sizes: each with the sizes that it serves.
//
//   schedule: projection
//   kernel: projection
//   target: x86_avx512
//   versions:
//     - when: ["M <= 8"]
//       nest:
//         - for i by 8
//         ..
//     - nest:
//         ..
//
// The first version serves whose conditions all hold, else the last one. That one of them does, for every size that
// satisfies the facts of the kernel, is proved when the file is read.

#include <string>
#include <vector>

#include "isamap/schedule.h"
#include "isamap/symbolic.h"

namespace isamap {

class HardwareModel;

struct ScheduleVersion {
  std::vector<SizeFact> when;  ///< none: every size that no version before it serves
  /// One of the whole kernel. Where the statements are grids of blocks (include/isamap/block_program.h): one for each.
  std::vector<Schedule> schedules;
  SourceLocation where = {};
};

/// The text of the file; `comments`: lines above each version, by version.
std::string print(const std::vector<ScheduleVersion>& versions, const std::vector<std::string>& comments = {});

/// Errors: a schedule that is illegal for the kernel, a condition over unknown names, sizes that no version serves,
/// with an example. Empty: the file has one schedule, without versions (include/isamap/scheduler.h).
Result<std::vector<ScheduleVersion>> parse_schedule_versions(const std::string& text, const std::string& file,
                                                             const SymbolicKernel& kernel, const HardwareModel& model);
Result<std::vector<ScheduleVersion>> load_schedule_versions(const std::string& path, const SymbolicKernel& kernel,
                                                            const HardwareModel& model);

/// Which version serves these sizes, from 0 on.
std::size_t version_at(const std::vector<ScheduleVersion>& versions, const Bindings& sizes);

}  // namespace isamap
