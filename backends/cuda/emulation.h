// Runs kernels of CUDA C++ as plain C++20 on a processor, thread by thread, and stops with words at what a GPU would
// leave undefined. Compile a printed kernel without nvcc with this file beside it.
//
// Each thread of a block is a fiber; blocks run one after another. What the threads of a warp do together (an
// instruction of the tensor cores, say) is done by the last one that arrives, for all. Asynchronous copies arrive as
// late as their waits allow. Of every byte of shared memory it is known who touched it last and what has been
// synchronised since, so a missing barrier is reported wherever it stands.
//
// ISAMAP_EMULATION = late (the default) | eager | random, and a seed behind a colon: "random:7" delivers copies at
// random and lets threads take turns in another order.

#ifndef ISAMAP_EMULATION_H
#define ISAMAP_EMULATION_H
#undef _FORTIFY_SOURCE  // it takes a jump between stacks for an error

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

namespace emulation {

struct Position {
  unsigned x = 0, y = 0, z = 0;
};

/// What one thread did to a byte and how far the block, and its warp, had synchronised then.
struct Touch {
  int thread = -1;  ///< -1: nobody, -2: several that only read
  unsigned block_epoch = 0, warp_epoch = 0, part_epoch = 0;
};
struct Shadow {
  Touch write, read;
  bool on_its_way = false;  ///< an asynchronous copy will write it
};

struct Delivery {
  enum Kind { late, eager, random } kind = late;
  unsigned seed = 0;
};
inline Delivery delivery() {
  static const Delivery chosen = [] {
    const char* const text = std::getenv("ISAMAP_EMULATION");
    Delivery d;
    if (text == nullptr) return d;
    const std::string all = text;
    const std::size_t colon = all.find(':');
    const std::string kind = all.substr(0, colon);
    d.kind = kind == "eager" ? Delivery::eager : kind == "random" ? Delivery::random : Delivery::late;
    if (colon != std::string::npos) d.seed = static_cast<unsigned>(std::strtoul(all.c_str() + colon + 1, nullptr, 10));
    return d;
  }();
  return chosen;
}

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

struct Thread {
  ucontext_t start;
  jmp_buf at;
  int number = 0;
  bool started = false, done = false, blocked = false;
  const char* waits_for = "";
  unsigned block_epoch = 0, warp_epoch = 0, part_epoch = 0;
  int part = 0;  ///< threads that met at the last barrier of a part of the block
  std::map<std::string, Groups> groups;
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
};

/// Counts of one launch, printed with ISAMAP_EMULATION_COUNTS=1.
struct Counters {
  long shared_requests = 0, shared_wavefronts = 0, global_requests = 0, global_sectors = 0;
};

struct State {
  Block* block = nullptr;
  Thread* thread = nullptr;
  Position blocks;
  int thread_count = 0;
  jmp_buf scheduler;
  std::mt19937 chance{1};
  std::function<void()> kernel;
  const char* kernel_name = "";
  Counters counters;
};
inline State state;

[[noreturn]] inline void fail(const char* format, ...) {
  std::fflush(stdout);
  std::fprintf(stderr, "emulation of %s", state.kernel_name);
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

// Fibers -------------------------------------------------------------------------------------------------------------

inline void switch_to_scheduler() {
  if (_setjmp(state.thread->at) == 0) _longjmp(state.scheduler, 1);
}
/// Until somebody releases this thread.
inline void wait(const char* what) {
  Thread& thread = *state.thread;
  thread.blocked = true;
  thread.waits_for = what;
  while (thread.blocked) switch_to_scheduler();
}
inline void run_thread() {
  state.kernel();
  state.thread->done = true;
  for (;;) switch_to_scheduler();
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

inline void resume(Thread& thread) {
  state.thread = &thread;
  if (_setjmp(state.scheduler) == 0) {
    if (thread.started) _longjmp(thread.at, 1);
    thread.started = true;
    setcontext(&thread.start);
  }
  state.thread = nullptr;
}

[[noreturn]] inline void report_deadlock(const Block& block) {
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

inline void run_block(Block& block) {
  static Stacks stacks;
  std::vector<std::size_t> order(block.threads.size());
  for (std::size_t t = 0; t < order.size(); ++t) {
    order[t] = t;
    Thread& thread = block.threads[t];
    thread.number = static_cast<int>(t);
    getcontext(&thread.start);
    thread.start.uc_stack.ss_sp = stacks.of(t);
    thread.start.uc_stack.ss_size = stack_size;
    thread.start.uc_link = nullptr;
    makecontext(&thread.start, run_thread, 0);
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
        fail("thread %d ended before its asynchronous operations (%s) were waited for", thread.number, name.c_str());
}

template <class Kernel>
void launch(const char* name, Position blocks, int threads, std::size_t shared_bytes, Kernel kernel) {
  state.kernel = kernel;
  state.kernel_name = name;
  state.blocks = blocks;
  state.thread_count = threads;
  state.chance.seed(delivery().seed + 1);
  state.counters = {};
  Block block;
  for (unsigned b = 0; b < blocks.x; ++b) {
    block.number = {b, 0, 0};
    block.threads.assign(static_cast<std::size_t>(threads), {});
    block.bytes.assign(shared_bytes, 0xff);
    block.shadows.assign(shared_bytes, {});
    block.meetings.clear();
    state.block = &block;
    run_block(block);
    state.block = nullptr;
  }
  if (std::getenv("ISAMAP_EMULATION_COUNTS") != nullptr)
    std::fprintf(stderr, "%s: %ld shared requests in %ld wavefronts, %ld global requests of %ld sectors\n", name,
                 state.counters.shared_requests, state.counters.shared_wavefronts, state.counters.global_requests,
                 state.counters.global_sectors);
  state.kernel = {};
}

inline Position thread_position() { return {static_cast<unsigned>(state.thread->number), 0, 0}; }
inline Position block_position() { return state.block->number; }
inline Position grid_size() { return state.blocks; }
inline Position block_size() { return {static_cast<unsigned>(state.thread_count), 1, 1}; }

// Shared memory ------------------------------------------------------------------------------------------------------

inline bool ordered(const Touch& before, const Thread& now) {
  if (before.thread == now.number || before.thread == -1 || before.block_epoch < now.block_epoch) return true;
  if (before.thread < 0) return false;
  if (now.part > 0 && before.thread / now.part == now.number / now.part && before.part_epoch < now.part_epoch) return true;
  return before.thread / warp_size == now.number / warp_size && before.warp_epoch < now.warp_epoch;
}
inline std::size_t offset_of(const void* address) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(address) - state.block->bytes.data());
}
inline bool is_shared(const void* address) {
  return offset_of(address) < state.block->bytes.size();
}
inline void check_inside(std::size_t at, std::size_t size) {
  if (at > state.block->bytes.size() || size > state.block->bytes.size() - at)
    fail("bytes %zu to %zu of shared memory are touched; the block has %zu", at, at + size, state.block->bytes.size());
}
inline void conflict(const char* what, std::size_t at, const Touch& before, const char* did, const Thread& now) {
  if (before.thread == -2) fail("thread %d %s byte %zu of shared memory that others %s, with no barrier between", now.number, what, at, did);
  fail("thread %d %s byte %zu of shared memory that thread %d %s, with no barrier between", now.number, what, at,
       before.thread, did);
}
inline void note_read(Thread& thread, std::size_t at, std::size_t size) {
  check_inside(at, size);
  for (std::size_t b = at; b < at + size; ++b) {
    Shadow& shadow = state.block->shadows[b];
    if (shadow.on_its_way)
      fail("thread %d reads byte %zu of shared memory before the asynchronous copy into it was waited for",
           thread.number, b);
    if (!ordered(shadow.write, thread)) conflict("reads", b, shadow.write, "wrote", thread);
    const bool several = shadow.read.thread != -1 && shadow.read.thread != thread.number &&
                         shadow.read.block_epoch == thread.block_epoch;
    shadow.read = {several ? -2 : thread.number, thread.block_epoch, thread.warp_epoch, thread.part_epoch};
  }
}
inline void note_write(Thread& thread, std::size_t at, std::size_t size, bool on_its_way = false) {
  check_inside(at, size);
  for (std::size_t b = at; b < at + size; ++b) {
    Shadow& shadow = state.block->shadows[b];
    if (shadow.on_its_way)
      fail("thread %d writes byte %zu of shared memory while an asynchronous copy into it is on its way", thread.number,
           b);
    if (!ordered(shadow.write, thread)) conflict("writes", b, shadow.write, "wrote", thread);
    if (!ordered(shadow.read, thread)) conflict("writes", b, shadow.read, "read", thread);
    shadow.write = {thread.number, thread.block_epoch, thread.warp_epoch, thread.part_epoch};
    shadow.on_its_way = on_its_way;
  }
}

/// A pointer into shared memory whose uses are seen.
template <class T>
class SharedPointer {
 public:
  class Cell {
   public:
    explicit Cell(T* at) : at_(at) {}
    operator T() const {
      note_read(*state.thread, offset_of(at_), sizeof(T));
      return *at_;
    }
    Cell& operator=(T value) {
      note_write(*state.thread, offset_of(at_), sizeof(T));
      *at_ = value;
      return *this;
    }
    Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
    Cell& operator+=(T value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }
    Cell& operator*=(T value) { return *this = static_cast<T>(static_cast<T>(*this) * value); }

   private:
    T* at_;
  };
  SharedPointer() = default;
  explicit SharedPointer(void* at) : at_(static_cast<T*>(at)) {}
  Cell operator[](long i) const { return Cell(at_ + i); }
  SharedPointer operator+(long i) const { return SharedPointer(at_ + i); }
  friend SharedPointer operator+(long i, const SharedPointer& p) { return p + i; }
  SharedPointer operator-(long i) const { return SharedPointer(at_ - i); }
  void* address() const { return at_; }

 private:
  T* at_ = nullptr;
};

inline void* shared_bytes() { return state.block->bytes.data(); }
inline std::uint32_t to_shared(const void* at) { return static_cast<std::uint32_t>(offset_of(at)); }
template <class T>
std::uint32_t to_shared(const SharedPointer<T>& at) {
  return static_cast<std::uint32_t>(offset_of(at.address()));
}

/// The same for a place that a shared address names: `*(float*)__cvta_shared_to_generic(a)` is not seen, these are.
inline void* readable(Thread& thread, std::uint32_t at, std::size_t size) {
  note_read(thread, at, size);
  return state.block->bytes.data() + at;
}
inline const void* readable(Thread&, const void* at, std::size_t) { return at; }
inline void* writable(Thread& thread, std::uint32_t at, std::size_t size) {
  note_write(thread, at, size);
  return state.block->bytes.data() + at;
}
inline void* writable(Thread&, void* at, std::size_t) { return at; }
inline void aligned(std::uint32_t at, unsigned to, const char* what) {
  if (at % to != 0) fail("%s: address %u of shared memory is no multiple of %u", what, at, to);
}
inline void aligned(const void* at, unsigned to, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(at) % to != 0)
    fail("%s: an address of global memory is no multiple of %u", what, to);
}

/// Requests of several threads at once: the banks of shared memory that they meet, the sectors of global memory.
inline void count_request(const std::vector<std::uint32_t>& addresses, std::size_t size, int banks, int width) {
  std::map<int, std::vector<std::uint32_t>> words;  // by bank
  int most = 1;
  for (const std::uint32_t address : addresses)
    for (std::uint32_t word = address / static_cast<unsigned>(width); word * static_cast<unsigned>(width) < address + size; ++word) {
      auto& of_bank = words[static_cast<int>(word) % banks];
      bool seen = false;
      for (const std::uint32_t other : of_bank) seen = seen || other == word;
      if (!seen) of_bank.push_back(word);
      most = most > static_cast<int>(of_bank.size()) ? most : static_cast<int>(of_bank.size());
    }
  ++state.counters.shared_requests;
  state.counters.shared_wavefronts += most;
}

// What threads do together -------------------------------------------------------------------------------------------

inline void release(Meeting& meeting) {
  for (const int thread : meeting.waiting) state.block->threads[static_cast<std::size_t>(thread)].blocked = false;
  meeting.waiting.clear();
  meeting.arrived = 0;
}

/// The last of `instances` neighbouring threads does `body(arguments of all)`, then all go on.
template <class Arguments, class Body>
void together(int instances, const char* what, Arguments& mine, Body body) {
  const int group = state.thread->number / instances;
  if ((group + 1) * instances > state.thread_count)
    fail("%s needs %d threads; the block has %d", what, instances, state.thread_count);
  Meeting& meeting = state.block->meetings[{instances, group}];
  if (meeting.arrived == 0) {
    meeting.what = what;
    meeting.arguments.assign(static_cast<std::size_t>(instances), nullptr);
  } else if (std::strcmp(meeting.what, what) != 0) {
    fail("the threads that do one instruction together have parted: some are at %s, this one at %s", meeting.what, what);
  }
  meeting.arguments[static_cast<std::size_t>(state.thread->number % instances)] = &mine;
  if (++meeting.arrived < instances) {
    meeting.waiting.push_back(state.thread->number);
    return wait(what);
  }
  body(reinterpret_cast<Arguments* const*>(meeting.arguments.data()), state.block->threads.data() + group * instances);
  release(meeting);
}

/// All threads of the block, or `participants` of them at barrier `index`.
inline void block_barrier(int index = 0, int participants = 0) {
  const int wanted = participants == 0 ? state.thread_count : participants;
  Meeting& meeting = state.block->meetings[{-1 - index, wanted}];
  if (++meeting.arrived < wanted) {
    meeting.waiting.push_back(state.thread->number);
    return wait("a barrier of the block");
  }
  if (wanted == state.thread_count)
    for (Thread& thread : state.block->threads) ++thread.block_epoch;
  else
    for (Thread& thread : state.block->threads)
      if (thread.number / wanted == state.thread->number / wanted) {
        thread.part = wanted;
        ++thread.part_epoch;
      }
  release(meeting);
}
inline void warp_barrier() {
  struct Nothing {
  } nothing;
  together(warp_size, "a barrier of the warp", nothing, [](Nothing* const*, Thread* threads) {
    for (int t = 0; t < warp_size; ++t) ++threads[t].warp_epoch;
  });
}

// Asynchronous copies into shared memory -----------------------------------------------------------------------------

/// `bytes` of `source` go to shared address `to`, when the group in which this is issued is waited for at the latest.
inline void issue_copy(const char* object, std::uint32_t to, const unsigned char* source, std::size_t bytes, std::size_t valid) {
  Thread& thread = *state.thread;
  note_write(thread, to, bytes, true);
  unsigned char* const target = state.block->bytes.data() + to;
  std::memset(target, 0xff, bytes);
  const auto deliver = [&thread, to, source, bytes, valid, target] {
    for (std::size_t b = to; b < to + bytes; ++b) {
      Shadow& shadow = state.block->shadows[b];
      shadow.on_its_way = false;
      shadow.write = {thread.number, thread.block_epoch, thread.warp_epoch, thread.part_epoch};  // seen by others behind the next barrier
    }
    if (valid > 0) std::memcpy(target, source, valid);
    std::memset(target + valid, 0, bytes - valid);
  };
  const bool now = delivery().kind == Delivery::eager || (delivery().kind == Delivery::random && state.chance() % 2 == 0);
  if (now) return deliver();
  thread.groups[object].open.push_back(deliver);
}
inline void commit(const char* object) {
  Groups& groups = state.thread->groups[object];
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
}
inline void wait_groups(const char* object, std::size_t pending) {
  Groups& groups = state.thread->groups[object];
  while (groups.committed.size() > pending) {
    for (const auto& operation : groups.committed.front()) operation();
    groups.committed.pop_front();
  }
}

}  // namespace emulation

// The names of the language ------------------------------------------------------------------------------------------

#define threadIdx emulation::thread_position()
#define blockIdx emulation::block_position()
#define gridDim emulation::grid_size()
#define blockDim emulation::block_size()

inline void __syncthreads() { emulation::block_barrier(); }
inline void __syncwarp() { emulation::warp_barrier(); }
template <class T>
std::uint32_t __cvta_generic_to_shared(const T& at) {
  return emulation::to_shared(at);
}
inline void* __cvta_shared_to_generic(std::uint32_t at) { return emulation::state.block->bytes.data() + at; }

// Objects of the driver that describe a tensor to a copy engine.
using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;
struct CUtensorMap {
  const void* base = nullptr;
  int bytes = 1, rank = 0, swizzle = 0;
  cuuint64_t sizes[5] = {}, pitches[5] = {};
  cuuint32_t box[5] = {};
};
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_UINT8 = 1, CU_TENSOR_MAP_DATA_TYPE_UINT16 = 2, CU_TENSOR_MAP_DATA_TYPE_UINT32 = 4 };
enum CUtensorMapSwizzle {};
enum { CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, CUDA_SUCCESS = 0 };
inline int cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, int rank, void* base, const cuuint64_t* sizes,
                                  const cuuint64_t* pitches, const cuuint32_t* box, const cuuint32_t*, int, CUtensorMapSwizzle swizzle,
                                  int, int) {
  *map = {base, type, rank, static_cast<int>(swizzle), {}, {}, {}};
  for (int d = 0; d < rank; ++d) {
    map->sizes[d] = sizes[d];
    map->pitches[d] = d == 0 ? static_cast<cuuint64_t>(type) : pitches[d - 1];
    map->box[d] = box[d];
  }
  return CUDA_SUCCESS;
}

using cudaStream_t = void*;
using cudaError_t = int;
constexpr cudaError_t cudaSuccess = 0;
inline cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t) {
  *at = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*at != nullptr) std::memset(*at, 0xff, bytes);
  return *at == nullptr;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaFreeAsync(void* at, cudaStream_t) {
  std::free(at);
  return cudaSuccess;
}

#endif
