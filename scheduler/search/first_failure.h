// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why code of a user failed, found by any thread.

#include <mutex>

#include "isamap/result.h"

namespace isamap {

/// The first failure among the models of one factory, one per thread.
class FirstFailure {
 public:
  void add(Diagnostic problem) {
    const std::lock_guard lock(mutex_);
    if (problems_.empty()) problems_.push_back(std::move(problem));  // later failures follow from the first
  }
  Diagnostics problems() const {
    const std::lock_guard lock(mutex_);
    return problems_;
  }

 private:
  mutable std::mutex mutex_;
  Diagnostics problems_;
};

}  // namespace isamap
