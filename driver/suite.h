// SPDX-License-Identifier: Apache-2.0
#pragma once
// Coverage of a folder of kernels and models on one machine (`coverage`) or two (`hw diff`): mappings, utilisation,
// cycles.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/extract_layers.h"
#include "scheduler/schedule_exact.h"
#include "support/slow_operation.h"

namespace isamap {

/// One statement of one file. Equal statements of a file are merged.
struct SuiteCase {
  std::string file;              ///< file name relative to the folder
  std::string name;              ///< "gemm", "attention.scores", "mobilenet_v1.conv2d_3"
  std::size_t times = 1;         ///< number of occurrences in the file
  std::optional<Kernel> kernel;  ///< one statement; nothing: the file cannot be read
  Diagnostics problems;          ///< why
};

/// Layers of a model without a kernel, by reason: "28 layers: clip: element-wise: no reduction to map".
struct NoKernels {
  std::string file, reason;
  std::size_t layers = 0;
};

struct Suite {
  std::string folder;
  std::vector<SuiteCase> cases;  ///< files by name, statements in their order
  std::vector<NoKernels> no_kernels;
  Diagnostics warnings;  ///< of files that were read
};
/// Every .yaml, .yml and .onnx of the folder, not recursively. An unreadable file is a case with diagnostics.
Result<Suite> load_suite(const std::string& folder);

/// Source of a number of cycles: the best schedule of the search; scalar code; or, without a schedule, calls times
/// interval of the best mapping.
enum class Prediction { none, schedule, scalar, mapping };
std::string_view name(Prediction prediction);

/// One case on one machine.
struct SuiteAnswer {
  std::map<std::string, std::size_t> mappings;      ///< of each compute instruction, zeros included
  std::map<std::string, std::size_t> programmable;  ///< those of them that can be programmed (isamap/scheduler.h)
  std::multiset<std::string> texts;                 ///< one for each mapping, to tell them apart
  std::multiset<std::string> programmable_texts;
  std::map<std::string, std::size_t> not_programmable;  ///< "mma: (q - s) is no plain dim": mappings of that reason
  bool limit_reached = false;                           ///< there may be more
  double utilisation = 0;                               ///< of the best mapping
  double programmable_utilisation = 0;                  ///< of the best that can be programmed
  std::string instruction;                              ///< the one that the cycles are those of; empty: scalar code
  double cycles = 0, energy_pJ = 0, bytes = 0;          ///< energy and bytes: of a schedule only
  Prediction prediction = Prediction::none;
  std::vector<std::string> reasons;  ///< why nothing maps, no schedule exists, or its schedule is scalar code
  std::size_t count() const { return texts.size(); }
  std::size_t programmable_count() const { return programmable_texts.size(); }
};

/// One answer per case, empty for unreadable files. `exact`: schedules are those of the exact search within these
/// limits where it applies and finds one, and only there; like `isamap schedule` it prices the machine, and lowers
/// nothing.
std::vector<SuiteAnswer> answers(const Suite& suite, const HardwareModel& model, const MapOptions& map,
                                 const ScheduleOptions& schedule, const Tell& tell,
                                 const std::optional<ExactLimits>& exact = {});

struct Coverage {
  const Suite& suite;
  const HardwareModel& model;
  Rule rule = Rule::full;
  std::vector<SuiteAnswer> answers;
};

struct Difference {
  const Suite& suite;
  const HardwareModel &a, &b;
  Rule rule = Rule::full;
  std::vector<SuiteAnswer> on_a, on_b;
};

/// Changes from a to b. Mappings are equal if instruction, operands and digits print the same.
struct SuiteChange {
  /// A kernel gains (loses) where only b (only a) has a mapping that can be programmed.
  enum class Verdict { same, gains, loses, differs, neither, failed } verdict = Verdict::same;
  enum class Covering { same, gains, loses } covering = Covering::same;  ///< only b (only a) has any mapping at all
  std::optional<std::size_t> gained, lost;  ///< mappings; nothing where a limit was reached
  std::optional<std::size_t> programmable_gained, programmable_lost;
  /// What is covered on one machine only, and programmed on neither or both.
  bool only_covering() const {
    return covering != Covering::same && verdict != Verdict::gains && verdict != Verdict::loses;
  }
  std::optional<double> speedup;  ///< cycles of a by cycles of b, where both are schedules' or both are mappings'
};
std::string_view name(SuiteChange::Verdict verdict);
std::string_view name(SuiteChange::Covering covering);
SuiteChange change_of(const SuiteCase& one, const SuiteAnswer& a, const SuiteAnswer& b);

struct SuiteTotals {
  std::size_t kernels = 0, failed = 0, mapped_a = 0, mapped_b = 0, gains = 0, loses = 0;
  std::size_t programmable_a = 0, programmable_b = 0;  ///< kernels with a mapping that can be programmed
  std::size_t covering_gains = 0, covering_loses = 0;  ///< kernels of which only that changed
  double speedup = 1;  ///< geometric mean over the kernels that both machines have cycles for
  std::size_t compared = 0;
};
SuiteTotals totals_of(const Coverage& coverage);
SuiteTotals totals_of(const Difference& difference);

/// Operands that no data reach, of the instructions that cover something (mapper/advice/missing_moves.h).
std::vector<std::string> missing_moves(const Coverage& coverage);

/// Exit code: unreadable files are wrong input; if nothing maps on any machine, no_answer if proved, else limit.
Exit exit_of(const Suite& suite, const std::vector<const std::vector<SuiteAnswer>*>& answers);

/// Cells that tables and reports share: "9", "4096+", "276 (18 programmable)" where not all are; "83%", "13% (6%)";
/// "1.2k", "1.2k*" (scalar), "1.2k~" (mapping).
std::string mappings_cell(const SuiteAnswer& answer);
std::string used_cell(const SuiteAnswer& answer);
std::string cycles_cell(const SuiteAnswer& answer);
std::string change_cell(const SuiteChange& change);
/// "66 of 103 kernels map, 61 of them programmable"; without the second part where it would say the same again.
std::string kernels_that_map(const SuiteTotals& totals);
/// "66 map on a (61 programmable), 71 on b".
std::string machines_that_map(const SuiteTotals& totals);
/// "3 gain, 0 lose; 2 are covered by b only and not programmable".
std::string gains_and_losses(const SuiteTotals& totals);
/// Why a kernel that is covered cannot be programmed: the reason of most of its mappings. Empty: it can, or nothing
/// maps.
std::string unprogrammable_reason(const SuiteAnswer& answer);
/// Why a kernel with a mapping that can be programmed is scalar code. Empty: it is not.
std::string scalar_reason(const SuiteAnswer& answer);
/// Explains the marks of cycles_cell that the answers use; else nothing.
std::string marks_legend(const std::vector<const std::vector<SuiteAnswer>*>& answers);
/// "  gemm and 3 more: mma: dtype: ...": cases grouped by reason, in order of first occurrence.
std::string grouped(const std::vector<std::pair<std::string, std::string>>& reasons);
/// "mobilenet.onnx: 28 layers are no kernels: clip: ...", one line each.
std::string no_kernels_text(const Suite& suite);
/// Diagnostics of unreadable files.
Diagnostics problems_of(const Suite& suite);

}  // namespace isamap
