// SPDX-License-Identifier: Apache-2.0
#include "backends/common/memory_counts.h"

#include <cstdio>
#include <fstream>
#include <optional>

namespace isamap {
namespace {

/// `WORD of PART: ARRAY: rest`.
struct CountLine {
  std::string part, array, rest;
};

std::optional<CountLine> count_line(const std::string& line, const std::string& word) {
  const std::string begin = word + " of ";
  if (!line.starts_with(begin)) return std::nullopt;
  const std::size_t first = line.find(": "), second = first == line.npos ? first : line.find(": ", first + 2);
  if (second == line.npos) return std::nullopt;
  return CountLine{line.substr(begin.size(), first - begin.size()), line.substr(first + 2, second - first - 2),
                   line.substr(second + 2)};
}

std::optional<MemoryRequests> requests_in(const std::string& line) {
  const auto told = count_line(line, "requests");
  char access[32];
  long requests = 0, sectors = 0, size = 0, least = 0;
  if (!told || std::sscanf(told->rest.c_str(), "%ld %31s in %ld sectors of %ld bytes, at least %ld", &requests, access,
                           &sectors, &size, &least) != 5)
    return std::nullopt;
  return MemoryRequests{told->part, told->array, access, requests, sectors, least, size};
}

std::optional<BankRequests> banks_in(const std::string& line) {
  const auto told = count_line(line, "passes");
  char access[32];
  long n[10] = {};
  if (!told || std::sscanf(told->rest.c_str(),
                           "%ld %31s in %ld passes of %ld banks of %ld bytes, at least %ld; worst %ld for %ld: line "
                           "%ld, block %ld, warp %ld",
                           &n[0], access, &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9]) != 11)
    return std::nullopt;
  return BankRequests{told->part, told->array, access, n[0], n[1], n[4], n[2], n[3], n[5], n[6], n[7], n[8], n[9]};
}

}  // namespace

MemoryCounts counts_in(const std::filesystem::path& log) {
  MemoryCounts counts;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (auto requests = requests_in(line)) counts.requests.push_back(std::move(*requests));
    if (auto banks = banks_in(line)) counts.banks.push_back(std::move(*banks));
  }
  return counts;
}

}  // namespace isamap
