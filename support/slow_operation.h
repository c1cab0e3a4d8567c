// SPDX-License-Identifier: Apache-2.0
#pragma once
// Telling what takes so long.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace isamap {

/// Where a line about what is going on is shown; empty: nowhere.
using Tell = std::function<void(const std::string&)>;

/// Tells what an operation is, once, if it has not ended after a second.
class SlowOperationNotice {
 public:
  SlowOperationNotice(std::string what, Tell tell);
  ~SlowOperationNotice();
  SlowOperationNotice(const SlowOperationNotice&) = delete;
  SlowOperationNotice& operator=(const SlowOperationNotice&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread teller_;  // last: it uses the others; without `tell` there is none
};

}  // namespace isamap
