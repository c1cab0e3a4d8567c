// What is known of global memory: which block of a launch wrote each element, and which read it since. Nothing orders
// the blocks of a launch, so that two of them meet in an element is an error, unless both add to it atomically.

#pragma once

#include "backends/cuda/emulation/threads.h"

namespace emulation {

/// What blocks of this launch did to an element.
struct Meetings {
  static constexpr int nobody = -1, several = -2;
  int writer = nobody, adder = nobody, reader = nobody;
};

inline Meetings& meetings_at(const void* at) {
  struct Launch {
    std::uint64_t number = 0;
    std::unordered_map<const void*, Meetings> elements;
  };
  static Launch launch;
  if (launch.number != state.launches) launch = {state.launches, {}};
  return launch.elements[at];
}
inline bool by_another(int block) {
  return block != Meetings::nobody && block != static_cast<int>(state.block->number.x);
}
inline void note_block(int& who) {
  who = by_another(who) ? Meetings::several : static_cast<int>(state.block->number.x);
}
[[noreturn]] inline void blocks_meet(const char* does, int block, const char* did) {
  if (block == Meetings::several)
    fail("%s an element of global memory that several other blocks %s, and nothing orders them", does, did);
  fail("%s an element of global memory that block %d %s, and nothing orders them", does, block, did);
}

inline void* written(void* at) {
  Meetings& known = meetings_at(at);
  if (by_another(known.writer)) blocks_meet("writes", known.writer, "wrote");
  if (by_another(known.adder)) blocks_meet("writes", known.adder, "added to");
  if (by_another(known.reader)) blocks_meet("writes", known.reader, "read");
  note_block(known.writer);
  return at;
}
inline const void* was_read(const void* at) {
  Meetings& known = meetings_at(at);
  if (by_another(known.writer)) blocks_meet("reads", known.writer, "wrote");
  if (by_another(known.adder)) blocks_meet("reads", known.adder, "added to");
  note_block(known.reader);
  return at;
}
inline void* added(void* at) {
  Meetings& known = meetings_at(at);
  if (by_another(known.writer)) blocks_meet("adds to", known.writer, "wrote");
  if (by_another(known.reader)) blocks_meet("adds to", known.reader, "read");
  note_block(known.adder);
  return at;
}

/// A pointer to an array that a kernel writes: its uses are seen. Where a plain pointer is asked for it is one.
template <class T>
class GlobalPointer {
 public:
  class Cell {
   public:
    explicit Cell(T* at) : at_(at) {}
    operator T() const {
      was_read(at_);
      return *at_;
    }
    Cell& operator=(T value) {
      *static_cast<T*>(written(at_)) = value;
      return *this;
    }
    Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
    Cell& operator+=(T value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
    Cell& operator*=(T value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

   private:
    T* at_;
  };
  GlobalPointer() = default;
  GlobalPointer(T* at) : at_(at) {}
  operator T*() const { return at_; }
  Cell operator[](long i) const { return Cell(at_ + i); }
  GlobalPointer operator+(long i) const { return at_ + i; }
  friend GlobalPointer operator+(long i, const GlobalPointer& p) { return p + i; }
  GlobalPointer operator-(long i) const { return at_ - i; }

 private:
  T* at_ = nullptr;
};

}  // namespace emulation
