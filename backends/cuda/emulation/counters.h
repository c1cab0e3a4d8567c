// SPDX-License-Identifier: Apache-2.0
// Counters in shared memory, copies of boxes that they count, and boxes that leave shared memory.

#pragma once

#include "backends/cuda/emulation/meeting.h"

namespace emulation {

EMULATION_API Counter& counter_at(std::uint32_t at);

EMULATION_API void begin_counter(std::uint32_t at, int arrivals, const char* what);

/// The phase ends if all is there.
EMULATION_API void look(Counter& counter);

EMULATION_API void arrive(std::uint32_t at);
EMULATION_API void expect(std::uint32_t at, long bytes);

/// Until the phase of this parity has ended: one that is not the running one's.
EMULATION_API void until(std::uint32_t at, int parity);

/// An operation that the counter waits for: now, or when a thread waits.
EMULATION_API void deliver_to(Counter& counter, std::function<void()> operation);

template <class Map>
void check_box(const Map& map, std::initializer_list<unsigned> box, int swizzle, const char* what) {
  std::size_t d = 0;
  for (const unsigned extent : box)
    if (d >= static_cast<std::size_t>(map.rank) || map.box[d++] != extent)
      fail("%s takes a box of other extents than the host has described", what);
  if (map.swizzle != swizzle)
    fail("%s permutes bytes by %d bits; the host has described a box with %d", what, swizzle, map.swizzle);
}

/// `elements(each)` calls each(shared address, {position in the tensor, innermost first}) for every element.
template <class Elements, class Map>
void issue_counted(std::uint32_t at, std::uint32_t size, Elements elements, const Map& map) {
  using At = std::initializer_list<int>;
  long bytes = 0;
  elements([&](std::uint32_t to, At) {
    note_write(*state.thread, to, size, true);
    for (std::uint32_t b = to; b < to + size; ++b)
      state.block->shadows[b].write = {};  // by the engine, not by this thread
    std::memset(state.block->bytes.data() + to, 0xff, size);
    bytes += size;
  });
  Counter& counter = counter_at(at);
  const auto deliver = [&counter, size, elements, map, bytes] {
    elements([&](std::uint32_t to, At position) {
      const unsigned char* from = static_cast<const unsigned char*>(map.base);
      bool inside = true;
      int d = 0;
      for (const int p : position) {
        inside = inside && p >= 0 && static_cast<unsigned long>(p) < map.sizes[d];
        if (inside) from += static_cast<unsigned long>(p) * map.pitches[d];
        ++d;
      }
      if (inside)
        std::memcpy(state.block->bytes.data() + to, from, size);
      else
        std::memset(state.block->bytes.data() + to, 0, size);
      for (std::uint32_t b = to; b < to + size; ++b) {
        Shadow& shadow = state.block->shadows[b];
        shadow.on_its_way = false;
        shadow.write = {};  // known to whoever waits for the counter
      }
    });
    counter.bytes -= bytes;
    look(counter);
  };
  deliver_to(counter, deliver);
}

/// The same for elements that leave shared memory, at the latest when their group is waited for: what stands there
/// then. What lies outside the tensor is left out. `by_path`: they are read by another path than threads write them by.
template <class Elements, class Map>
void issue_store(const char* object, std::uint32_t size, bool by_path, Elements elements, const Map& map,
                 const char* what) {
  using At = std::initializer_list<int>;
  Thread& thread = *state.thread;
  elements([&](std::uint32_t from, At) {
    for (std::uint32_t b = from; by_path && b < from + size; ++b) fenced(b, what);
    note_read(thread, from, size);
  });
  const auto deliver = [&thread, size, elements, map] {
    elements([&](std::uint32_t from, At position) {
      note_read(thread, from, size);
      unsigned char* to = const_cast<unsigned char*>(static_cast<const unsigned char*>(map.base));
      int d = 0;
      for (const int p : position) {
        if (p < 0 || static_cast<unsigned long>(p) >= map.sizes[d]) return;
        to += static_cast<unsigned long>(p) * map.pitches[d++];
      }
      std::memcpy(written(to), state.block->bytes.data() + from, size);
    });
  };
  deliver_in_group(object, deliver);
}

#if EMULATION_DEFINES
EMULATION_API Counter& counter_at(std::uint32_t at) {
  const auto found = state.block->counters.find(at);
  if (found == state.block->counters.end()) fail("there is no counter at byte %u of shared memory", at);
  if (!ordered(found->second.begun, *state.thread))
    fail("thread %d uses the counter at byte %u, which thread %d has set up, with no barrier between",
         state.thread->number, at, found->second.begun.thread);
  return found->second;
}

EMULATION_API void begin_counter(std::uint32_t at, int arrivals, const char* what) {
  aligned(at, 8, what);
  note_write(*state.thread, at, 8);
  Counter& counter = state.block->counters[at];
  if (counter.arrivals != 0) fail("the counter at byte %u of shared memory is set up twice", at);
  const Thread& thread = *state.thread;
  counter.arrivals = counter.pending = arrivals;
  counter.begun = {thread.number, thread.block_epoch, thread.warp_epoch, thread.part_epoch, 0, state.block->time};
}

EMULATION_API void look(Counter& counter) {
  if (counter.pending > 0 || counter.bytes != 0) return;
  ++counter.phase;
  counter.pending = counter.arrivals;
  for (const auto& [warp, time] : counter.told) counter.known[warp] = time;
  counter.told.clear();
  for (const int thread : counter.waiting) state.block->threads[static_cast<std::size_t>(thread)].blocked = false;
  counter.waiting.clear();
}

EMULATION_API void arrive(std::uint32_t at) {
  Counter& counter = counter_at(at);
  if (--counter.pending < 0) fail("more than %d arrive at the counter at byte %u in one phase", counter.arrivals, at);
  counter.told[state.thread->number / warp_size] = ++state.block->time;
  look(counter);
}

EMULATION_API void expect(std::uint32_t at, long bytes) {
  counter_at(at).bytes += bytes;
  arrive(at);
}

EMULATION_API void until(std::uint32_t at, int parity) {
  if (parity != 0 && parity != 1)
    fail("thread %d waits at the counter at byte %u for a phase of parity %d; a parity is 0 or 1", state.thread->number,
         at, parity);
  Counter& counter = counter_at(at);
  while (static_cast<int>(counter.phase & 1) == parity) {
    if (!counter.on_their_way.empty()) {  // as late as a wait allows
      const auto operation = counter.on_their_way.front();
      counter.on_their_way.pop_front();
      operation();
      continue;
    }
    counter.waiting.push_back(state.thread->number);
    wait(parity == 0 ? "a counter, for an even phase" : "a counter, for an odd phase");
  }
  for (const auto& [warp, time] : counter.known) state.thread->heard[warp] = std::max(state.thread->heard[warp], time);
}

EMULATION_API void deliver_to(Counter& counter, std::function<void()> operation) {
  if (arrives_now()) return operation();
  counter.on_their_way.push_back(std::move(operation));
  for (const int thread : counter.waiting) state.block->threads[static_cast<std::size_t>(thread)].blocked = false;
  counter.waiting.clear();
}
#endif

}  // namespace emulation
