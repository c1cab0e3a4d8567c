// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every verb does: find its inputs, deliver its result, say what is wrong.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "support/slow_operation.h"
#include "support/table.h"

namespace isamap::cli {

/// Where models are looked up by name: $ISAMAP_MODELS (a list with `:`), the source tree, the installed share folder.
std::vector<std::string> model_folders();
/// Every NAME.yaml of those folders, by name; of equal names the first folder's.
std::vector<std::pair<std::string, std::string>> known_models();

/// Prints the diagnostics on stderr and gives the code back: `return fail(Exit::wrong_input, loaded.diagnostics())`.
Exit fail(Exit code, const Diagnostics& diagnostics);
Exit fail(Exit code, const std::string& message, const std::string& hint = "");

std::optional<HardwareModel> load_target(const Options& options);  ///< has complained when empty
/// Sizes and types that a file states itself cannot be given beside it. Has complained when false.
bool formula_options_fit(const Options& options);
/// The kernel file or the one-line form; `code` is set when empty.
std::optional<Kernel> load_kernel_of(const Options& options, Exit& code);

/// Both inputs of most verbs.
struct Inputs {
  Kernel kernel;
  HardwareModel model;
};
std::optional<Inputs> load_inputs(const Options& options, Exit& code);

/// Writes the result to stdout or, whole or not at all, to the file of -o. `code` is returned unless writing fails.
Exit deliver(const Options& options, const std::string& text, Exit code = Exit::ok);
/// What to tell before hours of work where the folder of a file that is to be written is missing.
std::optional<Diagnostic> no_folder_for(const std::string& path);
/// Writes to a temporary name in the same folder and renames.
Result<bool> write_file(const std::string& path, const std::string& text);

/// With --json a verb that ended without a result says on stdout what `fail` has said on stderr. Gives the code back.
Exit close_json(const Options& options, Exit code);

/// A line on stderr; where that cannot be written nobody listens, and nothing happens.
void tell(const std::string& line);

/// Tells on stderr what is going on, when a second has passed since the last time.
class Progress {
 public:
  void operator()(const std::string& text);

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// The objective asked for, else what the model can answer: edp where it states energies, cycles otherwise.
ScheduleOptions schedule_options(const Options& options, const HardwareModel& model);
/// For comparing machines: cycles, with the budget of the user for each kernel, or a small one.
ScheduleOptions suite_schedule_options(const Options& options);

}  // namespace isamap::cli
