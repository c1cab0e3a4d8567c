// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/mapped_splits.h"

#include <algorithm>
#include <map>

namespace isamap {
namespace {

constexpr std::size_t most_mapped_splits = 3;
constexpr int most_further_splits = 3;  // of a part that does not map

std::int64_t largest_tensor(const Kernel& kernel) {
  std::int64_t most = 0;
  for (const Tensor& tensor : kernel.tensors) most = std::max(most, element_count(tensor));
  return most;
}

class MappedSplits {
 public:
  MappedSplits(const Kernel& kernel, const HardwareModel& model, MapOptions options)
      : model_(model), options_(std::move(options)), largest_(largest_tensor(kernel)) {
    options_.max_mappings = 64;  // placements tried until one maps
    options_.certificates.clear();
    options_.use_z3 = false;
    options_.progress = {};
  }

  std::vector<MappedSplit> of(const Kernel& kernel, StatementId id, int further) {
    std::vector<MappedSplit> found;
    for (StatementSplit& split : statement_splits(kernel, id)) {
      if (element_count(split.kernel.tensors.back()) > largest_) continue;
      const bool first = maps(split.kernel, split.first), second = maps(split.kernel, split.second);
      if (first && second) found.push_back({std::move(split.kernel), {split.part}});
      if (first == second || further == 0) continue;
      for (MappedSplit& rest : of(split.kernel, first ? split.second : split.first, further - 1)) {
        rest.parts.insert(rest.parts.begin(), split.part);
        found.push_back(std::move(rest));
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const MappedSplit& a, const MappedSplit& b) { return a.parts.size() < b.parts.size(); });
    if (found.size() > most_mapped_splits) found.resize(most_mapped_splits);
    return found;
  }

 private:
  bool maps(const Kernel& kernel, StatementId id) {
    const Computation& statement = kernel.statements[id.index()];
    const auto [known, fresh] = maps_.try_emplace(print(statement, kernel.tensors), false);
    for (std::size_t i = 0; fresh && i < model_.instructions().size() && !known->second; ++i)
      known->second =
          is_compute(model_.instructions()[i]) &&
          !map_statement(kernel, id, model_.instructions()[i], make_id<InstructionId>(i), options_).mappings.empty();
    return known->second;
  }

  const HardwareModel& model_;
  MapOptions options_;
  std::int64_t largest_;
  std::map<std::string, bool> maps_;  ///< by the printed statement
};

}  // namespace

std::vector<MappedSplit> mapped_splits(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                                       const MapOptions& options) {
  if (!kernel.repeats.empty()) return {};
  return MappedSplits(kernel, model, options).of(kernel, statement, most_further_splits);
}

}  // namespace isamap
