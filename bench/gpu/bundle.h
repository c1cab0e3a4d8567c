// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder that measures a machine with a GPU, which need not have anything of ours; and its results taken back.

#include <filesystem>
#include <string>

#include "isamap/hardware.h"

namespace isamap::bench {

struct BundleOptions {
  std::string target;
  std::filesystem::path folder;
  bool small = false;
  std::string family;  ///< only kernels whose family begins with it
  bool code = true;    ///< kernels are compiled here where nvcc is, not only there
};

/// Writes manifest.jsonl, target.yaml, cases/, place/ and run.sh. Instructions are written by `isamap hw verify`.
Diagnostics write_bundle(const LoadedHardware& target, const BundleOptions& options);

/// Times go into a store of trials, where searches and learned models of the cost find them; prints how far predictions
/// and times are in the same order.
Diagnostics import_bundle(const std::filesystem::path& folder, const std::filesystem::path& store);

}  // namespace isamap::bench
