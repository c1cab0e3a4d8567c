// SPDX-License-Identifier: Apache-2.0
#include "support/stop.h"

namespace isamap {

namespace {

thread_local StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope() : outer_(innermost) { innermost = this; }
StopScope::~StopScope() { innermost = outer_; }

void leave_if_asked() {
  if (innermost != nullptr && innermost->stop()) throw EndedEarly{};
}

}  // namespace isamap
