// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mappings as they are found: each placement is checked, and equal mappings are reported once.

#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "isamap/mapper.h"
#include "mapper/digit_plans.h"
#include "support/hash.h"

namespace isamap {

/// Receives each mapping found; false ends the enumeration.
using Sink = std::function<bool(Mapping&&)>;

void add_reason(PairMappings& result, Reason reason);

/// 128 bits: among a million mappings the probability of a collision is 2^-89.
struct Fingerprint {
  std::uint64_t high = fnv1a_start, low = 0x9ae16a3b2f90404fU;
  bool operator==(const Fingerprint&) const = default;
};
struct FingerprintHash {
  std::size_t operator()(const Fingerprint& f) const { return f.high ^ f.low; }
};

/// Reports each mapping once; mappings equal up to a relabeling of the instruction count as one.
class Deduplicator {
 public:
  Deduplicator(const Instruction& hardware, const MapOptions& options, PairMappings& result, const Sink& sink);

  /// Adds the mappings of a placement's plans: one for each entry, else of the first other order that has one. False:
  /// the limit is reached.
  bool add(const Alignment& alignment, const Choices& choices, const Plans& plans);
  std::int64_t count() const { return count_; }  ///< of reported mappings

 private:
  enum class Answer { listed, refused, other_extents };
  std::size_t some_plan(const Alignment& alignment, const Choices& choices, const std::vector<Plan>& plans,
                        bool say_why, std::vector<Mapping>& found);
  Answer consider(const Alignment& alignment, Dims digits, bool split, bool say_why, std::vector<Mapping>& found);
  bool is_full(std::size_t found);
  bool pass_on(std::vector<Mapping>& found);

  const MapOptions& options_;
  PairMappings& result_;
  const Sink& sink_;
  std::vector<Automorphism> symmetries_;
  Automorphism same_;
  std::vector<Annihilator> annihilators_;
  std::unordered_set<Fingerprint, FingerprintHash> seen_;
  std::int64_t count_ = 0;
};

}  // namespace isamap
