// SPDX-License-Identifier: Apache-2.0
#include "support/slow_operation.h"

#include <chrono>
#include <system_error>

namespace isamap {

SlowOperationNotice::SlowOperationNotice(std::string what, Tell tell) {
  if (!tell) return;
  try {
    teller_ = std::thread([this, what = std::move(what), tell = std::move(tell)] {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) tell(what + " ...");
    });
  } catch (const std::system_error&) {  // no more threads: nothing is told
  }
}

SlowOperationNotice::~SlowOperationNotice() {
  if (!teller_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  teller_.join();
}

}  // namespace isamap
