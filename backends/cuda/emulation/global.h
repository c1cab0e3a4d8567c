// SPDX-License-Identifier: Apache-2.0
// What is known of global memory: which block of a launch wrote each element, and which read it since. Nothing orders
// the blocks of a launch, so that two of them meet in an element is an error, unless both add to it atomically.

#pragma once

#include "backends/cuda/emulation/requests.h"

namespace emulation {

/// What blocks of this launch did to an element.
struct Meetings {
  static constexpr int nobody = -1, several = -2;
  int writer = nobody, adder = nobody, reader = nobody;
};

EMULATION_API Meetings& meetings_at(const void* at);
inline bool by_another(int block) {
  return block != Meetings::nobody && block != static_cast<int>(state.block->number.x);
}
EMULATION_API void note_block(int& who);
[[noreturn]] EMULATION_API void blocks_meet(const char* does, int block, const char* did);

EMULATION_API void* written(void* at);
EMULATION_API const void* was_read(const void* at);
EMULATION_API void* added(void* at);

/// A subscript, and where in the text it stands.
struct Subscript {
  template <class Number>
  Subscript(Number number, const SourcePlace& place = SourcePlace::current())
      : value(static_cast<long>(number)), here(place) {}
  long value;
  SourcePlace here;
};

/// A pointer to an array of the device: its uses are seen. Where a plain pointer is asked for it is one. What is only
/// read in a launch has a const type, and no blocks meet there.
template <class T>
class GlobalPointer {
 public:
  class Cell {
   public:
    Cell(T* at, const SourcePlace& here) : at_(at), here_(here) {}
    operator std::remove_const_t<T>() const {
      Request(Access::load, 1, here_).of(at_, sizeof(T));
      if constexpr (!std::is_const_v<T>) was_read(at_);
      return *at_;
    }
    Cell& operator=(std::remove_const_t<T> value) {
      Request(Access::store, 1, here_).of(at_, sizeof(T));
      *static_cast<T*>(written(at_)) = value;
      return *this;
    }
    Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
    Cell& operator+=(T value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
    Cell& operator*=(T value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

   private:
    T* at_;
    SourcePlace here_;
  };
  GlobalPointer() = default;
  GlobalPointer(T* at) : at_(at) {}
  template <class Plain, class = std::enable_if_t<std::is_pointer_v<Plain> && std::is_convertible_v<T*, Plain>>>
  operator Plain() const {
    return at_;
  }
  Cell operator[](Subscript i) const { return Cell(at_ + i.value, i.here); }
  GlobalPointer operator+(long i) const { return at_ + i; }
  friend GlobalPointer operator+(long i, const GlobalPointer& p) { return p + i; }
  GlobalPointer operator-(long i) const { return at_ - i; }

 private:
  T* at_ = nullptr;
};

#if EMULATION_DEFINES
EMULATION_API Meetings& meetings_at(const void* at) {
  struct Launch {
    std::uint64_t number = 0;
    std::unordered_map<const void*, Meetings> elements;
  };
  static Launch launch;
  if (launch.number != state.launches) launch = {state.launches, {}};
  return launch.elements[at];
}

EMULATION_API void note_block(int& who) {
  who = by_another(who) ? Meetings::several : static_cast<int>(state.block->number.x);
}

[[noreturn]] EMULATION_API void blocks_meet(const char* does, int block, const char* did) {
  if (block == Meetings::several)
    fail("%s an element of global memory that several other blocks %s, and nothing orders them", does, did);
  fail("%s an element of global memory that block %d %s, and nothing orders them", does, block, did);
}

EMULATION_API void* written(void* at) {
  Meetings& known = meetings_at(at);
  if (by_another(known.writer)) blocks_meet("writes", known.writer, "wrote");
  if (by_another(known.adder)) blocks_meet("writes", known.adder, "added to");
  if (by_another(known.reader)) blocks_meet("writes", known.reader, "read");
  note_block(known.writer);
  return at;
}

EMULATION_API const void* was_read(const void* at) {
  Meetings& known = meetings_at(at);
  if (by_another(known.writer)) blocks_meet("reads", known.writer, "wrote");
  if (by_another(known.adder)) blocks_meet("reads", known.adder, "added to");
  note_block(known.reader);
  return at;
}

EMULATION_API void* added(void* at) {
  Meetings& known = meetings_at(at);
  if (by_another(known.writer)) blocks_meet("adds to", known.writer, "wrote");
  if (by_another(known.reader)) blocks_meet("adds to", known.reader, "read");
  note_block(known.adder);
  return at;
}
#endif

}  // namespace emulation
