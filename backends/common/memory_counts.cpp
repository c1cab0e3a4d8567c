// SPDX-License-Identifier: Apache-2.0
#include "backends/common/memory_counts.h"

#include <cstdio>
#include <sstream>

namespace isamap {
namespace {

std::vector<MemoryRequests> requests_told(const std::string& output) {
  std::vector<MemoryRequests> told;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    char part[256], tensor[256], access[32];
    long requests = 0, sectors = 0, size = 0, least = 0;
    if (std::sscanf(line.c_str(), "requests of %255[^:]: %255[^:]: %ld %31s in %ld sectors of %ld bytes, at least %ld",
                    part, tensor, &requests, access, &sectors, &size, &least) == 7)
      told.push_back({part, tensor, access, requests, sectors, least, size});
  }
  return told;
}

std::vector<BankRequests> banks_told(const std::string& output) {
  std::vector<BankRequests> told;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    char part[256], array[256], access[32];
    long n[10] = {};
    if (std::sscanf(line.c_str(),
                    "passes of %255[^:]: %255[^:]: %ld %31s in %ld passes of %ld banks of %ld bytes, at least %ld; "
                    "worst %ld for %ld: line %ld, block %ld, warp %ld",
                    part, array, &n[0], access, &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9]) == 13)
      told.push_back({part, array, access, n[0], n[1], n[4], n[2], n[3], n[5], n[6], n[7], n[8], n[9]});
  }
  return told;
}

}  // namespace

MemoryCounts counts_told(const std::string& output) { return {requests_told(output), banks_told(output)}; }

}  // namespace isamap
