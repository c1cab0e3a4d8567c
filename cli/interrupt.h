// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C during a search: once it has something to show, the first SIGINT asks for the best so far, which the verb
// prints. The second one, and any before, end the program at once, as SIGTERM does.

#include "cli/options.h"

namespace isamap::cli {

/// Called by verbs that can answer before their search ends.
void answer_interrupts();
/// There is a result to show from now on, so the first SIGINT asks for it.
void note_result();
/// The same; false: the user has asked for it, and the search ends.
bool continue_with_result();
/// Was the first SIGINT taken?
bool interrupted();
/// Called by verbs that record each job as it ends: a signal that ends the program says so.
void resume_by_the_same_command();
/// For remove_temporary_files_on_signals: true where the signal only interrupts.
bool only_interrupts(int signal);
/// The same on ranks, which cannot answer together: each signal ends the program.
bool ends(int signal);

/// exit() called by a strategy or cost model of the user ends the program with its code, and without a word. While this
/// lives, exit() ends the program with code 4 and says why.
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
