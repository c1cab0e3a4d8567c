// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a verb says of itself: its words, its flags and the function to call, one row each. A file `cli/verb_NAME.cpp`
// defines `std::vector<VerbRow> verbs_NAME()`; CMake makes the table of all of them from the names of the files.
//
//   std::vector<VerbRow> verbs_targets() {
//     const auto best = std::make_shared<std::string>();
//     return {{200, "targets", "list models and how they run on this machine",
//              [=](Flags& flags) { flags.text("--best", *best, "only the native model with ..."); },
//              [=](const Options& options) { return verb_targets(options, *best); }}};
//   }

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace isamap::cli {

/// Values of shared flags as they are written: NAME:key=value,... and evals=N,seconds=S. They are parsed after all
/// flags.
struct WrittenValues {
  std::vector<std::string> params, params_b;
  std::string strategy, budget, space, cost;
  std::optional<std::string> seed, limit, samples, jobs, seeds, run, measured, threads;
};

/// One flag of a verb, for what is said of it besides its name and its help.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}
  Flag& required();
  Flag& count(int values);  ///< exactly so many
  Flag& one_of(const std::vector<std::string>& words);
  Flag& excludes(const Flag& other);
  Flag& describe(const std::string& help);

 private:
  CLI::Option* option_;
};

/// The flags of one verb. Names with dashes take `--name VALUE`, others are positional. Every verb has --json, -o and
/// --seed; the groups below are flags that several verbs share, with the fields of Options that they set.
class Flags {
 public:
  Flags(CLI::App* verb, Options& all, WrittenValues& unparsed) : options(all), written(unparsed), verb_(verb) {}

  Options& options;
  WrittenValues& written;

  Flag on(const std::string& name, bool& into, const std::string& help);
  Flag text(const std::string& name, std::string& into, const std::string& help);
  Flag text(const std::string& name, std::optional<std::string>& into, const std::string& help);
  Flag texts(const std::string& name, std::vector<std::string>& into, const std::string& help);
  Flag known(const std::string& name);  ///< one that was added before

  void params(const std::string& of);  ///< --set
  void target(bool required = true);   ///< --target HW, --set
  void machine();                      ///< HW --set
  void kernel(const std::string& file = "kernel file (YAML)");
  void model_plan();                    ///< --plan
  void sizes(const std::string& help);  ///< --sizes, of kernels and models
  void model();                         ///< how a model is imported: --sizes, --fix, --until, --constant
  void rule();
  void mapping();            ///< --instruction, --rule
  void objective();          ///< --objective
  void search();             ///< --objective, --strategy, --budget, --space, --jobs
  void suite();              ///< --suite, --rule, --budget, --report, --jobs
  void jobs();               ///< search workers; threads are those of an emitted program
  void cost_and_pictures();  ///< --cost, --explain, --report, --trace
  void schedule_file();      ///< --schedule, in place of a search
  void strict_float();
  void no_reorder();
  void store();

 private:
  CLI::App* verb_;
};

struct VerbRow {
  int place;          ///< in the list that --help prints
  std::string words;  ///< "targets", "hw check"; of a group: "hw", before its verbs
  std::string help;
  std::function<void(Flags&)> flags;        ///< none: a group
  std::function<Exit(const Options&)> run;  ///< none: a group
  bool makes_folders = false;               ///< -o may name a folder that is not there yet
};

/// The rows of all verbs, in the order of their places. Made by CMake (cli/verb_table.cpp.in).
std::vector<VerbRow> verb_table();

/// A command line, read.
struct CommandLine {
  Options options;
  std::optional<VerbRow> verb;  ///< none: `code` says how it ended, and everything is printed (--help, wrong usage)
  Exit code = Exit::ok;
};
CommandLine read_command_line(int argc, char** argv);

}  // namespace isamap::cli
