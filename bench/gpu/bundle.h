// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a self-contained benchmark bundle for a GPU machine, and imports its results.

#include <filesystem>
#include <string>

#include "isamap/hardware.h"

namespace isamap::bench {

struct BundleOptions {
  std::string target;
  std::filesystem::path folder;
  bool small = false;
  std::string family;  ///< only kernel families with this prefix
  bool code = true;    ///< compile kernels here if nvcc is installed, not only there
};

/// Writes manifest.jsonl, target.yaml, cases/, place/ and run.sh. Instructions are written by `isamap hw verify`.
Diagnostics write_bundle(const LoadedHardware& target, const BundleOptions& options);

/// Adds the times to a store of trials for learned cost models; prints the rank correlation of predictions and times.
Diagnostics import_bundle(const std::filesystem::path& folder, const std::filesystem::path& store);

}  // namespace isamap::bench
