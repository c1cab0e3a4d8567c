// SPDX-License-Identifier: Apache-2.0
#include "mapper/deduplicate.h"

#include <algorithm>

#include "mapper/advice/reasons.h"
#include "mapper/legality.h"
#include "mapper/proof/certificate.h"
#include "mapper/proof/z3_solver.h"

namespace isamap {
namespace {

Automorphism identity_of(const Instruction& instruction) {
  Automorphism same;
  for (int t = 0; t < access_count(instruction.statement()); ++t) same.operands.push_back(t);
  for (std::size_t m = 0; m < instruction.statement().domain.dims.size(); ++m) same.dims.push_back(static_cast<int>(m));
  return same;
}

/// The solver decides what the tests leave open (instructions such as C[i] += A[i+x]*B[x], outputs such as O[i/2]).
Legality decided_legality(const Alignment& alignment, Dims dims, bool split,
                          const std::vector<Annihilator>& annihilators, const MapOptions& options,
                          PairMappings& result) {
  constexpr std::int64_t max_queries = 2'000;
  Legality legality = legality_of(alignment, std::move(dims), split, annihilators);
  if (!legality.mapping || legality.mapping->proof == Proof::proved) return legality;
  std::string failed;
  const Truth truth =
      result.solver.queries > max_queries
          ? Truth::unknown
          : replay(
                certify_open(alignment, *legality.mapping,
                             {legality.sound_open, legality.shared_open, legality.partials_open, legality.sums_open}),
                options.rlimit, result.solver, &failed);
  if (truth == Truth::yes) {
    legality.mapping->proof = Proof::proved;
    return legality;
  }
  result.limit_reached = result.limit_reached || truth == Truth::unknown;
  return {std::nullopt,
          (truth == Truth::no ? "there are points with " : "not decided within the solver's limit: ") + failed};
}

/// Two halves by different functions: FNV-1a, and multiples of the golden ratio (Knuth, "The Art of Computer
/// Programming", volume 3, section 6.4); each is shifted so that high bits reach low ones.
void mix(Fingerprint& of, std::uint64_t x) {
  of.high = fnv1a_step(of.high, x);
  of.high ^= of.high >> 31U;
  of.low = (of.low + x + 1) * 0x9e3779b97f4a7c15U;
  of.low ^= of.low >> 29U;
}
void mix(Fingerprint& of, const std::string& text) {
  for (const char c : text) mix(of, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  mix(of, text.size());
}

Fingerprint fingerprint_of(const std::vector<Digit>& digits) {
  Fingerprint print;
  for (const Digit& digit : digits) {
    for (const AffineTerm& term : digit.column.terms()) {
      mix(print, std::get<std::string>(term.atom));  // columns are linear
      mix(print, static_cast<std::uint64_t>(term.coefficient));
    }
    mix(print, static_cast<std::uint64_t>(digit.extent));
  }
  mix(print, digits.size());
  return print;
}

/// A mapping with these operands and dims after a relabeling of the instruction.
Fingerprint fingerprint_of(const std::vector<int>& operands, const std::vector<Fingerprint>& dims,
                           const Automorphism& by) {
  Fingerprint sum{0, 0};  // over positions, so that no search is needed
  const auto add = [&](int position, const Fingerprint& what) {
    Fingerprint one = what;
    mix(one, static_cast<std::uint64_t>(position));
    sum.high += one.high, sum.low += one.low;
  };
  for (std::size_t t = 0; t < operands.size(); ++t) {
    Fingerprint operand;
    mix(operand, static_cast<std::uint64_t>(operands[t]));
    add(by.operands[t], operand);
  }
  for (std::size_t m = 0; m < dims.size(); ++m) add(by.dims[m] + static_cast<int>(operands.size()), dims[m]);
  return sum;
}

}  // namespace

void add_reason(PairMappings& result, Reason reason) {
  constexpr std::size_t most_kept_reasons = 16;
  if (result.reasons.size() < most_kept_reasons &&
      std::find(result.reasons.begin(), result.reasons.end(), reason) == result.reasons.end()) {
    result.reasons.push_back(std::move(reason));
  }
}

Deduplicator::Deduplicator(const Instruction& hardware, const MapOptions& options, PairMappings& result,
                           const Sink& sink)
    : options_(options),
      result_(result),
      sink_(sink),
      symmetries_(automorphisms(hardware)),
      same_(identity_of(hardware)),
      annihilators_(annihilators(hardware.statement())) {}

/// Is the limit reached with those reported and `found`?
bool Deduplicator::is_full(std::size_t found) {
  const bool full = count_ + static_cast<std::int64_t>(found) >= options_.max_mappings;
  result_.limit_reached = result_.limit_reached || full;
  return full;
}

bool Deduplicator::add(const Alignment& alignment, const Choices& choices, const Plans& plans) {
  std::vector<Mapping> found;
  bool listed = false;
  for (const std::vector<Plan>& entry : plans.entries) {
    if (is_full(found.size())) return pass_on(found) && false;
    listed = some_plan(alignment, choices, entry, true, found) < entry.size() || listed;
  }
  for (std::size_t p = 0; p < plans.others.size() && !listed; ++p) {  // no counted order fits the dims
    if (is_full(0)) return false;
    listed = some_plan(alignment, choices, {plans.others[p]}, plans.entries.empty(), found) == 0;
  }
  return pass_on(found);
}

bool Deduplicator::pass_on(std::vector<Mapping>& found) {
  for (Mapping& mapping : found) {
    if (is_full(0)) return false;  // the limit ended the assignments early
    ++count_;
    if (!sink_(std::move(mapping))) return false;
  }
  return true;
}

/// Mappings of the first plan that has any, with preferred extents, else with others. Returns its position, or the
/// number of plans.
std::size_t Deduplicator::some_plan(const Alignment& alignment, const Choices& choices, const std::vector<Plan>& plans,
                                    bool say_why, std::vector<Mapping>& found) {
  std::vector<bool> open(plans.size(), false);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    bool listed = false;
    std::vector<Dims> preferred = preferred_dims(alignment, choices, plans[p]);
    open[p] = preferred.empty() && plans[p].split;
    for (Dims& dims : preferred) {
      const Answer answer = consider(alignment, std::move(dims), plans[p].split, say_why, found);
      listed = listed || answer == Answer::listed;
      open[p] = open[p] || answer == Answer::other_extents;
    }
    if (listed) return p;
  }
  if (options_.rule == Rule::access || !alignment.projection) return plans.size();
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const auto take = [&](Dims& dims) {
      return consider(alignment, std::move(dims), plans[p].split, false, found) == Answer::listed;
    };
    if (open[p] && some_other_dims(alignment, choices, plans[p], take)) return p;
  }
  return plans.size();
}

Deduplicator::Answer Deduplicator::consider(const Alignment& alignment, Dims digits, bool split, bool say_why,
                                            std::vector<Mapping>& found) {
  std::vector<Fingerprint> dims;
  for (const auto& list : digits) dims.push_back(fingerprint_of(list));
  const Fingerprint own = fingerprint_of(alignment.operands, dims, same_);
  const auto listed = [&](const Automorphism& by) {
    return seen_.count(fingerprint_of(alignment.operands, dims, by)) > 0;
  };
  if (seen_.count(own) > 0 || std::any_of(symmetries_.begin(), symmetries_.end(), listed)) return Answer::listed;
  Legality legality = decided_legality(alignment, std::move(digits), split, annihilators_, options_, result_);
  if (!legality.mapping) {
    if (say_why) add_reason(result_, dims_reason(alignment, legality.refusal));
    return legality.by_extents ? Answer::other_extents : Answer::refused;
  }
  seen_.insert(own);
  found.push_back(std::move(*legality.mapping));
  return Answer::listed;
}

}  // namespace isamap
