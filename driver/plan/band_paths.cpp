// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/band_paths.h"

#include <algorithm>

namespace isamap {

BandPaths::BandPaths(const Kernel& kernel, const std::vector<Part>& chains)
    : readers_(chains.size()), before_(chains.size()), reads_(chains.size()), leaves_(chains.size(), false) {
  std::map<TensorId, std::vector<std::size_t>> writers;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    for (const std::size_t s : chains[c].statements)
      for (const Access& read : kernel.statements[s].reads) {
        const Tensor& tensor = kernel.tensors[read.tensor.index()];
        const auto size = static_cast<double>(byte_count(tensor));
        if (!tensor.constant) reads_[c][read.tensor] = size;
        for (const std::size_t w : writers[read.tensor])
          if (w != c) readers_[w][c] = std::max(readers_[w][c], size);
      }
    for (const std::size_t s : chains[c].statements) {
      const TensorId id = kernel.statements[s].write.tensor;
      writers[id].push_back(c);
      leaves_[c] = leaves_[c] || role_of(kernel, id) != Role::intermediate;
    }
  }
  for (std::size_t c = 0; c < chains.size(); ++c)
    for (const auto& [reader, bytes] : readers_[c]) before_[reader].push_back(c);
}

std::vector<BandPath> BandPaths::along_tensors(std::size_t most_parts, double least_bytes) const {
  std::map<Path, BandPath> found;
  for (std::size_t c = 0; c < readers_.size(); ++c) extend({c}, most_parts, least_bytes, {}, found);
  std::vector<BandPath> sorted;
  for (auto& [path, one] : found) sorted.push_back(std::move(one));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const BandPath& a, const BandPath& b) { return a.bytes > b.bytes; });
  return sorted;
}

void BandPaths::extend(const Path& path, std::size_t most_parts, double least_bytes, const BandPath& so_far,
                       std::map<Path, BandPath>& found) const {
  if (path.size() > 1)
    if (const Path all = with_branches(path); all.size() <= most_parts + 2)
      if (const double largest = std::max(so_far.largest, largest_shared(all)); largest >= least_bytes) {
        BandPath& known = found[all];
        known = {all, std::max(known.largest, largest), std::max(known.bytes, so_far.bytes)};
      }
  if (path.size() >= most_parts) return;
  for (const auto& [reader, bytes] : readers_[path.back()]) {
    Path longer = path;
    longer.push_back(reader);
    extend(longer, most_parts, least_bytes, {{}, std::max(so_far.largest, bytes), so_far.bytes + bytes}, found);
  }
}

double BandPaths::largest_shared(const Path& path) const {
  std::map<TensorId, int> readers;
  double largest = 0;
  for (const std::size_t c : path)
    for (const auto& [id, bytes] : reads_[c])
      if (++readers[id] == 2) largest = std::max(largest, bytes);
  return largest;
}

BandPaths::Path BandPaths::with_branches(const Path& path) const {
  const std::size_t first = path.front(), last = path.back();
  std::vector<bool> behind(readers_.size(), false), leads(readers_.size(), false);
  for (const std::size_t c : path) behind[c] = leads[c] = true;
  for (std::size_t c = first; c <= last; ++c)
    for (const std::size_t b : before_[c])
      if (b >= first && behind[b]) behind[c] = true;
  for (std::size_t c = last + 1; c-- > first;)
    for (const auto& [reader, bytes] : readers_[c])
      if (reader <= last && leads[reader]) leads[c] = true;
  Path all;
  for (std::size_t c = first; c <= last; ++c)
    if (behind[c] && leads[c]) all.push_back(c);
  return all;
}

std::vector<std::size_t> BandPaths::with_only_reader(const Path& path) const {
  const std::size_t last = path.back();
  if (readers_[last].size() != 1 || leaves_[last]) return path;
  Path longer = path;
  longer.push_back(readers_[last].begin()->first);
  return with_branches(longer) == longer ? longer : path;
}

std::vector<std::size_t> BandPaths::with_own_producers(const Path& path) const {
  Path all = path;
  for (const std::size_t c : path)
    for (const std::size_t b : before_[c]) {
      const bool only_here = std::all_of(readers_[b].begin(), readers_[b].end(), [&](const auto& reader) {
        return std::binary_search(path.begin(), path.end(), reader.first);
      });
      if (only_here && !leaves_[b] && std::find(all.begin(), all.end(), b) == all.end()) all.push_back(b);
    }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace isamap
