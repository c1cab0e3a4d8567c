// SPDX-License-Identifier: Apache-2.0
// Requests to shared memory: in how many passes its banks serve what the lanes of a warp ask for by one instruction,
// and how few would do.
//
// Words of `bank_width` bytes lie in `banks` banks in turn, and a bank gives one word a pass. So a pass can bring
// banks * bank_width bytes, and lanes are served together as long as that holds what they ask for: 32 lanes that ask
// for 4 bytes each, 16 for 8 bytes, 8 for 16 bytes. What is served together takes as many passes as its words in the
// bank that has most of them: different words; one word for several lanes is one (CUDA C++ Programming Guide, "Shared
// Memory" of the compute capabilities; that instructions of 8 and 16 bytes a lane go by halves and quarters of a warp:
// the same guide for compute capability 3.x, and what profilers count). A move for which some lanes give the addresses
// of rows asks for a row with each of them.
//
// At least: what is served together, wherever it lay, needs its distinct bytes over banks * bank_width, rounded up.

#pragma once

#include "backends/cuda/emulation/lanes.h"

namespace emulation {

/// Bytes of shared memory that a lane asks for.
struct Piece {
  int lane = 0;
  std::uint32_t at = 0, bytes = 0;
};

struct Passes {
  long taken = 0, least = 0;
  /// How much worse than the best arrangement.
  long lost() const { return taken - least; }
};

/// Those of lanes that are served together: their distinct bytes, in order.
EMULATION_API void serve(std::vector<std::uint32_t>& bytes, const Memories& memories, Passes& passes);

/// Of one request, by lanes of one warp or of several (which are served one after another).
EMULATION_API Passes passes_of(std::vector<Piece> pieces, const Memories& memories);

/// Of the block that runs.
struct BankAsked {
  Access access = Access::load;
  const char* array = "?";
  unsigned line = 0;
  std::vector<Piece> pieces;
};
EMULATION_API std::map<RequestKey, BankAsked>& bank_asked();

/// What one lane asks for by one instruction, or all lanes that do it together.
class BankRequest {
 public:
  BankRequest(Access access, const char* array, const SourcePlace& here) {
    if (counting) begin(access, 1, array, here);
  }
  /// Of the array to which `thread` took the address `at`.
  BankRequest(Access access, int lanes, const Thread& thread, std::uint32_t at, const SourcePlace& here) {
    if (counting) begin(access, lanes, thread, at, here);
  }
  /// `at`, for which `thread` gives the address.
  std::uint32_t of(const Thread& thread, std::uint32_t at, std::size_t bytes) {
    if (asked_ != nullptr) note(thread, at, bytes);
    return at;
  }

 private:
  EMULATION_API void begin(Access access, int lanes, const char* array, const SourcePlace& here);
  EMULATION_API void begin(Access access, int lanes, const Thread& thread, std::uint32_t at, const SourcePlace& here);
  EMULATION_API void note(const Thread& thread, std::uint32_t at, std::size_t bytes);
  BankAsked* asked_ = nullptr;
};

EMULATION_API void count_passes();

#if EMULATION_DEFINES
EMULATION_API void serve(std::vector<std::uint32_t>& bytes, const Memories& memories, Passes& passes) {
  std::sort(bytes.begin(), bytes.end());
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  if (bytes.empty()) return;
  const auto width = static_cast<std::uint32_t>(memories.bank_width),
             banks = static_cast<std::uint32_t>(memories.banks);
  std::vector<long> words(banks);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (i == 0 || bytes[i] / width != bytes[i - 1] / width) ++words[bytes[i] / width % banks];
  passes.taken += *std::max_element(words.begin(), words.end());
  passes.least += static_cast<long>((bytes.size() + banks * width - 1) / (banks * width));
  bytes.clear();
}

EMULATION_API Passes passes_of(std::vector<Piece> pieces, const Memories& memories) {
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.lane < b.lane; });
  std::vector<std::uint32_t> bytes;
  std::size_t widest = 1;  // the bytes of a lane, each once
  const auto add = [&](const Piece& piece) {
    for (std::uint32_t b = piece.at; b < piece.at + piece.bytes; ++b) bytes.push_back(b);
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    add(pieces[i]);
    if (i + 1 < pieces.size() && pieces[i + 1].lane == pieces[i].lane) continue;
    std::sort(bytes.begin(), bytes.end());
    widest = std::max(widest, static_cast<std::size_t>(std::unique(bytes.begin(), bytes.end()) - bytes.begin()));
    bytes.clear();
  }
  const int row = memories.banks * memories.bank_width;
  int together = warp_size;  // a power of two
  while (together > 1 && together * static_cast<int>(widest) > row) together /= 2;
  Passes passes;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    add(pieces[i]);
    if (i + 1 == pieces.size() || pieces[i + 1].lane / together != pieces[i].lane / together)
      serve(bytes, memories, passes);
  }
  return passes;
}

EMULATION_API void BankRequest::begin(Access access, int lanes, const char* array, const SourcePlace& here) {
  if (state.memories.banks < 1 || state.memories.bank_width < 1) return;
  asked_ = &bank_asked()[request_key(access, true, lanes, here)];
  asked_->access = access;
  asked_->array = array;
  asked_->line = here.line();
}

EMULATION_API void BankRequest::begin(Access access, int lanes, const Thread& thread, std::uint32_t at,
                                      const SourcePlace& here) {
  const auto found = thread.named.find(at);
  begin(access, lanes, found == thread.named.end() ? "?" : found->second, here);
}

EMULATION_API void BankRequest::note(const Thread& thread, std::uint32_t at, std::size_t bytes) {
  if (bytes > 0) asked_->pieces.push_back({thread.number, at, static_cast<std::uint32_t>(bytes)});
}

EMULATION_API std::map<RequestKey, BankAsked>& bank_asked() {
  static std::map<RequestKey, BankAsked> all;
  return all;
}

struct BankCounted {
  Memories memories;
  long requests = 0;
  Passes all, worst;
  std::tuple<unsigned, unsigned, int> where;  ///< of the worst: line of the text, block, warp; the first of equals
};
/// By kernel, array and kind of access; told when the program ends.
class BankCounts {
 public:
  std::map<std::tuple<std::string, std::string, int>, BankCounted> all;
  ~BankCounts() {
    std::map<std::string, BankCounted> kernels;
    for (const auto& [what, counted] : all) {
      const auto& [kernel, array, access] = what;
      const auto& [line, block, warp] = counted.where;
      std::fprintf(stderr,
                   "passes of %s: %s: %ld %s in %ld passes of %d banks of %d bytes, at least %ld; worst %ld for %ld: "
                   "line %u, block %u, warp %d\n",
                   kernel.c_str(), array.c_str(), counted.requests, name_of(static_cast<Access>(access)),
                   counted.all.taken, counted.memories.banks, counted.memories.bank_width, counted.all.least,
                   counted.worst.taken, counted.worst.least, line, block, warp);
      BankCounted& kernel_counted = kernels[kernel];
      kernel_counted.requests += counted.requests;
      kernel_counted.all.taken += counted.all.taken;
      kernel_counted.all.least += counted.all.least;
    }
    for (const auto& [kernel, counted] : kernels)
      std::fprintf(stderr, "all passes of %s: %ld requests in %ld passes, at least %ld\n", kernel.c_str(),
                   counted.requests, counted.all.taken, counted.all.least);
  }
};

EMULATION_API void count_passes() {
  static BankCounts counts;
  for (const auto& [key, request] : bank_asked()) {
    if (request.pieces.empty()) continue;
    const Passes passes = passes_of(request.pieces, state.memories);
    BankCounted& counted = counts.all[{state.kernel_name, request.array, static_cast<int>(request.access)}];
    const std::tuple where(request.line, state.block->number.x, request.pieces.front().lane / warp_size);
    if (counted.requests == 0 || passes.lost() > counted.worst.lost() ||
        (passes.lost() == counted.worst.lost() && where < counted.where)) {
      counted.worst = passes;
      counted.where = where;
    }
    counted.memories = state.memories;
    ++counted.requests;
    counted.all.taken += passes.taken;
    counted.all.least += passes.least;
  }
  bank_asked().clear();
}
#endif

}  // namespace emulation
