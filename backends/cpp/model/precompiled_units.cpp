// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/precompiled_units.h"

#include "backends/cpp/compile.h"
#include "backends/cpp/text/names.h"

namespace isamap {

UnitsAhead::UnitsAhead(const HardwareModel& machine, const std::string& model)
    : machine_(machine), name_(model_name(model)), files_(machine, name_, full_part_file) {}

void UnitsAhead::add(std::size_t number, const Program& program, const std::set<BufferId>& overlapping) {
  auto part = print_part(program, number, overlapping, machine_, name_);
  if (!part) return;  // the whole has no program either, and says why
  std::vector<std::string> full;
  {
    const std::lock_guard<std::mutex> held(lock_);
    known_.emplace(number, std::move(*part));
    full = full_files();
  }
  for (const std::string& file : full) compile_ahead(machine_, file);
}

std::vector<std::string> UnitsAhead::full_files() {
  std::vector<std::string> full;
  for (auto part = known_.find(next_); part != known_.end(); part = known_.find(++next_)) {
    if (std::string file = files_.add(part->second); !file.empty()) full.push_back(std::move(file));
    known_.erase(part);
  }
  return full;
}

}  // namespace isamap
