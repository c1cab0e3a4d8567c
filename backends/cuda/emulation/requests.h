// Requests to the memory of the device: what the lanes of a warp ask for by one instruction, in how many pieces the
// memory hands it over, and how few would do.
//
// Device memory is moved in sectors: aligned pieces of as many bytes as the machine's file says (`transaction`). Lanes
// whose addresses lie in one sector share it, so a request costs as many sectors as its addresses touch, and at least
// its distinct bytes over the bytes of a sector (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory").
//
// Fibers run one after another, so who belongs together is found out: lanes of one warp, at one place of the text, in
// the same iteration of every loop around it, for the same time there.

#pragma once

#include <source_location>

#include "backends/cuda/emulation/threads.h"

namespace emulation {

inline bool counting() {
  static const bool asked = std::getenv("ISAMAP_EMULATION_COUNTS") != nullptr;
  return asked;
}
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {  // the finaliser of MurmurHash3
  std::uint64_t h = a * 0x9e3779b97f4a7c15ULL + b + 1;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return h ^ h >> 33;
}

/// Counts the iterations of a loop; the thread knows in which it is.
class LoopNumber {
 public:
  template <class Number>
  LoopNumber(Number value) : value_(static_cast<long>(value)), counts_(counting()) {
    if (!counts_) return;
    around_ = state.thread->iteration;
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
  void enter() { state.thread->iteration = mixed(around_, static_cast<std::uint64_t>(value_)); }
  long value_;
  bool counts_ = false;
  std::uint64_t around_ = 0;
};

enum class Access { load, store, add, copy };
inline const char* name_of(Access access) {
  const char* const names[] = {"loads", "stores", "additions", "copies"};
  return names[static_cast<int>(access)];
}

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
                   name_of(static_cast<Access>(std::get<2>(what))), counted.sectors, state.transaction, counted.least);
  }
};

/// Of the block that runs.
struct Asked {
  Access access = Access::load;
  std::vector<std::pair<std::uintptr_t, std::size_t>> places;  ///< address, bytes
};
inline std::map<std::pair<std::uint64_t, std::uint64_t>, Asked>& asked() {
  static std::map<std::pair<std::uint64_t, std::uint64_t>, Asked> all;
  return all;
}

/// What one lane asks for by one instruction, or all lanes that do it together.
class Request {
 public:
  Request(Access access, int lanes, const std::source_location& here) {
    if (!counting() || state.transaction == 0) return;
    static std::uint64_t number = 0;
    Thread& thread = *state.thread;
    std::pair<std::uint64_t, std::uint64_t> key{~std::uint64_t{0}, ++number};
    if (lanes == 1) {
      const std::uint64_t place =
          mixed(mixed(static_cast<std::uint64_t>(here.line()) << 32 | here.column(), static_cast<unsigned>(access)),
                thread.iteration);
      key = {static_cast<std::uint64_t>(thread.number / warp_size), mixed(place, thread.times[place]++)};
    }
    asked_ = &asked()[key];
    asked_->access = access;
  }
  template <class At>
  At* of(At* at, std::size_t bytes) {
    if (asked_ != nullptr && bytes > 0) asked_->places.emplace_back(reinterpret_cast<std::uintptr_t>(at), bytes);
    return at;
  }

 private:
  Asked* asked_ = nullptr;
};

/// The tensors of a launch: where each begins.
inline std::map<std::uintptr_t, std::string>& tensors() {
  static std::map<std::uintptr_t, std::string> all;
  return all;
}
template <class... Arguments>
void name_arguments(const char* names, const Arguments&... arguments) {
  if (!counting()) return;
  tensors().clear();
  const auto note = [&](const auto& argument) {
    const char* const comma = std::strchr(names, ',');
    const std::string name = comma == nullptr ? std::string(names) : std::string(names, comma);
    if constexpr (std::is_pointer_v<std::decay_t<decltype(argument)>>)
      tensors()[reinterpret_cast<std::uintptr_t>(argument)] = name;
    if (comma != nullptr) names = comma + 1 + (comma[1] == ' ');
  };
  (note(arguments), ...);
}

/// After a block: all its lanes have asked.
inline void count_requests() {
  if (!counting()) return;
  static Counts counts;
  const std::uintptr_t bytes = static_cast<std::uintptr_t>(state.transaction);
  for (auto& [key, request] : asked()) {
    if (request.places.empty()) continue;
    std::set<std::uintptr_t> sectors;
    std::sort(request.places.begin(), request.places.end());
    std::uintptr_t wanted = 0, end = 0;
    for (const auto& [at, size] : request.places) {
      for (std::uintptr_t sector = at / bytes; sector * bytes < at + size; ++sector) sectors.insert(sector);
      if (at + size > end) wanted += at + size - (at > end ? at : end), end = at + size;
    }
    auto tensor = tensors().upper_bound(request.places[0].first);
    const std::string name = tensor == tensors().begin() ? "?" : std::prev(tensor)->second;
    Counted& counted = counts.all[{state.kernel_name, name, static_cast<int>(request.access)}];
    ++counted.requests;
    counted.sectors += static_cast<long>(sectors.size());
    counted.least += static_cast<long>((wanted + bytes - 1) / bytes);
  }
  asked().clear();
}

}  // namespace emulation
