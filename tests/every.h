// SPDX-License-Identifier: Apache-2.0
#pragma once
// A share of the cases of a test: what the test takes every time, and its Heavy twin completes.

#include <cstddef>
#include <vector>

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

/// Every n-th of the parameters of a suite, from the first on.
template <class T, std::size_t count>
std::vector<T> every_nth(const T (&all)[count], std::size_t n) {
  std::vector<T> some;
  for (std::size_t i = 0; i < count; i += n) some.push_back(all[i]);
  return some;
}

/// The others: the parameters of its Heavy twin.
template <class T, std::size_t count>
std::vector<T> all_but_every_nth(const T (&all)[count], std::size_t n) {
  std::vector<T> others;
  for (std::size_t i = 0; i < count; ++i)
    if (i % n != 0) others.push_back(all[i]);
  return others;
}

}  // namespace isamap
