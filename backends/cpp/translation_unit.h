// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as one self-contained C++ file, and its calling interface.

#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// A pointer argument of an entry.
struct EntryArgument {
  BufferId buffer;
  std::string type;  ///< of the elements: "float"
  std::string name;
  bool written = false;
  std::int64_t bytes = 0;
};

/// Memory that the caller passes for local arrays: one per concurrent call.
struct Workspace {
  std::int64_t bytes = 0, align = 64;
};

struct TranslationUnit {
  std::string name;  ///< of the entry
  std::string text;
  std::vector<EntryArgument> arguments;     ///< of the entry: kernel arguments, then packed buffers
  std::vector<EntryArgument> pack;          ///< of NAME_pack: inputs, then packed buffers; empty: there is none
  std::string run_as, pack_as;              ///< wrappers that a run calls instead; empty: NAME, NAME_pack
  std::optional<Workspace> workspace = {};  ///< the last argument of both; nothing: they have none
};

/// Bytes of the parts from which on a model is printed for several units: a smaller one takes a compiler less time than
/// the headers that each unit reads again.
inline constexpr std::size_t least_for_units = 128 << 10;
/// Of such a model, bytes from which on a file of some of its parts is full: one that can be compiled while others are
/// searched, and which also reads the headers.
inline constexpr std::size_t full_part_file = 2 * least_for_units;

/// The header comment of a file: compile flags if `needs`, kernel, schedule, assumptions.
std::string header_comment(const Program& program, const HardwareModel& model, const std::string& needs = "");

/// `workspace`: both entries have a last argument, memory for local arrays that do not fit the stack; otherwise these
/// are thread-local.
Result<TranslationUnit> print_cpp(const Program& program, const HardwareModel& model, bool workspace = false);

/// Its parameter name: "workspace".
inline constexpr const char* workspace_name = "workspace";

}  // namespace isamap
