// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cooperative cancellation of long evaluations: a simulation, or the interpreter, polls whether its result is still
// wanted, so that the end of a search does not wait for it.

#include <functional>

#include "isamap/stop.h"

namespace isamap {

/// Thrown by leave_if_asked (isamap/stop.h) if the scope of the thread is cancelled, caught where the scope is made.
struct EndedEarly {};

/// Decides about the evaluations of this thread while it lives; scopes nest, the innermost one decides.
class StopScope {
 public:
  StopScope();
  virtual ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  virtual bool stop() = 0;

 private:
  StopScope* outer_;
};

/// Cancelled when a function returns true; without a function never.
class StopWhen final : public StopScope {
 public:
  explicit StopWhen(const std::function<bool()>& stopped) : stopped_(stopped) {}
  bool stop() override { return stopped_ && stopped_(); }

 private:
  const std::function<bool()>& stopped_;
};

}  // namespace isamap
