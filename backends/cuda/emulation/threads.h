// SPDX-License-Identifier: Apache-2.0
// Runs kernels of CUDA C++ as plain C++20 on a processor, thread by thread, and stops with words at what a GPU would
// leave undefined. Compile a printed kernel without nvcc with this file beside it.
//
// Each thread of a block is a fiber; blocks run one after another. What the threads of a warp do together (an
// instruction of the tensor cores, say) is done by the last one that arrives, for all. Asynchronous copies arrive as
// late as their waits allow. Of every byte of shared memory it is known who touched it last and what has been
// synchronised since, so a missing barrier is reported wherever it stands; of every element of global memory that a
// launch writes, which blocks did.
//
// ISAMAP_EMULATION = late (the default) | eager | random, and a seed behind a colon: "random:7" delivers copies at
// random and lets threads take turns in another order.

#pragma once
#undef _FORTIFY_SOURCE  // it takes a jump between stacks for an error

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
// Kernels are compiled with this header one by one, so what they do not need stays out: libstdc++ instantiates its
// special functions (11 ms a kernel) and conversions of strings (41 ms) in every unit that includes them.
#if defined(ISAMAP_EMULATION_DECLARED)
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#else
#include <algorithm>
#include <string>
#endif

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__

// By default a printed file holds all of this. With ISAMAP_EMULATION_DECLARED it has only what templates need: what
// does not depend on the kernel comes from an object that is made once, of this header with ISAMAP_EMULATION_DEFINED.
#if defined(ISAMAP_EMULATION_DECLARED)
#define EMULATION_API
#define EMULATION_DEFINES 0
#elif defined(ISAMAP_EMULATION_DEFINED)
#define EMULATION_API
#define EMULATION_DEFINES 1
#else
#define EMULATION_API inline
#define EMULATION_DEFINES 1
#endif

namespace emulation {

struct Position {
  unsigned x = 0, y = 0, z = 0;
};

/// What one thread did to a byte and how far the block, and its warp, had synchronised then.
struct Touch {
  int thread = -1;  ///< -1: none, -2: several that only read
  unsigned block_epoch = 0, warp_epoch = 0, part_epoch = 0;
  unsigned fences = 0;  ///< writes: those that the thread had issued
  unsigned time = 0;    ///< of the block: how many arrivals at counters came before
};
struct Shadow {
  Touch write, read;
  std::uint32_t readers = 0;  ///< warps that have read it since it was written
  bool on_its_way = false;    ///< an asynchronous copy will write it
};

/// SplitMix64 (Steele, Lea, Flood 2014): <random> would take a third of the time of all headers here.
struct Chance {
  std::uint64_t state = 0;

  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
};

struct Delivery {
  enum Kind { late, eager, random } kind = late;
  unsigned seed = 0;
};
EMULATION_API Delivery delivery();

/// Operations that complete in groups: those issued since the last commit, and committed groups, oldest first.
struct Groups {
  std::vector<std::function<void()>> open;
  std::deque<std::vector<std::function<void()>>> committed;

  std::size_t pending() const {
    std::size_t count = 0;
    for (const auto& group : committed) count += group.size();
    return count;
  }
};

struct TextOrder {
  bool operator()(const char* a, const char* b) const { return std::strcmp(a, b) < 0; }
};

struct Thread {
  ucontext_t start;
  jmp_buf at;
  int number = 0;
  bool started = false, done = false, blocked = false;
  const char* waits_for = "";
  unsigned block_epoch = 0, warp_epoch = 0, part_epoch = 0;
  unsigned fences = 0;
  int part = 0;                                     ///< threads that met at the last barrier of a part of the block
  std::map<const char*, Groups, TextOrder> groups;  ///< by name, a literal of the kernel
  std::uint64_t iteration = 0;                      ///< of all loops around; lanes.h
  std::unordered_map<std::uint64_t, std::uint64_t> times;  ///< that it was at a place in an iteration
  std::unordered_map<std::uint32_t, const char*> named;    ///< arrays to which it has taken shared addresses; passes.h
  std::map<int, unsigned> heard;  ///< by warp: what it did before this time is known to this thread, from a counter
};

/// A counter in shared memory. A phase ends when all arrivals and all announced bytes are there.
struct Counter {
  int arrivals = 0, pending = 0;
  long bytes = 0;                                  ///< announced and not there
  unsigned phase = 0;                              ///< how many have ended
  Touch begun;                                     ///< who set it up
  std::map<int, unsigned> told, known;             ///< by warp, in this phase and in those that have ended: until when
  std::deque<std::function<void()>> on_their_way;  ///< copies that it counts
  std::vector<int> waiting;
};

/// Threads that wait for one another.
struct Meeting {
  const char* what = "";
  int arrived = 0;
  std::vector<void*> arguments;
  std::vector<int> waiting;
};

constexpr int warp_size = 32;
constexpr std::size_t stack_size = 256 << 10;

struct Block {
  Position number;
  std::vector<Thread> threads;
  std::vector<unsigned char> bytes;
  std::vector<Shadow> shadows;
  std::map<std::pair<int, int>, Meeting> meetings;  ///< by instances and group; barriers by -1 - index
  std::map<std::uint32_t, Counter> counters;        ///< by address
  unsigned time = 1;
};

/// What a machine's file says of its memories; 0: it does not.
struct Memories {
  int transaction = 0;            ///< bytes that device memory moves at once
  int banks = 0, bank_width = 0;  ///< of shared memory; bytes
};

struct State {
  Block* block = nullptr;
  Thread* thread = nullptr;
  Position blocks;
  int thread_count = 0;
  jmp_buf scheduler;
  Chance chance;
  std::function<void()> kernel;
  const char* kernel_name = "";
  std::uint64_t launches = 0;  ///< so far
  Memories memories;
};
#if EMULATION_DEFINES
EMULATION_API State state;
#else
extern State state;
#endif

[[noreturn]] EMULATION_API void fail(const char* format, ...);

/// A fault that the processor sees, such as an address in no memory: it ends the program as without this, with the
/// kernel's name before.
EMULATION_API void report_fault(int number);
/// On a stack of its own: that of a fiber may be what is full.
EMULATION_API void watch_faults();

// Fibers -------------------------------------------------------------------------------------------------------------

EMULATION_API void switch_to_scheduler();
/// Until another thread releases this one.
EMULATION_API void wait(const char* what);
EMULATION_API void run_thread();

[[noreturn]] EMULATION_API void report_deadlock(const Block& block);

EMULATION_API void run_block(Block& block);

void count_requests();  // requests.h

EMULATION_API void launch(const char* name, Position blocks, int threads, std::size_t shared_bytes,
                          const Memories& memories, std::function<void()> kernel);

inline Position thread_position() { return {static_cast<unsigned>(state.thread->number), 0, 0}; }
inline Position block_position() { return state.block->number; }
inline Position grid_size() { return state.blocks; }
inline Position block_size() { return {static_cast<unsigned>(state.thread_count), 1, 1}; }

#if EMULATION_DEFINES
EMULATION_API Delivery delivery() {
  static const Delivery chosen = [] {
    const char* const text = std::getenv("ISAMAP_EMULATION");
    Delivery d;
    if (text == nullptr || *text == '\0') return d;
    const std::string all = text;
    const std::size_t colon = all.find(':');
    const std::string kind = all.substr(0, colon);
    const std::string seed = colon == std::string::npos ? "" : all.substr(colon + 1);
    const bool number = !seed.empty() && seed.size() < 10 && seed.find_first_not_of("0123456789") == std::string::npos;
    if (kind == "random" ? !number : colon != std::string::npos || (kind != "late" && kind != "eager")) {
      std::fprintf(stderr, "ISAMAP_EMULATION is '%s'; it says how copies arrive: late, eager or random:SEED\n", text);
      std::_Exit(3);
    }
    d.kind = kind == "eager" ? Delivery::eager : kind == "random" ? Delivery::random : Delivery::late;
    if (number) d.seed = static_cast<unsigned>(std::strtoul(seed.c_str(), nullptr, 10));
    return d;
  }();
  return chosen;
}

[[noreturn]] EMULATION_API void fail(const char* format, ...) {
  std::fflush(stdout);
  std::fprintf(stderr, "emulation of %s", state.kernel_name);
  if (state.launches > 1) std::fprintf(stderr, ", launch %llu", static_cast<unsigned long long>(state.launches));
  if (state.block != nullptr && state.thread != nullptr)
    std::fprintf(stderr, ", block %u, thread %d", state.block->number.x, state.thread->number);
  std::fprintf(stderr, ": ");
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
  std::_Exit(3);
}

EMULATION_API void report_fault(int number) {
  char text[256];
  const int size = std::snprintf(text, sizeof text, "emulation of %s, launch %llu, block %u, thread %d: signal %d\n",
                                 state.kernel_name, static_cast<unsigned long long>(state.launches),
                                 state.block != nullptr ? state.block->number.x : 0,
                                 state.thread != nullptr ? state.thread->number : -1, number);
  if (size > 0) [[maybe_unused]]
    const auto written = write(2, text, std::min<std::size_t>(size, sizeof text - 1));
  signal(number, SIG_DFL);
  raise(number);
}

EMULATION_API void watch_faults() {
  static const bool once = [] {
    static unsigned char stack[64 << 10];
    stack_t other{};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    if (sigaltstack(&other, nullptr) != 0) return false;
    struct sigaction action {};
    action.sa_handler = report_fault;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &action, nullptr);
    return true;
  }();
  (void)once;
}

EMULATION_API void switch_to_scheduler() {
  if (_setjmp(state.thread->at) == 0) _longjmp(state.scheduler, 1);
}

EMULATION_API void wait(const char* what) {
  Thread& thread = *state.thread;
  thread.blocked = true;
  thread.waits_for = what;
  while (thread.blocked) switch_to_scheduler();
}

EMULATION_API void run_thread() {
  state.kernel();
  state.thread->done = true;
  for (;;) switch_to_scheduler();
}

__attribute__((noinline)) static void resume(Thread& thread) {  // _setjmp returns twice: not inlined
  state.thread = &thread;
  if (_setjmp(state.scheduler) == 0) {
    if (thread.started) _longjmp(thread.at, 1);
    thread.started = true;
    setcontext(&thread.start);
  }
  state.thread = nullptr;
}

[[noreturn]] EMULATION_API void report_deadlock(const Block& block) {
  std::map<std::string, std::pair<int, int>> waiting;
  int done = 0;
  for (const Thread& thread : block.threads)
    if (thread.done)
      ++done;
    else if (waiting[thread.waits_for].second++ == 0)
      waiting[thread.waits_for].first = thread.number;
  std::string text;
  for (const auto& [what, who] : waiting)
    text += (text.empty() ? "" : ", ") + std::to_string(who.second) + " (thread " + std::to_string(who.first) +
            " first) at " + what;
  fail("block %u stands still: %s; %d threads have ended", block.number.x, text.c_str(), done);
}

class Stacks {
 public:
  void* of(std::size_t thread) {
    while (stacks_.size() <= thread) {
      void* const at = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (at == MAP_FAILED) fail("not enough memory for %zu threads", thread + 1);
      stacks_.push_back(at);
    }
    return stacks_[thread];
  }

 private:
  std::vector<void*> stacks_;
};

/// getcontext returns twice, too.
__attribute__((noinline)) static void prepare(Thread& thread, void* stack) {
  getcontext(&thread.start);
  thread.start.uc_stack.ss_sp = stack;
  thread.start.uc_stack.ss_size = stack_size;
  thread.start.uc_link = nullptr;
  makecontext(&thread.start, run_thread, 0);
}

EMULATION_API void run_block(Block& block) {
  static Stacks stacks;
  std::vector<std::size_t> order(block.threads.size());
  for (std::size_t t = 0; t < order.size(); ++t) {
    order[t] = t;
    Thread& thread = block.threads[t];
    thread.number = static_cast<int>(t);
    prepare(thread, stacks.of(t));
  }
  for (std::size_t left = block.threads.size(); left > 0;) {
    if (delivery().kind == Delivery::random)
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[state.chance() % i]);
    bool progress = false;
    for (const std::size_t t : order) {
      Thread& thread = block.threads[t];
      if (thread.done || thread.blocked) continue;
      progress = true;
      resume(thread);
      left -= thread.done;
    }
    if (!progress) report_deadlock(block);
  }
  for (Thread& thread : block.threads)
    for (auto& [name, groups] : thread.groups)
      if (!groups.open.empty() || groups.pending() > 0)
        fail("thread %d ended before its asynchronous operations (%s) were waited for", thread.number, name);
  for (const auto& [address, counter] : block.counters)
    if (!counter.on_their_way.empty() || counter.bytes != 0)
      fail("block %u ended before what the counter at byte %u of shared memory counts was there", block.number.x,
           address);
}

EMULATION_API void launch(const char* name, Position blocks, int threads, std::size_t shared_bytes,
                          const Memories& memories, std::function<void()> kernel) {
  watch_faults();
  state.kernel = std::move(kernel);
  state.kernel_name = name;
  ++state.launches;
  state.blocks = blocks;
  state.thread_count = threads;
  state.chance = {delivery().seed};
  state.memories = memories;
  Block block;
  for (unsigned b = 0; b < blocks.x; ++b) {
    block.number = {b, 0, 0};
    block.threads.assign(static_cast<std::size_t>(threads), {});
    block.bytes.assign(shared_bytes, 0xff);
    block.shadows.assign(shared_bytes, {});
    block.meetings.clear();
    block.counters.clear();
    block.time = 1;
    state.block = &block;
    run_block(block);
    count_requests();
    state.block = nullptr;
  }
  state.kernel = {};
}
#endif

}  // namespace emulation
