// SPDX-License-Identifier: Apache-2.0
#pragma once
// A notice about an operation that takes long.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace isamap {

/// Shows a line about the current operation; empty: no output.
using Tell = std::function<void(const std::string&)>;

/// Shows the operation's text, once, if it has not ended after a second.
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
