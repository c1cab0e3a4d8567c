// SPDX-License-Identifier: Apache-2.0
#pragma once
// What bands cost: the parts of one band with their weights in the second cache, as often as they are called, and what
// comes from the memory behind it.
//
// Each call takes at least as long as the rows that it reads from or writes to large tensors take through the link
// into the second cache, and those of all whole tensors out of it. A band begins their streams anew, so the share
// `timing.exposed_starts` of what is read is not hidden behind the computation (x86_avx512: a depthwise convolution
// that reads 1.8 MB takes 0.12 ms in bands of its own, and 0.08 ms behind its producer). Weights that every band reads
// are fetched once for all bands; of those that are sliced every band fetches its own, from where the model leaves
// them.

#include <optional>
#include <vector>

#include "driver/plan/part_store.h"
#include "planner/bands.h"

namespace isamap {

/// The two caches nearest to the core: tensors between parts of bands stay in one of them.
struct BandCaches {
  double nearest = 0, second = 0;  ///< bytes
  double near = 0, far = 0;        ///< bytes/cycle out of the second, and into it from the memory behind
  std::int64_t line = 0;           ///< bytes of a line of the nearest
};
/// Nothing: the machine has fewer.
std::optional<BandCaches> band_caches(const HardwareModel& machine);

/// Parts in bands of so many rows.
struct TriedBands {
  std::vector<std::size_t> chains;
  std::vector<Part> parts;
  std::string along;
  std::int64_t by = 0;
  BandSchedule schedule;
  std::vector<std::size_t> most_called;  ///< by part: kernel of the schedule
  std::vector<Kernel> kernels;           ///< by part: that kernel; where bands are summed, what follows the sum is last
  double price = 0;                      ///< cycles of all bands
};

/// No weights and no tensor that every band reads whole?
bool reads_only_rows(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule);
/// Bytes of all buffers, and of the rows of one band of tensors that others overwrite.
double buffer_bytes(const Kernel& kernel, const BandSchedule& schedule);
/// Bytes of the rows of one band of whole tensors that two of its parts read.
double shared_bytes(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule);
/// What evicts the weights of a part before a band reads them: the rest of the model, where most are sliced, so that no
/// other band has read them; else the other parts of its bands.
Between weights_between(const Kernel& kernel, const Part& part, const BandSchedule& schedule);
/// Bytes of constants: all, or those that one band reads.
double weight_bytes(const Kernel& kernel, const std::vector<Part>& parts);
double weight_bytes_of_band(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& schedule);

/// Cycles that bands of so many rows along a summed dim save at most: buffers that stay nearer, less the sum that every
/// band reads and writes.
double most_saved_by_sums(const Kernel& kernel, const std::vector<Part>& parts, const BandSchedule& one,
                          std::int64_t by, const BandCaches& caches);

/// Cycles; the store has the kernels, in bands.
double price_of(const Kernel& kernel, const TriedBands& tried, const PartStore& store, const BandCaches& caches);

}  // namespace isamap
