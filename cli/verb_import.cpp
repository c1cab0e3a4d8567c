// SPDX-License-Identifier: Apache-2.0
// isamap import: converts problems, machines and schedules of another tool to our files.

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/models.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::cli {
namespace {

/// Files of the other tool; the last two may be empty.
struct TimeloopFiles {
  std::string problem, architecture, mapping, energy;
};

/// Writes kernel.yaml, hardware.yaml and, with a mapping, schedule.yaml into the folder of -o.
Exit verb_import_timeloop(const Options& options, const TimeloopFiles& files) {
  if (options.output.empty()) return fail(Exit::usage, "the files are written to a folder", "-o FOLDER");
  const auto made = timeloop::import({files.problem, files.architecture, files.mapping, files.energy});
  if (!made) return fail(Exit::wrong_input, made.diagnostics());
  std::error_code problem;
  std::filesystem::create_directories(options.output, problem);
  if (problem)
    return fail(Exit::wrong_input, {error_at({options.output, 0, 0}, "cannot be made: " + problem.message())});
  for (const std::string& note : made->notes) fmt::print(stderr, "note: {}\n", note);
  const std::filesystem::path folder = options.output;
  std::string written;
  for (const auto& [name, text] : {std::pair("kernel.yaml", made->kernel), std::pair("hardware.yaml", made->hardware),
                                   std::pair("schedule.yaml", made->schedule)}) {
    if (text.empty()) continue;
    const std::string path = (folder / name).string();
    if (const auto result = write_file(path, text); !result) return fail(Exit::wrong_input, result.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  return deliver(to_stdout, options.json ? json_of_texts({{"files", written}}) : written);
}

}  // namespace

std::vector<VerbRow> verbs_import() {
  const auto files = std::make_shared<TimeloopFiles>();
  return {{500, "import", "convert files of another tool", {}, {}},
          {505, "import onnx", "a model (.onnx): a kernel file for each layer",
           [](Flags& flags) {
             flags.text("MODEL", flags.options.kernel_file, "model (.onnx)").required();
             flags.model();
             flags.text("--dims", flags.options.dims, "seq=1..512,batch=1: kernel files for all these sizes");
           },
           verb_import_onnx, true},
          {510, "import timeloop", "a Timeloop problem, architecture and mapping",
           [=](Flags& flags) {
             flags.text("--problem", files->problem, "problem: file").required();
             flags.text("--architecture", files->architecture, "architecture: file").required();
             flags.text("--mapping", files->mapping, "mapping: file; without it no schedule is written");
             flags.text("--energy", files->energy, "energy reference table, ERT:");
           },
           [=](const Options& options) { return verb_import_timeloop(options, *files); }, true}};
}

}  // namespace isamap::cli
