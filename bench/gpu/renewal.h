// SPDX-License-Identifier: Apache-2.0
#pragma once
// Updates a bundle in place: builds and results remain only for unchanged texts; a folder that is not a bundle is not
// touched.

#include <filesystem>
#include <set>
#include <string>

#include "isamap/result.h"

namespace isamap::bench {

/// Why no bundle may be written there: it contains files and no bundle marker. Empty: it may.
Diagnostics not_a_bundle(const std::filesystem::path& folder);

class Renewal {
 public:
  explicit Renewal(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the marker and removes manifest, summaries and instructions of an earlier bundle. False: not writable.
  bool begin() const;
  /// A file shared by the bundle; all but run.sh are part of every program.
  bool put_place(const std::filesystem::path& file, const std::string& text);
  /// A file of a case; if its text changes, builds and results of the old text are removed.
  bool put_case(const std::string& name, const std::string& file, const std::string& text);
  /// Removes cases that were not written now, with their results.
  void forget_others() const;

 private:
  void forget(const std::string& name) const;
  std::filesystem::path folder_;
  bool programs_changed_ = false;
  std::set<std::string> written_;
};

}  // namespace isamap::bench
