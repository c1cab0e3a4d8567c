// SPDX-License-Identifier: Apache-2.0
// Requests to the memory of the device: what the lanes of a warp ask for by one instruction, in how many pieces the
// memory hands it over, and how few would do.
//
// Device memory is moved in sectors: aligned pieces of as many bytes as the machine's file says (`transaction`). Lanes
// whose addresses lie in one sector share it, so a request costs as many sectors as its addresses touch, and at least
// its distinct bytes over the bytes of a sector (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory").

#pragma once

#include "backends/cuda/emulation/passes.h"

namespace emulation {

/// Of the block that runs.
struct Asked {
  Access access = Access::load;
  std::vector<std::pair<std::uintptr_t, std::size_t>> places;  ///< address, bytes
};
EMULATION_API std::map<RequestKey, Asked>& asked();

/// What one lane asks for by one instruction, or all lanes that do it together.
class Request {
 public:
  Request(Access access, int lanes, const SourcePlace& here) {
    if (counting) begin(access, lanes, here);
  }
  template <class At>
  At* of(At* at, std::size_t bytes) {
    if (asked_ != nullptr) note(reinterpret_cast<std::uintptr_t>(at), bytes);
    return at;
  }

 private:
  EMULATION_API void begin(Access access, int lanes, const SourcePlace& here);
  EMULATION_API void note(std::uintptr_t at, std::size_t bytes);
  Asked* asked_ = nullptr;
};

EMULATION_API void forget_arguments();
/// The first of the names is of the tensor that begins there, if it is one; what follows it.
EMULATION_API const char* name_argument(const char* names, std::uintptr_t at);
template <class... Arguments>
void name_arguments(const char* names, const Arguments&... arguments) {
  if (!counting) return;
  forget_arguments();
  const auto note = [&](const auto& argument) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(argument)>>)
      names = name_argument(names, reinterpret_cast<std::uintptr_t>(argument));
    else
      names = name_argument(names, 0);
  };
  (note(arguments), ...);
}

/// All lanes have asked: the block has ended, or all of it has met.
EMULATION_API void count_sectors();
EMULATION_API void count_requests();

#if EMULATION_DEFINES
struct Counted {
  long requests = 0, sectors = 0, least = 0;
};
/// By kernel, tensor and kind of access; told when the program ends.
class Counts {
 public:
  std::map<std::tuple<std::string, std::string, int>, Counted> all;
  ~Counts() {
    for (const auto& [what, counted] : all)
      std::fprintf(stderr, "requests of %s: %s: %ld %s in %ld sectors of %d bytes, at least %ld\n",
                   std::get<0>(what).c_str(), std::get<1>(what).c_str(), counted.requests,
                   name_of(static_cast<Access>(std::get<2>(what))), counted.sectors, state.memories.transaction,
                   counted.least);
  }
};

EMULATION_API void Request::begin(Access access, int lanes, const SourcePlace& here) {
  if (state.memories.transaction == 0) return;
  asked_ = &asked()[request_key(access, false, lanes, here)];
  asked_->access = access;
}

EMULATION_API void Request::note(std::uintptr_t at, std::size_t bytes) {
  if (bytes > 0) asked_->places.emplace_back(at, bytes);
}

EMULATION_API std::map<RequestKey, Asked>& asked() {
  static std::map<RequestKey, Asked> all;
  return all;
}

/// The tensors of a launch: where each begins.
EMULATION_API std::map<std::uintptr_t, std::string>& tensors() {
  static std::map<std::uintptr_t, std::string> all;
  return all;
}

EMULATION_API void count_sectors() {
  static Counts counts;
  const std::uintptr_t bytes = static_cast<std::uintptr_t>(state.memories.transaction);
  for (auto& [key, request] : asked()) {
    if (request.places.empty()) continue;
    std::sort(request.places.begin(), request.places.end());
    std::uintptr_t wanted = 0, end = 0, sectors = 0,
                   next = 0;  // in the order of addresses: those before `next` are counted
    for (const auto& [at, size] : request.places) {
      for (next = std::max(next, at / bytes); next * bytes < at + size; ++next) ++sectors;
      if (at + size > end) wanted += at + size - (at > end ? at : end), end = at + size;
    }
    auto tensor = tensors().upper_bound(request.places[0].first);
    const std::string name = tensor == tensors().begin() ? "?" : std::prev(tensor)->second;
    Counted& counted = counts.all[{state.kernel_name, name, static_cast<int>(request.access)}];
    ++counted.requests;
    counted.sectors += static_cast<long>(sectors);
    counted.least += static_cast<long>((wanted + bytes - 1) / bytes);
  }
  asked().clear();
}

EMULATION_API void count_requests() {
  if (!counting) return;
  count_sectors();
  count_passes();
  for (Thread& thread : state.block->threads) thread.times.clear();
}

EMULATION_API void forget_arguments() { tensors().clear(); }

EMULATION_API const char* name_argument(const char* names, std::uintptr_t at) {
  const char* const comma = std::strchr(names, ',');
  if (at != 0) tensors()[at] = comma == nullptr ? std::string(names) : std::string(names, comma);
  return comma == nullptr ? names : comma + 1 + (comma[1] == ' ');
}
#endif

}  // namespace emulation
