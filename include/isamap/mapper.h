// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every way in which instructions of a machine cover a statement of a kernel, each proved, or the reasons why there is
// none.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"

namespace isamap {

/// Which class of mappings is enumerated (docs/mapping.md, "The classes"), the wider ones last.
enum class Rule {
  access,  ///< unit steps, each dim on an instruction dim that exactly the same operands use
  full,    ///< also combined steps, ties, repeated inputs and virtual dims, where unit steps do not fill a dim
  all      ///< combined steps, ties and virtual dims anywhere
};
inline constexpr Rule all_rules[] = {Rule::access, Rule::full, Rule::all};
std::string_view name(Rule rule);

struct MapOptions {
  Rule rule = Rule::full;
  std::string instruction;   ///< only this one; empty: all compute instructions
  bool use_z3 = false;       ///< enumerate with Z3 instead of the direct construction (the two must agree)
  std::string certificates;  ///< folder for SMT-LIB files, cleared of those of earlier runs; empty: none
  /// Called for each checked placement, with the number of mappings so far; false ends the enumeration with these.
  std::function<bool(std::int64_t mappings)> progress;
  std::function<bool(std::size_t written, std::size_t all)> certificate_progress;  ///< false writes no more
  std::int64_t max_mappings = 3072;  ///< for each instruction and statement
  std::uint64_t rlimit = 2'000'000;  ///< Z3 resource units for each query
  /// Dims that share an instruction dim with no other one: lanes of `q.c` cross positions along q, so that no loop
  /// walks these.
  std::set<std::string> unfused = {};
};

/// Why an instruction does not cover a statement.
struct Reason {
  /// What differs, nearest to a mapping first: dims, values that may not fit, types, the reduction, the body.
  enum class Kind { dims, saturation, overflow, dtype, reduction, body };
  Kind kind = Kind::dims;
  bool exchanged = false;  ///< of operands in another order than the written one, which the text names
  /// The dimension, the operand, the number found and the number needed: "dimension k has stride 2 in A; the
  /// instruction needs 1".
  std::string text;
  bool operator==(const Reason&) const = default;
};

struct Rejection {
  InstructionId instruction;
  StatementId statement;
  std::vector<Reason> reasons;
  /// Of the first reason; rejections that are nearest to a mapping are shown first.
  Reason::Kind kind() const { return reasons.empty() ? Reason::Kind::dims : reasons.front().kind; }
};

struct SolverStatistics {
  std::int64_t queries = 0, unknown = 0;
  double seconds = 0;
};

struct MapResult {
  std::vector<Mapping> mappings;  ///< ordered by statement, instruction, then canonical order; id = position
  std::vector<std::string> certificate_files;  ///< one for each mapping if certificates are requested
  std::vector<Rejection> rejected;
  SolverStatistics solver;
  bool limit_reached = false;  ///< max_mappings or rlimit: the list may be incomplete
  bool stopped = false;  ///< `progress` or `certificate_progress` ended it: the list or its files may be incomplete
};

/// All mappings of one instruction on one statement (ids not set), or why there are none.
struct PairMappings {
  std::vector<Mapping> mappings;
  std::vector<Reason> reasons;
  SolverStatistics solver;
  bool limit_reached = false;
  bool stopped = false;  ///< by `progress`: there may be more, and `reasons` are not all
};
PairMappings map_statement(const Kernel& kernel, StatementId statement, const Instruction& instruction,
                           InstructionId id, const MapOptions& options);

Result<MapResult> enumerate_mappings(const Kernel& kernel, const HardwareModel& model, const MapOptions& options);

/// The mappings of enumerate_mappings one by one, as they are found: `visit` returns false to end. Only a fingerprint
/// of 128 bits is kept of each, so max_mappings may be large. Statements and instructions are in their order, the
/// mappings of a pair in that of the search (fewest digits first for each order of the operands); ids are consecutive.
/// For certificates see `prove`.
using MappingVisitor = std::function<bool(const Mapping&)>;
struct MapSummary {
  std::int64_t mappings = 0;  ///< number visited
  std::vector<Rejection> rejected;
  SolverStatistics solver;
  bool limit_reached = false;  ///< as in MapResult
  bool stopped = false;        ///< by the visitor or by `progress`
};
Result<MapSummary> for_each_mapping(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                                    const MappingVisitor& visit);

/// "mma(i = n.p, j = k, k = c.r) O <- I, F"
std::string print(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

/// Z3's answer to the certificate of a given mapping: `unproved` when there is a counterexample, as when digits,
/// extents or carriers of a listed mapping were changed.
struct Verdict {
  Proof proof = Proof::unproved;
  std::string failed;       ///< the question whose answer is not unsat
  std::string certificate;  ///< SMT-LIB text; the z3 program prints `unsat` once for each question
};
Verdict prove(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping,
              std::uint64_t rlimit = MapOptions{}.rlimit);

/// A kernel whose statement is a product of three or more factors, split into two statements in every legal way:
/// T[x_I] = reduce_R A*B ; O (+)= T[x_I]*C (docs/mapping.md, kind `factor`).
struct Factoring {
  Kernel kernel;
  std::string description;  ///< "depthwise(I, D) then matmul with W"
};
std::vector<Factoring> factorings(const Kernel& kernel);

/// The matrix multiplication inside a statement, independent of instructions (CONTRACT.md, extract): nothing when the
/// body is not a sum of products of two reads or a class is empty.
struct MatmulShape {
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<std::pair<std::string, std::int64_t>> outer;  ///< dims in all three operands
  std::vector<std::string> m_dims, n_dims, k_dims;
};
std::optional<MatmulShape> extracted_matmul(const Kernel& kernel, StatementId statement);

}  // namespace isamap
