// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the emulation counts of requests to a memory in banks, read back.

#include <map>
#include <sstream>
#include <string>

#include "tests/cuda/support.h"

namespace isamap {

struct ToldPasses {
  long requests = 0, passes = 0, least = 0, worst = 0, worst_least = 0, line = 0;
  bool operator==(const ToldPasses&) const = default;
  double degree() const { return least > 0 ? double(passes) / double(least) : 0; }
};

/// By "kernel array access"; the sums of a kernel by "kernel".
inline std::map<std::string, ToldPasses> passes_in(const std::string& output) {
  std::map<std::string, ToldPasses> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    char kernel[99], array[99], access[99];
    ToldPasses t;
    long banks = 0, width = 0;
    if (std::sscanf(line.c_str(),
                    "passes of %98[^:]: %98[^:]: %ld %98s in %ld passes of %ld banks of %ld bytes, at least %ld; worst "
                    "%ld for %ld: line %ld,",
                    kernel, array, &t.requests, access, &t.passes, &banks, &width, &t.least, &t.worst, &t.worst_least,
                    &t.line) == 11) {
      EXPECT_EQ(banks, 32);
      EXPECT_EQ(width, 4);
      all[std::string(kernel) + " " + array + " " + access] = t;
    } else if (std::sscanf(line.c_str(), "all passes of %98[^:]: %ld requests in %ld passes, at least %ld", kernel,
                           &t.requests, &t.passes, &t.least) == 4) {
      all[kernel] = t;
    }
  }
  return all;
}

/// Of a program, which must be right with and without counting.
inline std::map<std::string, ToldPasses> passes(const Program& program, const HardwareModel& model) {
  auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  if (!unit) return {};
  const Emulated plain = emulate(unit->text, *unit, program, model);
  EXPECT_TRUE(plain.right) << plain.output;
  EXPECT_TRUE(passes_in(plain.output).empty()) << plain.output;
  setenv("ISAMAP_EMULATION_COUNTS", "1", 1);
  const Emulated counted = emulate(unit->text, *unit, program, model);
  unsetenv("ISAMAP_EMULATION_COUNTS");
  EXPECT_TRUE(counted.right) << counted.output;
  return passes_in(counted.output);
}

}  // namespace isamap
