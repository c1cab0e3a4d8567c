// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts of memory requests that an emulated program prints at its end (backends/cuda/emulation/requests.h, passes.h).

#include <filesystem>
#include <vector>

#include "isamap/interpret.h"

namespace isamap {

struct MemoryCounts {
  std::vector<MemoryRequests> requests;
  std::vector<BankRequests> banks;
};

/// In what the program wrote; other lines are left alone.
MemoryCounts counts_in(const std::filesystem::path& log);

}  // namespace isamap
