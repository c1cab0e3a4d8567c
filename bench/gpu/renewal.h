// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bundle that is written into the folder of an earlier one: what was built or measured there stays only where it is
// of the same texts, and a folder of anything else is left alone.

#include <filesystem>
#include <set>
#include <string>

#include "isamap/result.h"

namespace isamap::bench {

/// Why no bundle may be written there: it holds files, and none of them says that they are a bundle's. Empty: it may.
Diagnostics not_a_bundle(const std::filesystem::path& folder);

class Renewal {
 public:
  explicit Renewal(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Says that the folder is a bundle, and takes away what only an earlier one would explain: its manifest, summaries
  /// and instructions. False: it cannot be written to.
  bool begin() const;
  /// A file of the whole bundle; all but run.sh are parts of every program.
  bool put_place(const std::filesystem::path& file, const std::string& text);
  /// A file of a case; where its text changes, what was made from the earlier text is forgotten.
  bool put_case(const std::string& name, const std::string& file, const std::string& text);
  /// Cases that were not written now, and what is known of them.
  void forget_others() const;

 private:
  void forget(const std::string& name) const;
  std::filesystem::path folder_;
  bool programs_changed_ = false;
  std::set<std::string> written_;
};

}  // namespace isamap::bench
