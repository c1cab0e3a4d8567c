// SPDX-License-Identifier: Apache-2.0
#pragma once
// The driver program of an emitted kernel: reads inputs from files, runs, times, writes outputs.

#include <string>
#include <vector>

#include "backends/cpp/compile.h"
#include "backends/cpp/translation_unit.h"

namespace isamap {

/// One array of a run. Arrays are numbered; array N is read from "N.in" and written to "N.out".
struct RunArray {
  std::int64_t bytes = 0, align = 64;
  bool input = false, output = false;
};

/// Arguments of an entry: positions of arrays.
struct RunCall {
  std::string function;
  std::vector<std::size_t> arrays;
};

/// `driver DIRECTORY MIN_SECONDS` runs `pack` (if it names a function), then `entry`, writes the outputs of that first
/// run, repeats `entry` until MIN_SECONDS are spent, and writes "seconds S\n" (the median of one run) to "result":
/// processor time of the calling thread, or time on the wall where other threads work for it. Arrays end at an
/// inaccessible guard page that catches out-of-bounds accesses; outputs start as all ones (NaN).
std::string driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry);

/// The same for an entry that takes sizes and returns 0: they and the bytes of the arrays are read from "sizes", so
/// that one program runs any size.
std::string symbolic_driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry,
                                 std::size_t sizes);

/// The header of these texts: what they have in common, compiled once for all programs of a machine.
inline const char* const driver_header_name = "isamap_driver.h";
SharedPart driver_part();
/// Of the functions above, whose texts include that header.
bool is_driver(const std::string& text);

}  // namespace isamap
