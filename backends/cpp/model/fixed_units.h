// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file of a model, to be compiled as one unit or in several ones side by side (ModelUnit::in_units), and its parts
// as files of their own, each of which is known before the whole is.

#include <string>
#include <vector>

#include "backends/cpp/model/fixed_parts.h"

namespace isamap {

/// Are the parts worth several units?
bool splits_into_units(const std::vector<FixedPart>& parts, std::size_t least_bytes);

/// Consecutive parts as files. The function of a part takes pointers, so its text depends on no other part and on no
/// place in the arena: a file can be compiled as soon as its parts are known.
class PartFiles {
 public:
  /// `bytes`: from which on a file is full.
  PartFiles(const HardwareModel& machine, std::string name, std::size_t bytes)
      : machine_(machine), name_(std::move(name)), bytes_(bytes) {}

  /// The next part. The file that is full with it; empty: none is.
  std::string add(const FixedPart& part);
  /// The file of the parts that are in no full one; empty: there are none.
  std::string rest();

 private:
  const HardwareModel& machine_;
  std::string name_;
  std::size_t bytes_;
  std::string functions_;
  Surroundings around_;
  bool team_ = false;
};
/// Of all parts.
std::vector<std::string> part_files(const std::vector<FixedPart>& parts, const HardwareModel& machine,
                                    const std::string& name, std::size_t bytes);
/// Flags with which the file of the whole model declares the parts that are in these files.
std::vector<std::string> flags_for_part_files(const std::vector<FixedPart>& parts, const std::string& name);

/// The headers of the system that a team needs.
inline constexpr const char* team_includes = "#include <pthread.h>\n#include <sched.h>\n";

/// The parts and `rest`, which calls them, for one unit.
std::string text_of_one_unit(const std::vector<FixedPart>& parts, const std::string& rest);
/// For any number of units. `name`: the model's.
std::string text_of_units(const std::vector<FixedPart>& parts, const std::string& rest, const std::string& name);

}  // namespace isamap
