// SPDX-License-Identifier: Apache-2.0
// Who asks together: what the lanes of a warp ask of a memory by one instruction is one request.
//
// Fibers run one after another, so who belongs together is found out: lanes of one warp, at one place of the text, in
// the same iteration of every loop around it, for the same time there.

#pragma once

#include <source_location>

#include "backends/cuda/emulation/threads.h"

namespace emulation {

/// Where a call stands in the text: compilers that lack std::source_location have what it is made of.
#if defined(__cpp_lib_source_location)
using SourcePlace = std::source_location;
#else
class SourcePlace {
 public:
  static constexpr SourcePlace current(unsigned line = __builtin_LINE(), unsigned column = __builtin_COLUMN()) {
    SourcePlace place;
    place.line_ = line;
    place.column_ = column;
    return place;
  }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return column_; }

 private:
  unsigned line_ = 0, column_ = 0;
};
#endif

/// Asked at every access: known before anything runs.
#if defined(ISAMAP_EMULATION_DEFINED)
extern const bool counting;
#endif
#if EMULATION_DEFINES
EMULATION_API const bool counting = [] {
  const char* const asked = std::getenv("ISAMAP_EMULATION_COUNTS");
  return asked != nullptr && *asked != 0 && !(asked[0] == '0' && asked[1] == 0);
}();
#else
extern const bool counting;
#endif
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {  // the finaliser of MurmurHash3
  std::uint64_t h = a * 0x9e3779b97f4a7c15ULL + b + 1;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return h ^ h >> 33;
}
/// The how-manieth time it is that this thread is here, in this iteration of all loops around. `what` tells things
/// apart that stand at one place.
EMULATION_API std::uint64_t time_here(const SourcePlace& here, unsigned what);

/// Counts the iterations of a loop; the thread knows in which it is.
class LoopNumber {
 public:
  template <class Number>
  LoopNumber(Number value, const SourcePlace& here = SourcePlace::current())
      : value_(static_cast<long>(value)), counts_(counting) {
    if (!counts_) return;
    around_ = state.thread->iteration;
    loop_ = time_here(here, ~0U);
    enter();
  }
  LoopNumber(const LoopNumber& other) : value_(other.value_) {}  // a number as any other
  LoopNumber& operator=(const LoopNumber&) = delete;
  ~LoopNumber() {
    if (counts_) state.thread->iteration = around_;
  }
  LoopNumber& operator++() { return *this += 1; }
  LoopNumber& operator+=(long step) {
    value_ += step;
    if (counts_) enter();
    return *this;
  }
  operator long() const { return value_; }

 private:
  void enter() { state.thread->iteration = mixed(loop_, static_cast<std::uint64_t>(value_)); }
  long value_;
  bool counts_ = false;
  std::uint64_t around_ = 0, loop_ = 0;
};

enum class Access { load, store, add, copy };
inline const char* name_of(Access access) {
  const char* const names[] = {"loads", "stores", "additions", "copies"};
  return names[static_cast<int>(access)];
}

/// By what a request is known in its block. What `lanes` lanes do together, one of them does for all: a request of its
/// own.
using RequestKey = std::pair<std::uint64_t, std::uint64_t>;
EMULATION_API RequestKey request_key(Access access, bool shared, int lanes, const SourcePlace& here);

#if EMULATION_DEFINES
EMULATION_API std::uint64_t time_here(const SourcePlace& here, unsigned what) {
  Thread& thread = *state.thread;
  const std::uint64_t place =
      mixed(mixed(static_cast<std::uint64_t>(here.line()) << 32 | here.column(), what), thread.iteration);
  return mixed(place, thread.times[place]++);
}

EMULATION_API RequestKey request_key(Access access, bool shared, int lanes, const SourcePlace& here) {
  static std::uint64_t number = 0;
  if (lanes > 1) return {~std::uint64_t{0}, ++number};
  return {static_cast<std::uint64_t>(state.thread->number / warp_size),
          time_here(here, static_cast<unsigned>(access) * 2 + (shared ? 1U : 0U))};
}
#endif

}  // namespace emulation
