// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a search reaches long evaluations: a simulation asks now and then whether anybody still wants its result.

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

/// Throws EndedEarly if the scope of this thread wants it; nothing without a scope. Call it every few microseconds to
/// milliseconds.
void leave_if_asked();

}  // namespace isamap
