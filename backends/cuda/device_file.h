// SPDX-License-Identifier: Apache-2.0
#pragma once
// One file of CUDA C++ with the kernels of one program, or of all parts of a model: they share names, helpers and the
// functions of instructions.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpp/function/runtime_numbers.h"
#include "backends/cpp/text/element_text.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/wrappers.h"

namespace isamap {

class DeviceFile {
 public:
  /// `library_functions`: exp, tanh, ... are the language's; `grid`: the unit of thread blocks.
  DeviceFile(const HardwareModel& machine, UnitId grid, bool library_functions);
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  /// The file behind its first comment; `entries`: the launching functions.
  std::string text(const std::string& entries) const;

  bool on_device(const Buffer& buffer) const;  ///< shared by all blocks
  void note_memories(const Program& program);

  const HardwareModel& model;
  const UnitId grid;
  ElementText elements;
  Names names;
  Wrappers wrappers;
  std::string kernels;
  bool has_objects = false;  ///< some entry describes tensors to a copy engine

 private:
  std::string includes() const;
  std::string launch_helpers() const;
  std::string functions() const;
  std::string memories() const;

  std::set<std::int64_t> transactions_;
  std::set<std::pair<std::int64_t, std::int64_t>> banks_;
};

/// Of a program whose numbers of tiles are known at the call: the arguments of sizes, `long`, and what follows from
/// them.
struct TileNumbers {
  std::vector<std::string> sizes;
  RuntimeNumbers numbers;
  std::map<std::int32_t, std::vector<std::string>> extents;  ///< of arguments, by buffer and axis, over `sizes`
};

/// The launching functions of a program; its kernels are in the file.
struct ProgramEntries {
  std::string text;
  std::vector<EntryArgument> arguments, pack;  ///< as in TranslationUnit
  std::int64_t launches = 0;                   ///< of the main entry
  Workspace workspace = {0, 256};              ///< of a part: local buffers in device memory
};

/// `NAME(arguments..., stream)` and NAME_pack, which allocate local buffers on the stream.
Result<ProgramEntries> program_entries(const Program& program, DeviceFile& file, const std::string& name);
/// A static function `NAME(arguments..., workspace, stream)`, without a pack function.
Result<ProgramEntries> part_entry(const Program& program, DeviceFile& file, const std::string& name);

/// A static function `NAME(arguments..., sizes..., stream)`. The program has no local buffers of the device.
Result<ProgramEntries> tile_entry(const Program& program, const TileNumbers& tiles, DeviceFile& file,
                                  const std::string& name);

}  // namespace isamap
