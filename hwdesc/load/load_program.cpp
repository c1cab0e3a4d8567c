// SPDX-License-Identifier: Apache-2.0
// How programs are printed, compiled and run, and the required features of the machine.

#include <filesystem>

#include "hwdesc/load/fields.h"
#include "hwdesc/model/program_language.h"

namespace isamap::loader {

namespace {

void load_types(const Node& node, ProgramText& program, Context& context) {
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& [key, value] = node.entries[i];
    if (!parse_dtype(key))
      context.problems.error(node.key_where[i], "'types' of program names dtype '" + key + "', which does not exist");
    if (value.kind == Kind::scalar)
      program.types[key] = value.scalar;
    else
      context.problems.error(value.where, "'types' of program must give text for '" + key + "'");
  }
}

CompilerFlags load_flags(const Node& node, const std::string& what, Context& context) {
  CompilerFlags result;
  Fields flags(node, "flags", what, context);
  for (const std::string& compiler : keys::names_of(keys::section("flags"))) {
    auto list = flags.texts(compiler);
    for (std::string& flag : list) flag = with_sizes(flag, node, context);
    if (!list.empty()) result[compiler] = list;
  }
  return result;
}

/// `simulator: COMMAND`, or `simulator: NAME` beside `command: COMMAND`. Without a name it has that of the first word.
ExternalSimulator load_simulator(Fields& run, Context& context) {
  ExternalSimulator simulator;
  const Node *name = run.child("simulator"), *command = run.child("command"), *seconds = run.child("seconds");
  if (!name) {
    for (const Node* alone : {command, seconds})
      if (alone)
        context.problems.error(
            alone->where,
            std::string("'run' of program has '") + (alone == command ? "command" : "seconds") + "' and no 'simulator'",
            "write {simulator: NAME, command: \"./CMD {program} {folder}\", seconds: 60}");
    return simulator;
  }
  const std::string key = command ? "'command'" : "'simulator'";
  const auto given = run.text(command ? "command" : "simulator");
  if (!given) return simulator;
  const std::string& text = *given;
  if (text.find("{program}") == std::string::npos && text.find("{folder}") == std::string::npos)
    context.problems.error((command ? command : name)->where, key + " of 'run' names neither {program} nor {folder}",
                           std::string("the text is in the file {program}, all files are in {folder}") +
                               (command ? "" : "; 'simulator' is a name where 'command' stands beside it"));
  simulator.command = text;
  simulator.name =
      command ? line_of_text(*name, "'simulator' of 'run'", context).value_or("") : text.substr(0, text.find(' '));
  if (seconds)
    simulator.seconds = static_cast<double>(
        read_number(*seconds, keys::key("run", "seconds"), "'seconds' of 'run'", context).value_or(0));
  return simulator;
}

void load_run(const Node& node, ProgramText& program, Context& context) {
  Fields run(node, "run", "'run' of program", context);
  if (const auto command = run.text("emulated"))
    program.run_emulated = with_sizes(*command, *node.find("emulated"), context);
  program.simulator = load_simulator(run, context);
}

/// The header has a plain name and is in the folder of the file that names it or in one of the folders of models.
std::string shim_path(const Node& node, Context& context) {
  const std::string& name = node.scalar;
  if (name.empty() || name.find_first_of("/\\") != std::string::npos || name.starts_with('.')) {
    context.problems.error(node.where, "'include' of shim is '" + name + "', which is no plain file name",
                           "put the header beside this file");
    return "";
  }
  std::vector<std::filesystem::path> places{std::filesystem::path(node.where.file).parent_path()};
  places.insert(places.end(), context.folders.begin(), context.folders.end());
  for (const auto& place : places) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(place / name, ignored))
      return std::filesystem::absolute(place / name, ignored).string();
  }
  context.problems.error(node.where, "'include' of shim names '" + name + "', which is no file beside this one",
                         "put the header beside this file");
  return "";
}

/// The folders of headers in `include` that are files beside the hardware file that names them, as compiler flags.
std::vector<std::string> folders_of_headers(const Node& include) {
  std::vector<std::string> flags;
  const std::vector<Node> alone{include};
  for (const Node& item : include.kind == Kind::list ? include.items : alone) {
    if (item.kind != Kind::scalar || item.scalar.empty() || item.scalar.front() == '<') continue;
    const bool quoted = item.scalar.size() > 1 && item.scalar.front() == '"';
    const std::string name = quoted ? item.scalar.substr(1, item.scalar.size() - 2) : item.scalar;
    std::error_code ignored;
    const auto folder = std::filesystem::absolute(item.where.file, ignored).parent_path();
    if (std::filesystem::path(name).is_absolute() || !std::filesystem::is_regular_file(folder / name, ignored))
      continue;
    const std::string flag = "-I" + folder.lexically_normal().string();
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) flags.push_back(flag);
  }
  return flags;
}

Shim load_shim(const Node& node, Context& context) {
  Shim shim;
  Fields map(node, "shim", "'shim' of program", context);
  if (const Node* include = map.child("include")) shim.include = shim_path(*include, context);
  shim.cpu = map.texts("cpu");
  if (const Node* flags = map.child("flags")) shim.flags = load_flags(*flags, "'flags' of shim", context);
  return shim;
}

void load_window(const Node& node, ProgramText& program, Context& context) {
  program.window =
      read_number(node, keys::key("program", "window"), "'window' of program", context).value_or(program.window);
  if (!is_command_stream(program))
    context.problems.error(
        node.where,
        "'window' of program is for language asm, whose commands a list scheduler orders; this is " + program.language,
        "leave it out: the compiler reorders the program");
}

std::string lines(const std::string& text) { return text + (text.empty() || text.ends_with('\n') ? "" : "\n"); }

/// Texts, and texts with names.
void load_helpers(const Node& node, ProgramText& program, Context& context) {
  const std::vector<Node> alone{node};
  for (const Node& item : node.kind == Kind::list ? node.items : alone) {
    if (item.kind == Kind::scalar) {
      program.helpers += lines(item.scalar);
      continue;
    }
    Fields map(item, "helper", "a helper of program", context);
    NamedHelper helper{map.text("name").value_or(""), lines(map.text("text").value_or(""))};
    const bool known = std::any_of(program.named_helpers.begin(), program.named_helpers.end(),
                                   [&](const NamedHelper& other) { return other.name == helper.name; });
    if (known)
      context.problems.error(item.where, "there are two helpers '" + helper.name + "'",
                             "each is printed where its name is said; names differ");
    else if (!helper.name.empty())
      program.named_helpers.push_back(std::move(helper));
  }
}

}  // namespace

void load_program(const Node& root, Context& context) {
  const Node* node = top_level(root, "program", context.problems);
  if (!node) return;
  ProgramText& program = context.model.program;
  Fields map(*node, "program", "program", context);
  const Node* language = node->find("language");
  const std::string otherwise(language ? language->scalar : default_language);
  program.language = map.word("language").value_or(otherwise);
  program.include = map.texts("include");
  if (const Node* types = map.child("types")) load_types(*types, program, context);
  if (const Node* flags = map.child("flags")) program.flags = load_flags(*flags, "'flags' of program", context);
  if (const Node* include = node->find("include"))
    for (std::string& flag : folders_of_headers(*include)) program.flags["any"].push_back(std::move(flag));
  if (const Node* helpers = map.child("helpers")) load_helpers(*helpers, program, context);
  for (const std::string& block : map.texts("launch_helpers")) program.launch_helpers += lines(block);
  program.function = map.text("function").value_or("");
  program.begin = map.text("begin").value_or("");
  program.end = map.text("end").value_or("");
  program.comment = map.text("comment").value_or(program.comment);
  if (const Node* window = map.child("window")) load_window(*window, program, context);
  if (const Node* run = map.child("run")) load_run(*run, program, context);
  program.compilers = map.texts("compiler");
  program.packages = map.texts("packages");
  if (const Node* shim = map.child("shim")) program.shim = load_shim(*shim, context);
}

void load_verified(const Node& root, Context& context) {
  for (const Node* item : items(root, "verified", context.problems)) {
    Evidence evidence;
    evidence.where = item->where;
    {
      Fields map(*item, "evidence", "an entry of 'verified'", context);
      for (const auto& [key, text] : {std::pair("against", &evidence.against), std::pair("what", &evidence.what),
                                      std::pair("how", &evidence.how)})
        if (const Node* value = map.child(key))
          *text = line_of_text(*value, std::string("'") + key + "' of an entry of 'verified'", context).value_or("");
    }
    context.model.verified.push_back(std::move(evidence));
  }
}

Requirements load_requires(const Node& node, const std::string& what, Context& context) {
  Fields map(node, "features", "'requires' of " + what, context);
  return {map.texts("machine"), map.texts("cpu"), map.texts("arch")};
}

}  // namespace isamap::loader
