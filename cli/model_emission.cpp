// SPDX-License-Identifier: Apache-2.0
// emit MODEL: the files of a model's program.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/assembly/model_stream.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_unit.h"
#include "backends/model_runner.h"
#include "cli/built_model.h"
#include "cli/model_run.h"
#include "cli/models.h"
#include "hwdesc/model/program_language.h"
#include "planner/plan_file.h"
#include "planner/traffic.h"

namespace isamap::cli {
namespace {

namespace fs = std::filesystem;

nlohmann::ordered_json json_of(const std::vector<Port>& ports) {
  auto list = nlohmann::ordered_json::array();
  for (const Port& port : ports)
    list.push_back({{"name", port.name},
                    {"dtype", std::string(name(port.dtype))},
                    {"shape", port.shape},
                    {"bytes", port.bytes()}});
  return list;
}

/// Where the ports and blocks of a stream of commands lie in the outermost memory: bytes from its start.
void add_places(nlohmann::ordered_json& json, const ModelProgram& program) {
  const StreamPlaces places = stream_places(program);
  for (std::size_t i = 0; i < places.inputs.size(); ++i) json["inputs"][i]["at"] = places.inputs[i];
  for (std::size_t o = 0; o < places.outputs.size(); ++o) json["outputs"][o]["at"] = places.outputs[o];
  json["weights_at"] = places.weights;
  json["arena_at"] = places.arena;
  json["memory_bytes"] = places.bytes;
  auto blocks = nlohmann::ordered_json::array();
  for (const ArenaBlock& block : program.blocks)
    if (block.bytes > 0)
      blocks.push_back({{"name", block.name},
                        {"at", places.arena + block.at},
                        {"bytes", block.bytes},
                        {"first_part", block.first},
                        {"last_part", block.last}});
  json["blocks"] = std::move(blocks);
}

/// NAME.json of an emitted model.
nlohmann::ordered_json json_of(const Built& built, const ModelProgram& program, const ModelUnit& unit) {
  auto parts = nlohmann::ordered_json::array();
  for (std::size_t p = 0; p < built.compiled.parts.size(); ++p) {
    parts.push_back(part_json(built.compiled, p));
    parts.back()["program"] = built.compiled.parts[p].program;  // of the text's functions
  }
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"model", unit.name},
                                 {"target", built.machine.name},
                                 {"threads", threads_of(built.machine)},
                                 {"inputs", json_of(program.inputs)},
                                 {"outputs", json_of(program.outputs)},
                                 {"arena_bytes", unit.arena_bytes},
                                 {"arena_bound", program.arena_bound},
                                 {"weights_bytes", program.weights.size()},
                                 {"code_bytes", unit.text.size()},
                                 {"predicted_cycles", built.compiled.predicted_cycles},
                                 {"parts", bands_as_parts(built.compiled.plan).size()},
                                 {"plan", print(built.compiled.plan, built.imported, built.machine.name)},
                                 {"part_list", parts}};
  if (unit.launches >= 0) json["launches"] = unit.launches;
  if (is_command_stream(built.machine)) add_places(json, program);
  return json;
}

}  // namespace

Exit emit_model(const Options& options) {
  if (options.output.empty()) return fail(Exit::usage, "a model is written as several files", "-o FOLDER");
  Exit code = Exit::ok;
  if (const auto sizes = model_sizes(options, code)) return emit_model_sizes(options, *sizes);
  if (code != Exit::ok) return code;
  const auto built = Builder(options, code, prints_models).build();
  if (!built) return code;
  const auto program = link_model(built->prepared.model, built->compiled, built->prepared.data, built->machine);
  if (!program) return fail(Exit::no_answer, program.diagnostics());
  const auto unit = print_whole_model(*program, built->machine);
  if (!unit) return fail(Exit::no_answer, unit.diagnostics());
  const nlohmann::ordered_json json = json_of(*built, *program, *unit);
  return deliver_model(options, *unit, weights_file(*program), json);
}

Exit deliver_model(const Options& options, const ModelUnit& unit, const std::string& weights,
                   const nlohmann::ordered_json& json) {
  if (auto why = make_folder(options.output, "-o FOLDER")) return fail(Exit::wrong_input, {std::move(*why)});
  std::string written;
  std::vector<std::pair<std::string, std::string>> files;
  if (!unit.header.empty()) files.emplace_back(unit.name + ".h", unit.header);
  files.insert(files.end(),
               {{unit.name + unit.extension, unit.text},
                {unit.name + ".weights", weights},
                {unit.name + ".json", json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"}});
  files.insert(files.end(), unit.others.begin(), unit.others.end());
  for (const auto& [file, text] : files) {
    const std::string path = (fs::path(options.output) / file).string();
    if (const auto done = write_file(path, text); !done) return fail(Exit::wrong_input, done.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  return deliver(to_stdout, options.json ? printed(json) : written);
}

}  // namespace isamap::cli
