// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the emulation counts of requests to the device's memory, read back.

#include <map>
#include <ostream>
#include <sstream>
#include <string>

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {

struct Sectors {
  long requests = 0, sectors = 0, least = 0;
  bool operator==(const Sectors&) const = default;
};
inline void PrintTo(const Sectors& told, std::ostream* out) {
  *out << told.requests << " in " << told.sectors << ", at least " << told.least;
}

/// By "kernel tensor access"; the run must be right.
inline std::map<std::string, Sectors> requests(const std::string& text, const TranslationUnit& unit,
                                               const Program& program, const HardwareModel& model) {
  setenv("ISAMAP_EMULATION_COUNTS", "1", 1);
  const Emulated found = emulate(text, unit, program, model);
  unsetenv("ISAMAP_EMULATION_COUNTS");
  EXPECT_TRUE(found.right) << found.output;
  std::map<std::string, Sectors> all;
  std::istringstream lines(found.output);
  for (std::string line; std::getline(lines, line);) {
    char kernel[99], tensor[99], access[99];
    Sectors told;
    long bytes = 0;
    if (std::sscanf(line.c_str(), "requests of %98[^:]: %98[^:]: %ld %98s in %ld sectors of %ld bytes, at least %ld",
                    kernel, tensor, &told.requests, access, &told.sectors, &bytes, &told.least) == 7) {
      EXPECT_EQ(bytes, 32);
      all[std::string(kernel) + " " + tensor + " " + access] = told;
    }
  }
  return all;
}
inline std::map<std::string, Sectors> requests(const Program& program, const HardwareModel& model) {
  auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  return unit ? requests(unit->text, *unit, program, model) : std::map<std::string, Sectors>{};
}

/// The program of one statement.
inline Program program_of(const std::string& compute, const std::string& tensors, const HardwareModel& model) {
  return searched(kernel_from("kernel: k\ntensors: " + tensors + "\ncompute:\n  - " + compute + "\n"), model);
}

}  // namespace isamap
