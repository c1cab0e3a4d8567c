// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parallel work with exceptions: an exception of a thread (an InternalError, or one of user code) is rethrown in the
// caller after all threads have ended.
//
//   const std::vector<Answer> answers = for_each_in_parallel(files.size(), jobs, [&](std::size_t f) {
//     return answer_of(files[f]);
//   });

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace isamap {

/// Processors that this process may use, at least 1.
int processors();

/// A number of threads that share loops, the calling one among them. Loops may be nested: a thread without work helps
/// with any loop that is open, so the last long item of an outer loop is sped up by the others.
class Workers {
 public:
  explicit Workers(int jobs);  ///< starts jobs - 1 threads
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  int jobs() const;

  using Work = std::function<void(std::size_t)>;
  /// Calls work(0) .. work(count - 1), begun in this order. After an exception no further one begins; of several that
  /// of the smallest number is rethrown, which is the one that a plain loop would have thrown. `while_waiting` is
  /// called by the calling thread every few milliseconds once it has no work left.
  void for_each(std::size_t count, const Work& work, const std::function<void()>& while_waiting = {});

 private:
  struct Region;
  struct State;
  std::unique_ptr<State> state_;
};

/// The results of f(0) .. f(count - 1) in this order, or nothing if f returns nothing; at most `jobs` at a time, by
/// threads of its own. Exceptions as of Workers::for_each.
template <class F>
auto for_each_in_parallel(Workers& workers, std::size_t count, F&& f) {
  using R = std::invoke_result_t<F&, std::size_t>;
  if constexpr (std::is_void_v<R>) {
    workers.for_each(count, [&](std::size_t i) { f(i); });
  } else {
    std::vector<std::optional<R>> found(count);
    workers.for_each(count, [&](std::size_t i) { found[i].emplace(f(i)); });
    std::vector<R> results;
    results.reserve(count);
    for (std::optional<R>& one : found) results.push_back(std::move(*one));
    return results;
  }
}
template <class F>
auto for_each_in_parallel(std::size_t count, int jobs, F&& f) {
  Workers workers(static_cast<int>(std::min<std::size_t>(count, static_cast<std::size_t>(jobs > 1 ? jobs : 1))));
  return for_each_in_parallel(workers, count, std::forward<F>(f));
}

}  // namespace isamap
