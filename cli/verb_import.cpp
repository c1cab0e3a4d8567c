// SPDX-License-Identifier: Apache-2.0
// isamap import: models, and problems, machines and schedules of another tool, as our files.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>

#include "cli/built_model.h"
#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/models.h"
#include "frontends/layers.h"
#include "frontends/timeloop/timeloop.h"
#include "isamap/frontends.h"

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
  if (auto why = make_folder(options.output, "-o FOLDER")) return fail(Exit::wrong_input, {std::move(*why)});
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

/// "# part 3 of NAME on HW, 2 times", and a line for each node.
std::string head_of(const Built& built, std::size_t number) {
  const std::vector<CompiledPart>& parts = built.compiled.parts;
  const auto times =
      std::count_if(parts.begin(), parts.end(), [&](const CompiledPart& part) { return part.same_as == number; });
  std::string head = fmt::format("# part {} of {} on {}{}\n", number, built.imported.name, built.machine.name,
                                 times == 1 ? "" : fmt::format(", {} times", times));
  for (const std::string& node : parts[number].nodes) head += "#   " + node + "\n";
  return head;
}

/// Outputs of the model that only other parts write are inputs of this one; a part that is the whole model has inputs
/// that nothing reads.
Kernel alone(Kernel part) {
  std::vector<std::size_t> all(part.statements.size());
  std::iota(all.begin(), all.end(), 0);
  if (part.repeats.empty()) part = cut(part, all, part.name);
  for (std::size_t t = 0; t < part.tensors.size(); ++t)
    if (role_of(part, make_id<TensorId>(t)) == Role::input) part.tensors[t].output = false;
  return part;
}

/// import onnx MODEL --target HW -o FOLDER: a kernel file for each distinct part of the plan.
Exit import_parts(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "the files are written to a folder", "-o FOLDER");
  if (has_unused(options, {"--dims"}, "is for layers at many sizes, and --target for the parts of a plan of one",
                 "--sizes NAME=128"))
    return Exit::usage;
  Exit code = Exit::ok;
  const auto built = Builder(options, code).build();
  if (!built) return code;
  std::vector<KernelFile> files;
  for (std::size_t p = 0; p < built->compiled.parts.size(); ++p) {
    const CompiledPart& part = built->compiled.parts[p];
    if (part.same_as == p)
      files.push_back({fmt::format("part_{}", p), head_of(*built, p), kernel_file(alone(part.kernel))});
  }
  return write_kernels(options, files, "the model has no part that a kernel file can state");
}

}  // namespace

std::vector<VerbRow> verbs_import() {
  const auto files = std::make_shared<TimeloopFiles>();
  return {{500, "import", "convert files of another tool", {}, {}},
          {505, "import onnx", "a model (.onnx): a kernel file for each layer, or for each part of its plan",
           [](Flags& flags) {
             flags.text("MODEL", flags.options.kernel_file, "model (.onnx)").required();
             flags.model();
             flags.target(false);
             flags.known("--target").describe("HW: the parts of the model's plan for it, in place of its layers");
             flags.model_plan();
             flags.strict_float();
             flags.jobs();
             flags.text("--dims", flags.options.dims, "seq=1..512,batch=1: kernel files for all these sizes");
           },
           [](const Options& options) {
             return options.target.empty() ? verb_import_onnx(options) : import_parts(options);
           },
           true},
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
