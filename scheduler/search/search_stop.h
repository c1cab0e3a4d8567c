// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a search continues: asked every few tens of milliseconds by the thread that searches, known to all workers.

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "support/stop.h"

namespace isamap {

/// Of the thread that makes it; others only see what it was told.
class Permission {
 public:
  explicit Permission(const std::function<bool()>& go_on) : go_on_(go_on) {}
  bool given() {
    if (std::this_thread::get_id() == owner_ && !ended_ && go_on_ && Clock::now() - last_ > between_polls) {
      last_ = Clock::now();
      if (!go_on_()) ended_ = true;
    }
    return !ended_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds between_polls{20};

  const std::function<bool()>& go_on_;
  const std::thread::id owner_ = std::this_thread::get_id();
  Clock::time_point last_ = Clock::now();  ///< of the owner
  std::atomic<bool> ended_{false};
};

/// Evaluations, and the training of a strategy, leave when the permission ends.
class PermissionScope final : public StopScope {
 public:
  explicit PermissionScope(Permission& permission) : permission_(permission) {}
  bool stop() override { return !permission_.given(); }

 private:
  Permission& permission_;
};

}  // namespace isamap
