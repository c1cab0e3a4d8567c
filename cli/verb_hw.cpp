// SPDX-License-Identifier: Apache-2.0
// isamap hw check|show|graph|new: validates, prints, draws and creates hardware files.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends/simulator/same_text.h"
#include "build_facts.h"
#include "cli/common.h"
#include "cli/json.h"
#include "cli/verbs.h"
#include "hwdesc/load/skeletons.h"
#include "isamap/hardware.h"

namespace isamap::cli {
namespace {

std::string summary(const HardwareModel& model, std::size_t warnings) {
  return fmt::format("{}: {} units, {} memories, {} links, {} instructions{}\n", model.name, model.units().size(),
                     model.memories().size(), model.links().size(), model.instructions().size(),
                     warnings == 0 ? "" : fmt::format("; {} warnings", warnings));
}

/// Do not warn about an operand order that no move can fill if another order is proved.
bool matters(const LayoutFact& fact, const std::vector<LayoutFact>& facts) {
  return fact.proved || fact.kind != LayoutFactKind::fill ||
         std::none_of(facts.begin(), facts.end(), [&](const LayoutFact& other) {
           return other.proved && other.kind == LayoutFactKind::fill && other.operands == fact.operands;
         });
}

/// The JSON schema for editors: in the source tree or installed; empty: not found.
std::string schema_file() {
  std::error_code ignored;
  if (std::filesystem::exists(ISAMAP_SOURCE_MODELS "/../hwdesc/schema.json", ignored))
    return std::filesystem::path(ISAMAP_SOURCE_MODELS).parent_path() / "hwdesc" / "schema.json";
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto installed = program.parent_path().parent_path() / "share" / "isamap" / "schema.json";
  return std::filesystem::exists(installed, ignored) ? installed.string() : "";
}

bool is_a_name(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

Exit verb_hw_check(const Options& options) {
  std::vector<CheckedFile> files;
  std::string text;
  Exit code = Exit::ok;
  for (const std::string& path : options.files) {
    auto loaded = load_hardware(path, model_folders(), {options.params, true});
    Diagnostics diagnostics = loaded ? loaded->warnings : loaded.diagnostics();
    if (loaded)
      for (Diagnostic& alike : same_texts(loaded->model)) diagnostics.push_back(std::move(alike));
    const bool right = !has_errors(diagnostics);
    files.push_back({path, right, diagnostics, {}});
    if (!diagnostics.empty()) fail(Exit::wrong_input, diagnostics);
    if (right) {
      text += summary(loaded->model, diagnostics.size());
      for (const LayoutFact& fact : loaded->facts)
        if (matters(fact, loaded->facts)) text += "  " + print(fact) + "\n";
      files.back().facts = std::move(loaded->facts);
    } else {
      code = Exit::wrong_input;
    }
  }
  return deliver(options, options.json ? json_of_check(files) : text, code);
}

Exit verb_hw_show(const Options& options) {
  if (options.resolved) {
    const auto loaded = load_hardware(options.target, model_folders(), {options.params});
    if (!loaded) return fail(Exit::wrong_input, loaded.diagnostics());
    return deliver(options,
                   options.json ? json_of_new_hardware(loaded->model.name, loaded->resolved) : loaded->resolved);
  }
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  return deliver(options, options.json ? json_of_hardware(*model) : describe(*model));
}

Exit verb_hw_graph(const Options& options) {
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  if (options.json) return deliver(options, json_of_hardware(*model));
  return deliver(options, options.graph_format == "svg" ? svg(*model) : graphviz(*model));
}

Exit verb_hw_new(const Options& options) {
  if (!is_a_name(options.new_name))
    return fail(Exit::usage, fmt::format("'{}' is not a valid machine name", options.new_name),
                "letters, digits and _");
  const auto& all = hardware_skeletons();
  const auto named = [&](const std::string& kind) {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == kind; });
  };
  // `hw new vector` needs no --kind.
  const std::string implied = named(options.new_name) == all.end() ? "systolic" : options.new_name;
  const auto skeleton = named(options.new_kind.empty() ? implied : options.new_kind);
  if (skeleton == all.end()) {
    std::string kinds;
    for (const auto& [kind, text] : all) kinds += (kinds.empty() ? "" : ", ") + kind;
    return fail(Exit::usage, fmt::format("--kind: '{}' is none of: {}", options.new_kind, kinds));
  }
  std::string text = skeleton->second;
  if (const std::string file = schema_file(); !file.empty())
    text.replace(text.find("SCHEMA"), 6, file);
  else
    text.erase(0, text.find('\n') + 1);
  for (std::size_t at = text.find("NAME"); at != std::string::npos;
       at = text.find("NAME", at + options.new_name.size()))
    text.replace(at, 4, options.new_name);
  return deliver(options, options.json ? json_of_new_hardware(options.new_name, text) : text);
}

}  // namespace isamap::cli
