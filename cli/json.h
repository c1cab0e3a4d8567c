// SPDX-License-Identifier: Apache-2.0
#pragma once
// The JSON documents of the command line, schema_version 1, as text.

#include <map>
#include <set>
#include <string>

#include "driver/execute.h"
#include "driver/extract_layers.h"
#include "driver/suite.h"
#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/hardware.h"
#include "mapper/advice/rejection_report.h"
#include "mapper/symbolic_mappings.h"
#include "report/schedule_report.h"
#include "scheduler/search/exact/branch_and_bound.h"

namespace isamap::cli {

std::string json_of_map(const Kernel& kernel, const HardwareModel& model, Rule rule, const MapResult& result);

std::string json_of_symbolic_map(const SymbolicKernel& kernel, const HardwareModel& model, Rule rule,
                                 const SymbolicMapResult& result);

struct MappingCounts {
  Rule rule = Rule::full;
  std::map<std::pair<StatementId, InstructionId>, MappingCount> of;  ///< without zeros
  MapSummary summary;
  std::int64_t programmable() const {
    std::int64_t sum = 0;
    for (const auto& [pair, count] : of) sum += count.programmable;
    return sum;
  }
};
std::string json_of_counts(const Kernel& kernel, const HardwareModel& model, const MappingCounts& counts);
/// File names of proposed kernels: by refusal and number of the change.
using ProposedFiles = std::map<std::pair<const Refusal*, std::size_t>, std::string>;
std::string json_of_explain(const Kernel& kernel, const HardwareModel& model, const MapResult& result,
                            const std::vector<Refusal>& refusals, const ProposedFiles& files);
std::string json_of_extract(const Extraction& extraction, const HardwareModel& model);

std::string json_of_coverage(const Coverage& coverage);
std::string json_of_difference(const Difference& difference);

/// Instances of units that the loops of a schedule of the kernel are distributed over: a command stream executes them
/// one after another. 1: none.
std::int64_t distributed_instances(const Schedule& schedule, const Kernel& kernel);

struct ScheduleAnswer {
  Objective objective = Objective::edp;
  Scheduled scheduled;
  std::optional<double> lower_bound, gap;
  std::string cost_model = "closed_form";
  bool certified = false;
  std::uint64_t seed = 0;
  std::string text;                              ///< of the schedule; empty: its lines
  std::optional<hierarchy::ExactCounts> counts;  ///< of the exact search
  std::vector<ScalarCode> scalar;                ///< statements that are scalar code
  std::string splits;                            ///< split statements, one line each
  Diagnostics problems;                          ///< why the requested optimality certificate is missing
};
std::string json_of_schedule(const ScheduleAnswer& answer);
/// `cost`: the name of the model; `simulated`: empty unless requested.
std::string json_of_evaluate(const Evaluation& evaluation, const std::string& cost,
                             const std::vector<CostReport>& explained, const std::vector<Timeline>& simulated);
std::string json_of_emit(const Program& program, const HardwareModel& model, const std::vector<ScalarCode>& scalar,
                         const std::vector<EmittedFile>& files);
std::string json_of_run(const Checked& checked, const Scheduled& scheduled, const std::vector<ScalarCode>& scalar,
                        const Program& program, const HardwareModel& model);

/// The document of a failed verb with --json: exit code, reasons, and what does not map.
std::string json_of_failure(Exit code, const Diagnostics& problems, const Kernel& kernel, const HardwareModel& model,
                            const MapResult& mapped);
std::string json_of_failure(Exit code, const Diagnostics& problems);

struct CheckedFile {
  std::string path;
  bool ok = false;
  Diagnostics diagnostics;
  std::vector<LayoutFact> facts;
};
std::string json_of_check(const std::vector<CheckedFile>& files);
std::string json_of_hardware(const HardwareModel& model);
std::string json_of_new_hardware(const std::string& name, const std::string& text);

struct TargetRow {
  std::string name, file, language;
  Availability availability;
  std::vector<std::string> families;  ///< of compute instructions
  int lines = 0;                      ///< of YAML
  std::string verified_against;       ///< in a line
  std::vector<Evidence> verified;     ///< empty: not stated
};
/// A table as a list of objects with the first row as keys; and plain strings.
std::string json_of_rows(const std::string& key, const std::vector<std::vector<std::string>>& rows,
                         const std::set<std::string>& names = {});
std::string json_of_texts(const std::vector<std::pair<std::string, std::string>>& texts);
std::string json_of_targets(const std::vector<TargetRow>& targets);

}  // namespace isamap::cli
