// SPDX-License-Identifier: Apache-2.0
// isamap hw check|show|graph|new: validates, prints, draws and creates hardware files.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "backends/simulator/ambiguous_commands.h"
#include "build_facts.h"
#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
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
  const std::filesystem::path installed = installed_share("schema.json");
  return std::filesystem::exists(installed, ignored) ? installed.string() : "";
}

bool is_a_name(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Exit verb_hw_check(const Options& options) {
  std::vector<CheckedFile> files;
  std::string text;
  Exit code = Exit::ok;
  for (const std::string& path : options.files) {
    auto loaded = load_hardware(path, model_folders(), {options.params, true});
    Diagnostics diagnostics = loaded ? loaded->warnings : loaded.diagnostics();
    if (loaded)
      for (Diagnostic& alike : ambiguous_commands(loaded->model)) diagnostics.push_back(std::move(alike));
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

Exit verb_hw_show(const Options& options, bool resolved) {
  if (resolved) {
    const auto loaded = load_hardware(options.target, model_folders(), {options.params});
    if (!loaded) return fail(Exit::wrong_input, loaded.diagnostics());
    return deliver(options,
                   options.json ? json_of_new_hardware(loaded->model.name, loaded->resolved) : loaded->resolved);
  }
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  return deliver(options, options.json ? json_of_hardware(*model) : describe(*model));
}

Exit verb_hw_graph(const Options& options, bool as_svg) {
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  if (options.json) return deliver(options, json_of_hardware(*model));
  return deliver(options, as_svg ? svg(*model) : graphviz(*model));
}

Exit verb_hw_new(const Options& options, const std::string& name, const std::string& kind) {
  if (!is_a_name(name))
    return fail(Exit::usage, fmt::format("'{}' is not a valid machine name", name), "letters, digits and _");
  const auto& all = hardware_skeletons();
  const auto named = [&](const std::string& wanted) {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == wanted; });
  };
  // `hw new vector` needs no --kind.
  const std::string implied = named(name) == all.end() ? "systolic" : name;
  const auto skeleton = named(kind.empty() ? implied : kind);
  if (skeleton == all.end()) {
    std::string kinds;
    for (const auto& [known, text] : all) kinds += (kinds.empty() ? "" : ", ") + known;
    return fail(Exit::usage, fmt::format("--kind: '{}' is none of: {}", kind, kinds));
  }
  std::string text = skeleton->second;
  if (const std::string file = schema_file(); !file.empty())
    text.replace(text.find("SCHEMA"), 6, file);
  else
    text.erase(0, text.find('\n') + 1);
  for (std::size_t at = text.find("NAME"); at != std::string::npos; at = text.find("NAME", at + name.size()))
    text.replace(at, 4, name);
  return deliver(options, options.json ? json_of_new_hardware(name, text) : text);
}

}  // namespace

std::vector<VerbRow> verbs_hw() {
  struct Own {
    bool resolved = false;
    std::string format = "dot", name, kind;
  };
  const auto own = std::make_shared<Own>();
  return {{100, "hw", "check, show, draw and compare hardware files", {}, {}},
          {110, "hw check", "report every problem of hardware files",
           [](Flags& flags) {
             flags.texts("HW", flags.options.files, "files, or names in hardware_models").required();
             flags.params("the hardware file");
           },
           verb_hw_check},
          {120, "hw show", "print a machine as tables",
           [=](Flags& flags) {
             flags.machine();
             flags.on("--resolved", own->resolved,
                      "print the file itself, with bases, parameters, tables and variants resolved");
           },
           [=](const Options& options) { return verb_hw_show(options, own->resolved); }},
          {130, "hw graph", "print memories and links as a graph",
           [=](Flags& flags) {
             flags.machine();
             flags.text("--format", own->format, "dot or svg").one_of({"dot", "svg"});
           },
           [=](const Options& options) { return verb_hw_graph(options, own->format == "svg"); }},
          {160, "hw new", "print a small complete hardware file to start from",
           [=](Flags& flags) {
             flags.text("NAME", own->name, "of the machine, or a kind").required();
             flags.text("--kind", own->kind, "systolic (default), vector or gpu");
           },
           [=](const Options& options) { return verb_hw_new(options, own->name, own->kind); }}};
}

}  // namespace isamap::cli
