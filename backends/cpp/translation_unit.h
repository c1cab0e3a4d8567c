#pragma once
// A program as one self-contained C++ file, and what the outside must know to call it.

#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"
#include "support/result.h"

namespace isamap {

/// A pointer argument of an entry.
struct EntryArgument {
  BufferId buffer;
  std::string type;  ///< of the elements: "float"
  std::string name;
  bool written = false;
  std::int64_t bytes = 0;
};

struct TranslationUnit {
  std::string name;  ///< of the entry
  std::string text;
  std::vector<EntryArgument> arguments;  ///< of the entry: kernel arguments, then packed buffers
  std::vector<EntryArgument> pack;       ///< of NAME_pack: inputs, then packed buffers; empty: there is none
  std::string run_as, pack_as;           ///< what a run calls instead; empty: NAME, NAME_pack
};

/// What a file says first: what compiles it where `needs` says so, the kernel, the schedule, what is assumed.
std::string header_comment(const Program& program, const HardwareModel& model, const std::string& needs = "");

Result<TranslationUnit> print_cpp(const Program& program, const HardwareModel& model);

}  // namespace isamap
