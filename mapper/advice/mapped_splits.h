// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ways to split a statement that no instruction covers into statements that instructions of a machine cover.

#include "isamap/mapper.h"
#include "mapper/advice/statement_splits.h"

namespace isamap {

struct MappedSplit {
  Kernel kernel;
  std::vector<SplitPart> parts;  ///< one split after the other
};

/// Splits after which every part maps, those with the fewest parts first; a few of them. A part is not larger than the
/// largest tensor of the kernel, as it may be stored. None where statements are repeated.
std::vector<MappedSplit> mapped_splits(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                                       const MapOptions& options);

}  // namespace isamap
