// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs are compiled, compared and timed, side by side: compilers run on all processors, and a program is timed
// on the first one as soon as it is compared, while nothing else of ours runs there. Such a time is disturbed by what
// the other processors do to shared caches and memory. It tells which programs are worth being timed alone.

#include <cstddef>
#include <functional>

namespace isamap {

/// What is done to each program, by its number.
struct ScreeningSteps {
  std::function<void()> prepare;  ///< once, before the first comparison, such as interpreting the kernel
  std::function<void()> ahead;    ///< once, beside compilers, by who does not time programs; empty: nothing
  std::function<void(std::size_t)> compile;
  std::function<bool(std::size_t)> compare;  ///< false: it is not timed
  /// One at a time, on a processor of its own; true: once more, after some others.
  std::function<bool(std::size_t)> time;
  /// Once, when all but a few have a time: how many followers are to be compiled, which only the fastest one needs.
  /// Empty: none.
  std::function<std::size_t()> follow_up = {};
  std::function<void(std::size_t)> follow = {};  ///< compiles and compares one of them
};

/// `jobs` steps at a time; from two on, all but one of them keep off the processor where programs are timed, if there
/// are several. An exception of a step ends the others as soon as they are done, and is rethrown.
void screen(std::size_t count, int jobs, const ScreeningSteps& steps);

}  // namespace isamap
