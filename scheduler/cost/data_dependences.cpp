// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/data_dependences.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr std::size_t most_readers_kept = 16;  ///< beyond this one issued reader represents all

/// The issued reader that ends last represents all issued readers.
void forget(std::vector<std::int64_t>& readers, const std::function<double(std::int64_t)>& end) {
  const auto left =
      std::partition(readers.begin(), readers.end(), [&](std::int64_t reader) { return end(reader) < 0; });
  if (left == readers.end()) return;
  const std::int64_t last =
      *std::max_element(left, readers.end(), [&](std::int64_t a, std::int64_t b) { return end(a) < end(b); });
  readers.erase(left, readers.end());
  readers.push_back(last);
}

void add_once(std::vector<std::int64_t>& list, std::int64_t command) {
  if (std::find(list.begin(), list.end(), command) == list.end()) list.push_back(command);
}

}  // namespace

TouchedParts::TouchedParts(std::vector<Axis> axes) : axes_(std::move(axes)) {
  std::size_t cells = 1;
  for (const Axis& axis : axes_)
    cells *= static_cast<std::size_t>(std::max<std::int64_t>(1, ceil_div(axis.extent, axis.part)));
  cells_.resize(cells);
}

void TouchedParts::touch(const Box& box, bool write, std::int64_t command,
                         const std::function<double(std::int64_t)>& end, std::vector<std::int64_t>& before) {
  std::vector<std::int64_t> low(axes_.size()), high(axes_.size()), at;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::int64_t cells = std::max<std::int64_t>(1, ceil_div(axes_[i].extent, axes_[i].part));
    low[i] = std::clamp<std::int64_t>(floor_div(box[i].low, axes_[i].part), 0, cells - 1);
    high[i] = std::clamp<std::int64_t>(ceil_div(box[i].high, axes_[i].part), low[i] + 1, cells);
  }
  at = low;
  while (true) {
    std::size_t index = 0;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      index = index * static_cast<std::size_t>(std::max<std::int64_t>(1, ceil_div(axes_[i].extent, axes_[i].part))) +
              static_cast<std::size_t>(at[i]);
    Cell& cell = cells_[index];
    if (cell.writer >= 0 && cell.writer != command) add_once(before, cell.writer);
    if (write) {
      for (const std::int64_t reader : cell.readers)
        if (reader != command) add_once(before, reader);
      cell.readers.clear();
      cell.writer = command;
    } else {
      if (cell.readers.empty() || cell.readers.back() != command) {
        if (cell.readers.size() >= most_readers_kept) forget(cell.readers, end);  // this one has no end yet
        cell.readers.push_back(command);
      }
    }
    std::size_t i = axes_.size();
    while (i > 0 && ++at[i - 1] == high[i - 1]) --i, at[i] = low[i];
    if (i == 0) return;
  }
}

}  // namespace isamap
