// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model as C++: a static function for each distinct part, and a C interface that calls them in order.

#include <string>
#include <utility>
#include <vector>

#include "backends/cpp/translation_unit.h"
#include "isamap/hardware.h"
#include "isamap/result.h"
#include "program/model_program.h"

namespace isamap {

struct ModelUnit {
  std::string name;                ///< of the interface: NAME_open, NAME_run, ...; the files are NAME.h and NAME.cpp
  std::string header, text;        ///< the text includes the header
  std::string extension = ".cpp";  ///< of the text's file
  std::vector<std::pair<std::string, std::string>> others;  ///< further files that the text includes: name, text
  std::int64_t arena_bytes = 0;
  /// The text can be compiled side by side in any number of units, which are linked: -DNAME_UNITS=N -DNAME_UNIT=0 to
  /// N-1. Without these macros it is one.
  bool in_units = false;
  /// Then also: its parts as files of their own (UnitsAhead), and flags with which the text only declares these.
  std::vector<std::string> part_files, flags_for_part_files;
  std::int64_t launches = -1;  ///< of kernels in one run; -1: the language has none
};

/// Memory that a part needs for local arrays while it runs.
Result<Workspace> workspace_of(const Program& part, const HardwareModel& machine);

/// Errors: what a part's printer refuses.
Result<ModelUnit> print_model(const ModelProgram& model, const HardwareModel& machine,
                              std::size_t least_in_units = least_for_units);

}  // namespace isamap
