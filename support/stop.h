// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a search reaches long evaluations: a simulation, or the interpreter, asks now and then whether anybody
// still wants its result.

#include <functional>

namespace isamap {

/// Thrown by leave_if_asked, caught where the scope is.
struct EndedEarly {};

/// Who answers on this thread, while it lives.
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

/// As a function says; none: never.
class StopWhen final : public StopScope {
 public:
  explicit StopWhen(const std::function<bool()>& stopped) : stopped_(stopped) {}
  bool stop() override { return stopped_ && stopped_(); }

 private:
  const std::function<bool()>& stopped_;
};

/// Throws EndedEarly if the scope of this thread wants it; nothing without a scope. Call it every few microseconds to
/// milliseconds.
void leave_if_asked();

}  // namespace isamap
