// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C++ functions of one program.

#include <set>
#include <string>

#include "backends/cpp/translation_unit.h"

namespace isamap {

/// What functions need around them: helpers and headers by name, the block of memory for large local arrays.
struct Surroundings {
  std::set<std::string> helpers, includes;
  bool scratch = false;
  bool from_caller = false;  ///< large local arrays lie in memory that the caller passes: no block of our own
  Workspace workspace = {};  ///< how much of it, the most of all functions
};

/// The entry, called `name`, and, if the program packs ahead of time, `name`_pack. `linkage` stands before them:
/// "extern \"C\"", "static". The text is that of the functions alone.
Result<TranslationUnit> print_functions(const Program& program, const HardwareModel& model, const std::string& name,
                                        const std::string& linkage, Surroundings& around);

/// Text as comment lines: nothing in it can end or continue a comment.
std::string comment(const std::string& text, const std::string& indent);

}  // namespace isamap
