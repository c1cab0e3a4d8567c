// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts of memory requests that an emulated program prints at its end (backends/cuda/emulation/requests.h, passes.h).

#include <string>
#include <vector>

#include "isamap/interpret.h"

namespace isamap {

struct MemoryCounts {
  std::vector<MemoryRequests> requests;
  std::vector<BankRequests> banks;
};

/// Reads the lines with counts; others are left alone.
MemoryCounts counts_told(const std::string& output);

}  // namespace isamap
