// SPDX-License-Identifier: Apache-2.0
#pragma once
// exit() called by a strategy or cost model of the user, in this process: the program would end with the code that it
// names, and without a word.

#include "cli/command_line.h"

namespace isamap::cli {

/// While it lives, exit() ends the program with code 4 and says why.
class ForeignExit {
 public:
  explicit ForeignExit(const Options& options);
  ~ForeignExit();
  ForeignExit(const ForeignExit&) = delete;
  ForeignExit& operator=(const ForeignExit&) = delete;
  /// In a process for jobs: the one that started it says how it ended.
  static void leave_to_parent();
};

}  // namespace isamap::cli
