// SPDX-License-Identifier: Apache-2.0
// What threads do together, and copies that arrive later.

#pragma once

#include "backends/cuda/emulation/memory.h"

namespace emulation {

EMULATION_API void release(Meeting& meeting);

/// What several threads do together: with what each of them brought, and the first of them.
using Joint = std::function<void(void* const* at, Thread* threads)>;

/// The last of `instances` neighbouring threads does `body(what all brought)`, then all continue. No template: a
/// printed file has hundreds of these.
EMULATION_API void do_together(int instances, const char* what, void* mine, const Joint& body);
template <class Arguments, class Body>
void together(int instances, const char* what, Arguments& mine, Body body) {
  do_together(instances, what, &mine,
              [body](void* const* at, Thread* threads) { body(reinterpret_cast<Arguments* const*>(at), threads); });
}

/// All threads of the block, or `participants` of them at barrier `index`.
EMULATION_API void block_barrier(int index = 0, int participants = 0);
EMULATION_API void warp_barrier();

// Asynchronous copies into shared memory -----------------------------------------------------------------------------

/// Does a copy that is issued arrive at once?
EMULATION_API bool arrives_now();
/// An operation of this thread's open group: now, or when the group is waited for.
EMULATION_API void deliver_in_group(const char* object, std::function<void()> operation);

/// `bytes` of `source` go to shared address `to`, when the group in which this is issued is waited for at the latest.
EMULATION_API void issue_copy(const char* object, std::uint32_t to, const unsigned char* source, std::size_t bytes,
                              std::size_t valid, const SourcePlace& here);
EMULATION_API void commit(const char* object);
/// What several threads begin together and is done when its group is waited for at the latest, with what they brought;
/// the first of them keeps the groups.
EMULATION_API void begin_together(int instances, const char* object, const char* what, void* mine, std::size_t size,
                                  const Joint& body);
template <class Arguments, class Body>
void together_later(int instances, const char* object, const char* what, Arguments& mine, Body body) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  begin_together(instances, object, what, &mine, sizeof mine,
                 [body](void* const* at, Thread* threads) { body(reinterpret_cast<Arguments* const*>(at), threads); });
}
EMULATION_API void wait_groups(const char* object, std::size_t pending);

/// Of operations that `instances` threads begin together.
EMULATION_API void wait_groups_together(int instances, const char* object, std::size_t pending);

#if EMULATION_DEFINES
EMULATION_API void release(Meeting& meeting) {
  for (const int thread : meeting.waiting) state.block->threads[static_cast<std::size_t>(thread)].blocked = false;
  meeting.waiting.clear();
  meeting.arrived = 0;
}

EMULATION_API void do_together(int instances, const char* what, void* mine, const Joint& body) {
  const int group = state.thread->number / instances;
  if ((group + 1) * instances > state.thread_count)
    fail("%s needs %d threads; the block has %d", what, instances, state.thread_count);
  Meeting& meeting = state.block->meetings[{instances, group}];
  if (meeting.arrived == 0) {
    meeting.what = what;
    meeting.arguments.assign(static_cast<std::size_t>(instances), nullptr);
  } else if (std::strcmp(meeting.what, what) != 0) {
    fail("the threads that do one instruction together have parted: some are at %s, this one at %s", meeting.what,
         what);
  }
  meeting.arguments[static_cast<std::size_t>(state.thread->number % instances)] = mine;
  if (++meeting.arrived < instances) {
    meeting.waiting.push_back(state.thread->number);
    return wait(what);
  }
  body(meeting.arguments.data(), state.block->threads.data() + group * instances);
  release(meeting);
}

EMULATION_API void block_barrier(int index, int participants) {
  const int wanted = participants == 0 ? state.thread_count : participants;
  Meeting& meeting = state.block->meetings[{-1 - index, wanted}];
  if (++meeting.arrived < wanted) {
    meeting.waiting.push_back(state.thread->number);
    return wait("a barrier of the block");
  }
  if (wanted == state.thread_count) {
    count_requests();
    for (Thread& thread : state.block->threads) ++thread.block_epoch;
  }
  if (wanted < state.thread_count)
    for (Thread& thread : state.block->threads)
      if (thread.number / wanted == state.thread->number / wanted) {
        thread.part = wanted;
        ++thread.part_epoch;
      }
  release(meeting);
}

EMULATION_API void warp_barrier() {
  struct Nothing {
  } nothing;
  together(warp_size, "a barrier of the warp", nothing, [](Nothing* const*, Thread* threads) {
    for (int t = 0; t < warp_size; ++t) ++threads[t].warp_epoch;
  });
}

EMULATION_API void issue_copy(const char* object, std::uint32_t to, const unsigned char* source, std::size_t bytes,
                              std::size_t valid, const SourcePlace& here) {
  Thread& thread = *state.thread;
  Request(Access::copy, 1, here).of(source, valid);
  BankRequest(Access::copy, 1, thread, to, here).of(thread, to, bytes);
  note_write(thread, to, bytes, true);
  unsigned char* const target = state.block->bytes.data() + to;
  std::memset(target, 0xff, bytes);
  const auto deliver = [&thread, to, source, bytes, valid, target] {
    for (std::size_t b = to; b < to + bytes; ++b) {
      Shadow& shadow = state.block->shadows[b];
      shadow.on_its_way = false;
      shadow.write = {thread.number, thread.block_epoch, thread.warp_epoch, thread.part_epoch,
                      thread.fences, state.block->time};  // seen by others behind the next barrier
    }
    if (valid > 0) std::memcpy(target, source, valid);
    std::memset(target + valid, 0, bytes - valid);
  };
  deliver_in_group(object, deliver);
}

EMULATION_API void commit(const char* object) {
  Groups& groups = state.thread->groups[object];
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
}

EMULATION_API void begin_together(int instances, const char* object, const char* what, void* mine, std::size_t size,
                                  const Joint& body) {
  do_together(instances, what, mine, [instances, object, size, &body](void* const* at, Thread* threads) {
    std::vector<unsigned char> kept(static_cast<std::size_t>(instances) * size);
    for (int i = 0; i < instances; ++i) std::memcpy(kept.data() + static_cast<std::size_t>(i) * size, at[i], size);
    auto carry_out = [kept, instances, size, body, threads]() mutable {
      std::vector<void*> pointers;
      for (int i = 0; i < instances; ++i) pointers.push_back(kept.data() + static_cast<std::size_t>(i) * size);
      body(pointers.data(), threads);
    };
    if (arrives_now() && threads->groups[object].pending() == 0 && threads->groups[object].open.empty())
      return carry_out();
    threads->groups[object].open.push_back(carry_out);
  });
}

EMULATION_API void wait_groups(const char* object, std::size_t pending) {
  Groups& groups = state.thread->groups[object];
  while (groups.committed.size() > pending) {
    for (const auto& operation : groups.committed.front()) operation();
    groups.committed.pop_front();
  }
}

EMULATION_API void wait_groups_together(int instances, const char* object, std::size_t pending) {
  struct Nothing {
  } nothing;
  wait_groups(object, pending);
  together(instances, "a wait for what all of them began", nothing, [](Nothing* const*, Thread*) {});
}

EMULATION_API bool arrives_now() {
  return delivery().kind == Delivery::eager || (delivery().kind == Delivery::random && state.chance() % 2 == 0);
}

EMULATION_API void deliver_in_group(const char* object, std::function<void()> operation) {
  if (arrives_now()) return operation();
  state.thread->groups[object].open.push_back(std::move(operation));
}
#endif

}  // namespace emulation
