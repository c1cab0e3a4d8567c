// SPDX-License-Identifier: Apache-2.0
#include "cli/foreign_exit.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "cli/common.h"

namespace isamap::cli {
namespace {

std::atomic<const Options*> running{nullptr};

void say_who_exits() {
  const Options* options = running.exchange(nullptr);
  if (!options) return;
  const Exit code = close_json(*options, fail(Exit::limit, "exit() was called within the verb",
                                              "a strategy or cost model of yours: it may throw, or return nothing"));
  ::_exit(static_cast<int>(code));
}

}  // namespace

ForeignExit::ForeignExit(const Options& options) {
  [[maybe_unused]] static const int registered = std::atexit(say_who_exits);
  running = &options;
}

ForeignExit::~ForeignExit() { running = nullptr; }

void ForeignExit::leave_to_parent() { running = nullptr; }

}  // namespace isamap::cli
