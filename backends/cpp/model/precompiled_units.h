// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles parts of a model while others are searched: a file of parts (PartFiles) is compiled into the cache of
// programs as soon as its last part is known. The program of the whole model then finds them there, if nothing has
// changed their texts; which files there are depends on the parts alone, not on the order in which they are found.

#include <map>
#include <mutex>
#include <set>

#include "backends/cpp/model/fixed_units.h"

namespace isamap {

class UnitsAhead {
 public:
  /// `machine` must outlive it.
  UnitsAhead(const HardwareModel& machine, const std::string& model);

  /// Program `number` of the model, each once, in any order, by any thread: which compiles the file that is full with
  /// it. `overlapping` as in print_part.
  void add(std::size_t number, const Program& program, const std::set<BufferId>& overlapping);

 private:
  std::vector<std::string> full_files();  ///< with `lock_` held

  const HardwareModel& machine_;
  std::string name_;
  std::mutex lock_;
  PartFiles files_;
  std::map<std::size_t, FixedPart> known_;  ///< behind one that is not
  std::size_t next_ = 0;
};

}  // namespace isamap
