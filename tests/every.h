// SPDX-License-Identifier: Apache-2.0
#pragma once
// A share of the cases of a test: what the test takes every time, and its Heavy twin completes.

namespace isamap {

/// Every n-th case of a loop, for tests whose Heavy twin takes all of them: `if (every.skips()) continue;`.
class Every {
 public:
  explicit Every(int n) : n_(n) {}
  bool skips() { return next_++ % n_ != 0; }
  /// What is expected of `all` cases, for those that are taken.
  int share(int all) const { return all / n_; }

 private:
  int n_, next_ = 0;
};

}  // namespace isamap
