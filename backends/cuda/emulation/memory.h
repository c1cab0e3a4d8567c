// SPDX-License-Identifier: Apache-2.0
// What is known of shared memory: who touched each byte, and what has been synchronised since.

#pragma once

#include "backends/cuda/emulation/global.h"

namespace emulation {

EMULATION_API bool ordered(const Touch& before, const Thread& now);
/// Reads of several threads: all of their warps are heard of.
EMULATION_API bool reads_ordered(const Shadow& shadow, const Thread& now);
inline std::size_t offset_of(const void* address) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(address) - state.block->bytes.data());
}
inline bool is_shared(const void* address) { return offset_of(address) < state.block->bytes.size(); }
EMULATION_API void check_inside(std::size_t at, std::size_t size);
EMULATION_API void conflict(const char* what, std::size_t at, const Touch& before, const char* did, const Thread& now);
EMULATION_API void note_read(Thread& thread, std::size_t at, std::size_t size);
EMULATION_API void note_write(Thread& thread, std::size_t at, std::size_t size, bool on_its_way = false);

/// What instances wrote is seen by another path once they have fenced it.
EMULATION_API std::uint32_t fenced(std::uint32_t at, const char* what);
inline void fence() { ++state.thread->fences; }
inline std::uint32_t permuted(std::uint32_t at, int bits, int from, int to) {
  return at ^ ((at >> from & ((1U << bits) - 1)) << to);
}

/// A pointer into shared memory whose uses are seen.
template <class T>
class SharedPointer {
 public:
  class Cell {
   public:
    Cell(T* at, const char* array, const SourcePlace& here) : at_(at), array_(array), here_(here) {}
    operator T() const {
      if (counting) asked(Access::load);
      note_read(*state.thread, offset_of(at_), sizeof(T));
      return *at_;
    }
    Cell& operator=(T value) {
      if (counting) asked(Access::store);
      note_write(*state.thread, offset_of(at_), sizeof(T));
      *at_ = value;
      return *this;
    }
    Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
    Cell& operator+=(T value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
    Cell& operator*=(T value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

   private:
    void asked(Access access) const {
      BankRequest(access, array_, here_).of(*state.thread, static_cast<std::uint32_t>(offset_of(at_)), sizeof(T));
    }
    T* at_;
    const char* array_;
    SourcePlace here_;
  };
  SharedPointer() = default;
  explicit SharedPointer(void* at, const char* array = "?") : at_(static_cast<T*>(at)), array_(array) {}
  Cell operator[](Subscript i) const { return Cell(at_ + i.value, array_, i.here); }
  SharedPointer operator+(long i) const { return SharedPointer(at_ + i, array_); }
  friend SharedPointer operator+(long i, const SharedPointer& p) { return p + i; }
  SharedPointer operator-(long i) const { return SharedPointer(at_ - i, array_); }
  void* address() const { return at_; }
  const char* array() const { return array_; }

 private:
  T* at_ = nullptr;
  const char* array_ = "?";
};

inline void* shared_bytes() { return state.block->bytes.data(); }
inline std::uint32_t to_shared(const void* at) { return static_cast<std::uint32_t>(offset_of(at)); }
EMULATION_API void name_shared(std::uint32_t at, const char* array);
template <class T>
std::uint32_t to_shared(const SharedPointer<T>& at) {
  const auto offset = static_cast<std::uint32_t>(offset_of(at.address()));
  if (counting) name_shared(offset, at.array());
  return offset;
}

/// The same for a place that a shared address names: `*(float*)__cvta_shared_to_generic(a)` is not seen, these are.
EMULATION_API void* readable(Thread& thread, std::uint32_t at, std::size_t size);
inline const void* readable(Thread&, const void* at, std::size_t) { return at; }
EMULATION_API void* writable(Thread& thread, std::uint32_t at, std::size_t size);
inline void* writable(Thread&, void* at, std::size_t) { return at; }
inline void aligned(std::uint32_t at, unsigned to, const char* what) {
  if (at % to != 0) fail("%s: address %u of shared memory is no multiple of %u", what, at, to);
}
inline void aligned(const void* at, unsigned to, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(at) % to != 0)
    fail("%s: an address of global memory is no multiple of %u", what, to);
}

#if EMULATION_DEFINES
EMULATION_API bool ordered(const Touch& before, const Thread& now) {
  if (before.thread == now.number || before.thread == -1 || before.block_epoch < now.block_epoch) return true;
  if (before.thread < 0) return false;
  if (const auto heard = now.heard.find(before.thread / warp_size);
      heard != now.heard.end() && before.time < heard->second)
    return true;
  if (now.part > 0 && before.thread / now.part == now.number / now.part && before.part_epoch < now.part_epoch)
    return true;
  return before.thread / warp_size == now.number / warp_size && before.warp_epoch < now.warp_epoch;
}

EMULATION_API bool reads_ordered(const Shadow& shadow, const Thread& now) {
  if (ordered(shadow.read, now)) return true;
  for (int warp = 0; warp < 32; ++warp) {
    if ((shadow.readers >> warp & 1) == 0) continue;
    const auto heard = now.heard.find(warp);
    if (heard == now.heard.end() || shadow.read.time >= heard->second) return false;
  }
  return true;
}

EMULATION_API void check_inside(std::size_t at, std::size_t size) {
  if (at > state.block->bytes.size() || size > state.block->bytes.size() - at)
    fail("bytes %zu to %zu of shared memory are touched; the block has %zu", at, at + size, state.block->bytes.size());
}

EMULATION_API void conflict(const char* what, std::size_t at, const Touch& before, const char* did, const Thread& now) {
  if (before.thread == -2)
    fail("thread %d %s byte %zu of shared memory that others %s, with no barrier between", now.number, what, at, did);
  fail("thread %d %s byte %zu of shared memory that thread %d %s, with no barrier between", now.number, what, at,
       before.thread, did);
}

EMULATION_API void note_read(Thread& thread, std::size_t at, std::size_t size) {
  check_inside(at, size);
  for (std::size_t b = at; b < at + size; ++b) {
    Shadow& shadow = state.block->shadows[b];
    if (shadow.on_its_way)
      fail("thread %d reads byte %zu of shared memory before the asynchronous copy into it was waited for",
           thread.number, b);
    if (!ordered(shadow.write, thread)) conflict("reads", b, shadow.write, "wrote", thread);
    const bool several = shadow.read.thread != -1 && shadow.read.thread != thread.number &&
                         shadow.read.block_epoch == thread.block_epoch;
    shadow.read = {
        several ? -2 : thread.number, thread.block_epoch, thread.warp_epoch, thread.part_epoch, 0, state.block->time};
    shadow.readers |= 1U << (thread.number / warp_size);
  }
}

EMULATION_API void note_write(Thread& thread, std::size_t at, std::size_t size, bool on_its_way) {
  check_inside(at, size);
  for (std::size_t b = at; b < at + size; ++b) {
    Shadow& shadow = state.block->shadows[b];
    if (shadow.on_its_way)
      fail("thread %d writes byte %zu of shared memory while an asynchronous copy into it is on its way", thread.number,
           b);
    if (!ordered(shadow.write, thread)) conflict("writes", b, shadow.write, "wrote", thread);
    if (!reads_ordered(shadow, thread)) conflict("writes", b, shadow.read, "read", thread);
    shadow.write = {thread.number,     thread.block_epoch, thread.warp_epoch,
                    thread.part_epoch, thread.fences,      state.block->time};
    shadow.readers = 0;
    shadow.on_its_way = on_its_way;
  }
}

EMULATION_API std::uint32_t fenced(std::uint32_t at, const char* what) {
  check_inside(at, 1);
  const Touch& write = state.block->shadows[at].write;
  if (write.thread >= 0 && write.fences == state.block->threads[static_cast<std::size_t>(write.thread)].fences)
    fail("%s reads byte %u of shared memory, which thread %d wrote by another path, with no fence since", what, at,
         write.thread);
  return at;
}

EMULATION_API void* readable(Thread& thread, std::uint32_t at, std::size_t size) {
  note_read(thread, at, size);
  return state.block->bytes.data() + at;
}

EMULATION_API void* writable(Thread& thread, std::uint32_t at, std::size_t size) {
  note_write(thread, at, size);
  return state.block->bytes.data() + at;
}

EMULATION_API void name_shared(std::uint32_t at, const char* array) { state.thread->named[at] = array; }
#endif

}  // namespace emulation
