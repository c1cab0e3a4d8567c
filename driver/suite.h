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
  std::map<std::string, std::size_t> mappings;  ///< per compute instruction, zeros included
  std::multiset<std::string> texts;             ///< one identity per mapping
  bool limit_reached = false;                   ///< a limit was reached
  double utilisation = 0;                       ///< of the best mapping
  std::string instruction;                      ///< instruction of the priced schedule; empty: scalar code
  double cycles = 0;
  Prediction prediction = Prediction::none;
  std::vector<std::string> reasons;  ///< why nothing maps or no schedule exists
  std::size_t count() const { return texts.size(); }
};

/// One answer per case, empty for unreadable files.
std::vector<SuiteAnswer> answers(const Suite& suite, const HardwareModel& model, const MapOptions& map,
                                 const ScheduleOptions& schedule, const Tell& tell);

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
  enum class Verdict { same, gains, loses, differs, neither, failed } verdict = Verdict::same;
  std::optional<std::size_t> gained, lost;  ///< mappings; nothing where a limit was reached
  std::optional<double> speedup;  ///< cycles of a over cycles of b, if both are of schedules or both of mappings
};
std::string_view name(SuiteChange::Verdict verdict);
SuiteChange change_of(const SuiteCase& one, const SuiteAnswer& a, const SuiteAnswer& b);

struct SuiteTotals {
  std::size_t kernels = 0, failed = 0, mapped_a = 0, mapped_b = 0, gains = 0, loses = 0;
  double speedup = 1;  ///< geometric mean over the kernels with cycles on both machines
  std::size_t compared = 0;
};
SuiteTotals totals_of(const Coverage& coverage);
SuiteTotals totals_of(const Difference& difference);

/// Exit code: unreadable files are wrong input; if nothing maps on any machine, no_answer if proved, else limit.
Exit exit_of(const Suite& suite, const std::vector<const std::vector<SuiteAnswer>*>& answers);

/// Table cells shared by text and HTML: "9", "4096+"; "83%"; "1.2k", "1.2k*" (scalar), "1.2k~" (mapping).
std::string mappings_cell(const SuiteAnswer& answer);
std::string used_cell(const SuiteAnswer& answer);
std::string cycles_cell(const SuiteAnswer& answer);
std::string change_cell(const SuiteChange& change);
/// Legend of the marks of cycles_cell that occur; else empty.
std::string marks_legend(const std::vector<const std::vector<SuiteAnswer>*>& answers);
/// "  gemm and 3 more: mma: dtype: ...": cases grouped by reason, in order of first occurrence.
std::string grouped(const std::vector<std::pair<std::string, std::string>>& reasons);
/// "mobilenet.onnx: 28 layers are no kernels: clip: ...", one line each.
std::string no_kernels_text(const Suite& suite);
/// Diagnostics of unreadable files.
Diagnostics problems_of(const Suite& suite);

}  // namespace isamap
