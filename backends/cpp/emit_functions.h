// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C++ functions of one program.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "backends/cpp/function/runtime_numbers.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/translation_unit.h"

namespace isamap {

/// Requirements of functions on their file: helpers and headers by name, memory for large local arrays.
struct Surroundings {
  std::set<std::string> helpers, includes;
  bool scratch = false;
  bool from_caller = false;  ///< large local arrays are in a workspace that the caller passes
  bool team = false;         ///< and all of them if a team executes the functions (backends/cpp/function/team.h)
  Workspace workspace = {};  ///< its size, the maximum of all functions
  std::set<BufferId> overlapping = {};      ///< arguments of the next function that may have the storage of another one
  const RuntimeNumbers* numbers = nullptr;  ///< of the entry, not of the pack function
  /// Names that no function may take, those of helpers and of the machine. Of the machine of the first function: a
  /// program for all sizes has a hundred functions, and collecting its words took a seventh of the time to compile it.
  std::optional<Names> reserved = {};
};

/// `linkage` of what an entry for all sizes calls. GCC 12 keeps no tile in registers where it inlines several such
/// functions into one: all 24 accumulators of a product went through the stack, 2.3 times as slow.
inline constexpr const char* own_frame = "[[gnu::noinline]] static";

/// The entry `name` and, if the program packs ahead of time, `name`_pack. `linkage`: "extern \"C\"", "static" or
/// `own_frame`. Only the text of the functions.
Result<TranslationUnit> print_functions(const Program& program, const HardwareModel& model, const std::string& name,
                                        const std::string& linkage, Surroundings& around);

/// `NAME_pack` alone, of a program that packs ahead of time.
Result<TranslationUnit> print_pack_function(const Program& program, const HardwareModel& model, const std::string& name,
                                            const std::string& linkage, Surroundings& around);

/// The parameter of an argument: "const float* __restrict A".
std::string pointer_parameter(const EntryArgument& argument, const Surroundings& around);

/// What a file needs in front of its functions `code`: includes, helpers, checks of compile-time sizes.
std::string surrounding_text(const HardwareModel& model, Surroundings around, const std::string& code);

/// Text as comment lines, escaped so that it cannot end or continue a comment.
std::string comment(const std::string& text, const std::string& indent);

}  // namespace isamap
