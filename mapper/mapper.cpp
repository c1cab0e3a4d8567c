// Bodies, then dims: every alignment of the two bodies, every placement that the rule allows, each judged by the four
// conditions, equal ones listed once.

#include "mapper/mapper.h"

#include <algorithm>
#include <unordered_set>

#include "mapper/body_match.h"
#include "mapper/certificate_files.h"
#include "mapper/judge.h"
#include "mapper/reasons.h"
#include "mapper/z3_solver.h"
#include "support/arithmetic.h"
#include "support/yaml.h"

namespace isamap {
namespace {

void add_reason(PairMappings& result, std::string reason) {
  constexpr std::size_t kMaxReasons = 16;
  if (result.reasons.size() < kMaxReasons &&
      std::find(result.reasons.begin(), result.reasons.end(), reason) == result.reasons.end()) {
    result.reasons.push_back(std::move(reason));
  }
}

Automorphism identity_of(const Instruction& instruction) {
  Automorphism same;
  for (int t = 0; t < access_count(instruction.statement()); ++t) same.operands.push_back(t);
  for (std::size_t m = 0; m < instruction.statement().domain.dims.size(); ++m) same.dims.push_back(static_cast<int>(m));
  return same;
}

std::size_t digit_count(const Mapping& mapping) {
  std::size_t count = 0;
  for (const auto& digits : mapping.dims) count += digits.size();
  return count;
}

/// Simple first: fewer kinds, fewer digits; then by operands, kinds and the positions of the digits' dims. One list of
/// numbers, a list inside it ended by a number below all of its own.
std::vector<std::int64_t> rank_of(const Mapping& mapping, const Computation& statement) {
  constexpr std::int64_t end = -1;
  std::vector<std::int64_t> rank;
  rank.reserve(48);
  rank.push_back(mapping.kinds.count(Kind::axis) > 0 ? 0 : static_cast<std::int64_t>(mapping.kinds.size()));
  rank.push_back(static_cast<std::int64_t>(digit_count(mapping)));
  rank.insert(rank.end(), mapping.operands.begin(), mapping.operands.end());
  rank.push_back(end);
  for (const Kind kind : mapping.kinds) rank.push_back(static_cast<std::int64_t>(kind));
  rank.push_back(end);
  for (const auto& digits : mapping.dims) {
    for (const Digit& digit : digits) {
      const AffineTerm& first = digit.column.terms().front();
      rank.push_back(statement.domain.find(std::get<std::string>(first.atom)));
      rank.push_back(first.coefficient);
    }
    rank.push_back(end);
  }
  return rank;
}

void put_in_order(std::vector<Mapping>& mappings, const Computation& statement) {
  std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> order;
  order.reserve(mappings.size());
  for (std::size_t i = 0; i < mappings.size(); ++i) order.emplace_back(rank_of(mappings[i], statement), i);
  std::sort(order.begin(), order.end());
  std::vector<Mapping> sorted;
  sorted.reserve(mappings.size());
  for (const auto& entry : order) sorted.push_back(std::move(mappings[entry.second]));
  mappings = std::move(sorted);
}

/// Takes a placement for one of the alignments; false ends the search.
using Take = std::function<bool(std::size_t alignment, const Placement& placement)>;

void solved_candidates(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices,
                       const MapOptions& options, PairMappings& result, const Take& take) {
  const SolvedPlacements solved =
      place_by_solver(alignments, choices, options.rule, options.max_mappings, options.rlimit, result.solver);
  for (std::size_t a = 0; a < alignments.size(); ++a) {
    for (const int s : solved.empty_slots[a]) {
      const Slot& slot = choices[a].slots[static_cast<std::size_t>(s)];
      add_reason(result, slot_reason(alignments[a], choices[a], slot, options.rule));
    }
  }
  result.limit_reached = result.limit_reached || solved.limit_reached;
  for (const auto& [a, placement] : solved.list)
    if (!take(a, placement)) return;
}

void each_candidate(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices,
                    const MapOptions& options, PairMappings& result, const Take& take) {
  if (options.use_z3) return solved_candidates(alignments, choices, options, result, take);
  constexpr std::int64_t kMinSteps = 300'000, kStepsEach = 64;
  const std::int64_t steps = std::max(kMinSteps, checked_mul(options.max_mappings, kStepsEach).value_or(INT64_MAX));
  bool stopped = false;
  for (std::size_t a = 0; a < alignments.size() && !stopped; ++a) {
    std::int64_t found = 0;
    const bool complete = each_placement(choices[a], steps, [&](const Placement& placement) {
      if (found == options.max_mappings) {
        result.limit_reached = true;
        return false;
      }
      ++found;
      stopped = !take(a, placement);
      return !stopped;
    });
    result.limit_reached = result.limit_reached || !complete;
    if (found > 0) continue;
    for (std::string& reason : slot_reasons(alignments[a], choices[a], options.rule))
      add_reason(result, std::move(reason));
  }
}

/// What the tests leave open (instructions such as C[i] += A[i+x]*B[x], outputs such as O[i/2]) is decided by the
/// solver.
Judged judge_fully(const Alignment& alignment, const Dims& dims, bool split, const std::vector<Kill>& kill_sets,
                   const MapOptions& options, PairMappings& result) {
  constexpr std::int64_t kMaxQueries = 2'000;
  Judged judged = judge(alignment, dims, split, kill_sets);
  if (!judged.mapping || judged.mapping->proof == Proof::proved) return judged;
  std::string failed;
  const Truth truth = result.solver.queries > kMaxQueries
                          ? Truth::unknown
                          : replay(certify_slots(alignment, *judged.mapping, judged.sound_open, judged.shared_open,
                                                 judged.partials_open),
                                   options.rlimit, result.solver, &failed);
  if (truth == Truth::yes) {
    judged.mapping->proof = Proof::proved;
    return judged;
  }
  result.limit_reached = result.limit_reached || truth == Truth::unknown;
  return {std::nullopt,
          (truth == Truth::no ? "there are points with " : "not decided within the solver's limit: ") + failed};
}

/// 128 bits: among a million mappings two different ones meet with probability 2^-89.
struct Fingerprint {
  std::uint64_t high = 0xcbf29ce484222325U, low = 0x9ae16a3b2f90404fU;
  void mix(std::uint64_t x) {
    high = (high ^ x) * 0x100000001b3U;
    high ^= high >> 31U;
    low = (low + x + 1) * 0x9e3779b97f4a7c15U;
    low ^= low >> 29U;
  }
  void mix(const std::string& text) {
    for (const char c : text) mix(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    mix(text.size());
  }
  void mix(const Fingerprint& other) { mix(other.high), mix(other.low); }
  bool operator==(const Fingerprint&) const = default;
};
struct FingerprintHash {
  std::size_t operator()(const Fingerprint& f) const { return f.high ^ f.low; }
};

Fingerprint fingerprint_of(const std::vector<Digit>& digits) {
  Fingerprint print;
  for (const Digit& digit : digits) {
    for (const AffineTerm& term : digit.column.terms()) {
      print.mix(std::get<std::string>(term.atom));  // columns are linear
      print.mix(static_cast<std::uint64_t>(term.coefficient));
    }
    print.mix(static_cast<std::uint64_t>(digit.extent));
  }
  print.mix(digits.size());
  return print;
}

/// A mapping with these operands and dims after a relabeling of the instruction.
Fingerprint fingerprint_of(const std::vector<int>& operands, const std::vector<Fingerprint>& dims,
                           const Automorphism& by) {
  Fingerprint sum{0, 0};  // over positions, so that none has to be looked for
  const auto add = [&](int position, const Fingerprint& what) {
    Fingerprint one = what;
    one.mix(static_cast<std::uint64_t>(position));
    sum.high += one.high, sum.low += one.low;
  };
  for (std::size_t t = 0; t < operands.size(); ++t) {
    Fingerprint operand;
    operand.mix(static_cast<std::uint64_t>(operands[t]));
    add(by.operands[t], operand);
  }
  for (std::size_t m = 0; m < dims.size(); ++m) add(by.dims[m] + static_cast<int>(operands.size()), dims[m]);
  return sum;
}

/// Takes the mappings that are found; false ends the enumeration.
using Sink = std::function<bool(Mapping&&)>;

/// Passes mappings on once each: equal up to relabelings of the instruction are one.
class Listing {
 public:
  Listing(const Instruction& hardware, const MapOptions& options, PairMappings& result, const Sink& sink)
      : options_(options),
        result_(result),
        sink_(sink),
        symmetries_(automorphisms(hardware)),
        same_(identity_of(hardware)),
        kills_(kills(hardware.statement())) {}

  /// The mapping of a plan, or each of its seatings. False: enough.
  bool add(const Alignment& alignment, const Choices& choices, const Plan& plan) {
    const std::vector<Dims> preferred = preferred_dims(alignment, choices, plan);
    bool found = false, open = preferred.empty() && plan.split;
    for (const Dims& dims : preferred) {
      const Answer answer = consider(alignment, dims, plan.split, true);
      if (answer == Answer::enough) return false;
      found = found || answer == Answer::listed;
      open = open || answer == Answer::other_extents;
    }
    if (found || !open || options_.rule == Rule::access || !alignment.projection) return true;
    Answer answer = Answer::refused;
    some_other_dims(alignment, choices, plan, [&](const Dims& dims) {
      answer = consider(alignment, dims, plan.split, false);
      return answer == Answer::listed || answer == Answer::enough;
    });
    return answer != Answer::enough;
  }

 private:
  enum class Answer { listed, refused, other_extents, enough };

  Answer consider(const Alignment& alignment, const Dims& digits, bool split, bool say_why) {
    if (count_ >= options_.max_mappings) {
      result_.limit_reached = true;
      return Answer::enough;
    }
    std::vector<Fingerprint> dims;
    for (const auto& list : digits) dims.push_back(fingerprint_of(list));
    const Fingerprint own = fingerprint_of(alignment.operands, dims, same_);
    const auto listed = [&](const Automorphism& by) {
      return seen_.count(fingerprint_of(alignment.operands, dims, by)) > 0;
    };
    if (seen_.count(own) > 0 || std::any_of(symmetries_.begin(), symmetries_.end(), listed)) return Answer::listed;
    Judged judged = judge_fully(alignment, digits, split, kills_, options_, result_);
    if (!judged.mapping) {
      if (say_why) add_reason(result_, operand_prefix(alignment) + judged.refusal);
      return judged.by_extents ? Answer::other_extents : Answer::refused;
    }
    seen_.insert(own);
    ++count_;
    return sink_(std::move(*judged.mapping)) ? Answer::listed : Answer::enough;
  }

  const MapOptions& options_;
  PairMappings& result_;
  const Sink& sink_;
  std::vector<Automorphism> symmetries_;
  Automorphism same_;
  std::vector<Kill> kills_;
  std::unordered_set<Fingerprint, FingerprintHash> seen_;
  std::int64_t count_ = 0;
};

void pass_mappings(const std::vector<Alignment>& alignments, const MapOptions& options, PairMappings& result,
                   const Sink& sink) {
  std::vector<Choices> choices;
  for (const Alignment& alignment : alignments) {
    choices.push_back(choices_of(alignment, options.rule));
    result.limit_reached = result.limit_reached || !choices.back().complete;
  }
  Listing listing(*alignments[0].hardware, options, result, sink);
  each_candidate(alignments, choices, options, result, [&](std::size_t a, const Placement& placement) {
    const std::vector<Plan> plans = plans_of(alignments[a], choices[a], placement, options.rule);
    if (plans.empty()) {
      add_reason(result, operand_prefix(alignments[a]) + "digits move " + alignments[a].tensor_name(0) +
                             " along one direction, so an element would have several slots (partial sums)");
    }
    return std::all_of(plans.begin(), plans.end(),
                       [&](const Plan& plan) { return listing.add(alignments[a], choices[a], plan); });
  });
}

/// Reasons that need no look at dims; nothing when there are none.
std::string unmappable(const Computation& statement, const Instruction& instruction) {
  if (instruction.semantics.size() != 1) return "its meaning has several statements, which are not matched yet";
  const Computation& unit = instruction.statement();
  if (static_cast<int>(unit.reads.size()) >= kMaxOperands || static_cast<int>(statement.reads.size()) >= kMaxOperands) {
    return "more than " + std::to_string(kMaxOperands - 1) + " operands";
  }
  if (static_cast<int>(unit.domain.dims.size()) > kMaxDims ||
      static_cast<int>(statement.domain.dims.size()) > kMaxDims) {
    return "more than " + std::to_string(kMaxDims) + " dims";
  }
  for (const Dim& dim : unit.domain.dims) {
    if (dim.extent < 1) return "instruction dim " + dim.name + " has extent " + std::to_string(dim.extent);
  }
  for (const Access& read : statement.reads) {
    if (read.tensor == statement.write.tensor && !(read == statement.write)) {
      return "the statement reads other elements of the tensor that it writes, so its order matters";
    }
  }
  return "";
}

Result<std::vector<InstructionId>> chosen(const HardwareModel& model, const std::string& name) {
  std::vector<InstructionId> ids;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    if (!is_compute(model.instructions()[i])) continue;
    names.push_back(model.instructions()[i].name);
    if (name.empty() || names.back() == name) ids.push_back(make_id<InstructionId>(i));
  }
  if (name.empty() || !ids.empty()) return ids;
  const std::string near = yaml::nearest(name, names);
  return error("'" + name + "' is no compute instruction of " + model.name,
               near.empty() ? "isamap hw show lists them" : "did you mean '" + near + "'?");
}

}  // namespace

namespace {

/// Everything of one pair but its mappings, which go to the sink as they are found.
PairMappings pass_pair(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId id,
                       const MapOptions& options, const Sink& sink) {
  PairMappings result;
  const Computation& computation = kernel.statements[statement.index()];
  if (const std::string reason = unmappable(computation, hardware); !reason.empty()) {
    add_reason(result, reason);
    return result;
  }
  const std::vector<Alignment> alignments =
      alignments_of(kernel, statement, hardware, id, options.rule != Rule::access);
  if (alignments.empty()) {
    const SaturationReason lossy = why_not_exact(kernel, statement, hardware);
    add_reason(result, lossy.text.empty() ? body_mismatch(computation, hardware.statement()) : lossy.text);
    return result;
  }
  pass_mappings(alignments, options, result, sink);
  std::stable_partition(result.reasons.begin(), result.reasons.end(),
                        [](const std::string& reason) { return reason.rfind("operands ", 0) != 0; });
  return result;
}

/// What a pair adds to the whole: a result or a summary.
void add_pair(auto& whole, InstructionId id, StatementId statement, PairMappings& pair, bool found) {
  whole.limit_reached = whole.limit_reached || pair.limit_reached;
  whole.solver.queries += pair.solver.queries;
  whole.solver.unknown += pair.solver.unknown;
  whole.solver.seconds += pair.solver.seconds;
  if (!found) whole.rejected.push_back({id, statement, std::move(pair.reasons)});
}

}  // namespace

PairMappings map_statement(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId id,
                           const MapOptions& options) {
  std::vector<Mapping> mappings;
  PairMappings result = pass_pair(kernel, statement, hardware, id, options, [&](Mapping&& mapping) {
    mappings.push_back(std::move(mapping));
    return true;
  });
  put_in_order(mappings, kernel.statements[statement.index()]);
  result.mappings = std::move(mappings);
  return result;
}

Result<MapSummary> for_each_mapping(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                                    const MappingVisitor& visit) {
  const auto instructions = chosen(model, options.instruction);
  if (!instructions) return instructions.diagnostics();
  MapSummary summary;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const auto statement = make_id<StatementId>(s);
    for (const InstructionId id : *instructions) {
      const std::int64_t before = summary.mappings;
      PairMappings pair = pass_pair(kernel, statement, model.instruction(id), id, options, [&](Mapping&& mapping) {
        mapping.id = static_cast<int>(summary.mappings++);
        summary.stopped = !visit(mapping);
        return !summary.stopped;
      });
      add_pair(summary, id, statement, pair, summary.mappings > before);
      if (summary.stopped) return summary;
    }
  }
  return summary;
}

Result<MapResult> enumerate_mappings(const Kernel& kernel, const HardwareModel& model, const MapOptions& options) {
  const auto instructions = chosen(model, options.instruction);
  if (!instructions) return instructions.diagnostics();
  MapResult result;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const auto statement = make_id<StatementId>(s);
    for (const InstructionId id : *instructions) {
      PairMappings pair = map_statement(kernel, statement, model.instruction(id), id, options);
      add_pair(result, id, statement, pair, !pair.mappings.empty());
      for (Mapping& mapping : pair.mappings) {
        mapping.id = static_cast<int>(result.mappings.size());
        result.mappings.push_back(std::move(mapping));
      }
    }
  }
  if (!options.certificates.empty()) {
    Diagnostics problems = write_certificates(kernel, model, options, result);
    if (has_errors(problems)) return problems;
  }
  return result;
}

std::string print(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  const Instruction& instruction = model.instruction(mapping.instruction);
  std::vector<std::string> dims;
  for (const Dim& dim : instruction.statement().domain.dims) dims.push_back(dim.name);
  for (const Dim& dim : mapping.rolled) dims.push_back(dim.name);
  return print(mapping, kernel, dims, instruction.name);
}

}  // namespace isamap
