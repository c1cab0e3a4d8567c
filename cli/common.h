// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by all verbs: loading inputs, writing results, reporting errors.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "support/slow_operation.h"
#include "support/table.h"

namespace isamap::cli {

/// What is installed under this name in PREFIX/share/isamap of the running program; it may not exist.
std::filesystem::path installed_share(const std::string& name);

/// Search path of models: $ISAMAP_MODELS (a list with `:`), the source tree, the installed share folder.
std::vector<std::string> model_folders();
/// Every NAME.yaml of those folders, by name; the first folder wins.
std::vector<std::pair<std::string, std::string>> known_models();

/// Exit code of a bug of ours, which no verb returns.
inline constexpr int internal_error_code = 70;

/// Prints the diagnostics on stderr and returns the code: `return fail(Exit::wrong_input, loaded.diagnostics())`.
Exit fail(Exit code, const Diagnostics& diagnostics);
Exit fail(Exit code, const std::string& message, const std::string& hint = "");
/// True, and reported as a usage error: --budget limits `what` ("searches") in seconds, where results are reproducible.
bool refused_seconds(const Options& options, const char* what);

std::optional<HardwareModel> load_target(const Options& options);  ///< empty: an error was reported
/// Rejects --dims and types for a kernel file, which states its own. False: an error was reported.
bool formula_options_fit(const Options& options);
/// The kernel file or the one-line form; empty: `code` is set.
std::optional<Kernel> load_kernel_of(const Options& options, Exit& code);

/// Both inputs of most verbs.
struct Inputs {
  Kernel kernel;
  HardwareModel model;
};
std::optional<Inputs> load_inputs(const Options& options, Exit& code);

/// Writes the result to stdout or, atomically, to the file of -o. Returns `code` unless writing fails.
Exit deliver(const Options& options, const std::string& text, Exit code = Exit::ok);
/// Prints the files of a program, or writes them where -o says. A file has the program's extension; a folder exists,
/// ends with a slash or has no extension.
Exit deliver_files(const Options& options, const std::vector<EmittedFile>& files);
/// Why a word cannot stand in a plan or record, whose JSON is UTF-8: names of files may be any bytes.
std::optional<Diagnostic> no_utf8(const std::string& word);
/// The same of the words of a command line that plans and records keep.
std::optional<Diagnostic> no_utf8(const Options& options);
/// Early checks before hours of work: why no output can be written there. Its folder is missing or read-only; of a
/// file, the path is a folder.
std::optional<Diagnostic> why_not_written(const std::string& path);
std::optional<Diagnostic> why_no_file(const std::string& path);
/// Makes a folder and those above it, unless it is there; why it cannot be made, with `hint`, or nothing.
std::optional<Diagnostic> make_folder(const std::string& path, const std::string& hint);
/// Writes a temporary file in the same folder and renames it.
Result<bool> write_file(const std::string& path, const std::string& text);

/// With --json, a verb without a result repeats the diagnostics of `fail` on stdout. Returns the code.
Exit close_json(const Options& options, Exit code);

/// "1 job", "2 jobs".
std::string counted(std::size_t count, const std::string& what);
/// A line on stderr; write errors are ignored.
void tell(const std::string& line);

/// Progress on stderr, after a second and at most once per second; where that is no terminal, then every ten seconds.
class Progress {
 public:
  void operator()(const std::string& text);

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool told_ = false;
};

/// The requested objective, otherwise edp if the model states energies, else cycles.
ScheduleOptions schedule_options(const Options& options, const HardwareModel& model);
/// For comparing machines: cycles, with the user's budget per kernel, or a small default.
ScheduleOptions suite_schedule_options(const Options& options);

}  // namespace isamap::cli
