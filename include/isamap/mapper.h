// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every way an instruction of a machine covers a statement of a kernel, each proved, or the reasons why none does.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"

namespace isamap {

enum class Rule { access, full, all };

struct MapOptions {
  Rule rule = Rule::full;
  std::string instruction;   ///< only this one; empty: all compute instructions
  bool use_z3 = false;       ///< enumerate with Z3 instead of the direct construction (the two must agree)
  std::string certificates;  ///< folder for SMT-LIB files, cleared of those of earlier runs; empty: none
  /// Called for each placement that is judged, with the mappings so far; false ends the enumeration with these.
  std::function<bool(std::int64_t mappings)> progress;
  std::function<bool(std::size_t written, std::size_t all)> certificate_progress;  ///< false writes no more
  std::int64_t max_mappings = 3072;  ///< for each instruction and statement
  std::uint64_t rlimit = 2'000'000;  ///< Z3 resource units for each query
};

/// Why one instruction covers one statement in no way. Each reason names the dimension, the operand, the number
/// found and the number needed: "dimension k has stride 2 in A; the instruction needs 1".
struct Rejection {
  InstructionId instruction;
  StatementId statement;
  std::vector<std::string> reasons;
};

struct SolverStatistics {
  std::int64_t queries = 0, unknown = 0;
  double seconds = 0;
};

struct MapResult {
  std::vector<Mapping> mappings;  ///< ordered by statement, instruction, then canonical order; id = position
  std::vector<std::string> certificate_files;  ///< one for each mapping when certificates were asked for
  std::vector<Rejection> rejected;
  SolverStatistics solver;
  bool limit_reached = false;  ///< max_mappings or rlimit: the list may be incomplete
  bool stopped = false;        ///< `progress` or `certificate_progress` ended it: so may the list be, or its files
};

/// All mappings of one instruction on one statement (ids not set), or why there are none.
struct PairMappings {
  std::vector<Mapping> mappings;
  std::vector<std::string> reasons;
  SolverStatistics solver;
  bool limit_reached = false;
  bool stopped = false;  ///< by `progress`: there may be more, and `reasons` are not all
};
PairMappings map_statement(const Kernel& kernel, StatementId statement, const Instruction& instruction,
                           InstructionId id, const MapOptions& options);

Result<MapResult> enumerate_mappings(const Kernel& kernel, const HardwareModel& model, const MapOptions& options);

/// The mappings of enumerate_mappings one by one, as they are found: `visit` returns false to end. Of a mapping nothing
/// is kept but 128 bits that tell it from others, so that max_mappings may be large. Statements and instructions come
/// in their order, the mappings of a pair in that of the search (fewest digits first for each order of the operands);
/// ids count up. Certificates are left to `prove`.
using MappingVisitor = std::function<bool(const Mapping&)>;
struct MapSummary {
  std::int64_t mappings = 0;  ///< that were visited
  std::vector<Rejection> rejected;
  SolverStatistics solver;
  bool limit_reached = false;  ///< as in MapResult
  bool stopped = false;        ///< by the visitor or by `progress`
};
Result<MapSummary> for_each_mapping(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                                    const MappingVisitor& visit);

/// "mma(i = n.p, j = k, k = c.r) O <- I, F"
std::string print(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

/// Z3's answer to the certificate of a mapping as it stands: `unproved` when there is a counterexample, as when digits,
/// extents or carriers of a mapping that was found have been changed.
struct Verdict {
  Proof proof = Proof::unproved;
  std::string failed;       ///< the question that was not answered by unsat
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

/// The matrix multiplication inside a statement, whatever the instruction (CONTRACT.md, extract): nothing when the
/// body is not a sum of products of two reads or a class is empty.
struct MatmulShape {
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<std::pair<std::string, std::int64_t>> outer;  ///< dims in all three operands
  std::vector<std::string> m_dims, n_dims, k_dims;
};
std::optional<MatmulShape> extracted_matmul(const Kernel& kernel, StatementId statement);

}  // namespace isamap
