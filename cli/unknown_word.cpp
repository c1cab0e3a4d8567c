// SPDX-License-Identifier: Apache-2.0
#include "cli/unknown_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/yaml.h"

namespace isamap::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// "--help", "--target", ..: flags of the command and of its parents.
std::vector<std::string> flags_of(const std::vector<const CLI::App*>& path) {
  std::vector<std::string> flags;
  for (const CLI::App* app : path)
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string known(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* one : commands) names.push_back(one->get_name());
  return fmt::format("the commands are: {}; --help says what they do", fmt::join(names, ", "));
}

/// A flag without a value, of a command or a subcommand.
bool plain_flag(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = app.get_option_no_throw(word);
  if (option != nullptr && option->get_items_expected_max() == 0) return true;
  const auto inside = commands_of(app);
  return std::any_of(inside.begin(), inside.end(), [&](const CLI::App* one) { return plain_flag(*one, word); });
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h" || word == "--version"; }

}  // namespace

std::optional<Diagnostic> unknown_word(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<const CLI::App*> path{&app};
  int a = 1;
  std::string before;  // a flag before its command
  for (; a < argc; ++a) {
    const auto all = commands_of(*path.back());
    if (all.empty()) break;
    if (argv[a][0] == '-') {
      // The next word is a command only if no flag takes it as value.
      if (asks_for_help(argv[a]) || !plain_flag(*path.back(), argv[a])) break;
      before = argv[a];
      continue;
    }
    const auto named =
        std::find_if(all.begin(), all.end(), [&](const CLI::App* one) { return one->get_name() == argv[a]; });
    if (named == all.end()) {
      return error(fmt::format("there is no command '{}'", argv[a]), known(all));
    }
    if (!before.empty())
      return error(fmt::format("'{}' stands before '{}'", before, argv[a]), "flags follow the command");
    path.push_back(*named);
  }
  if (const auto all = commands_of(*path.back()); !all.empty() && std::none_of(argv + a, argv + argc, asks_for_help)) {
    const std::string so_far = path.size() == 1 ? "isamap" : "isamap " + path.back()->get_name();
    return error(fmt::format("'{}' needs a command", so_far), known(all));
  }
  const std::vector<std::string> flags = flags_of(path);
  for (; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--") return std::nullopt;  // the rest are not flags
    const std::string flag = word.substr(0, word.find('='));
    if (!flag.starts_with("--") || std::find(flags.begin(), flags.end(), flag) != flags.end()) continue;
    if (flag == "--threads" && std::find(flags.begin(), flags.end(), "--jobs") != flags.end())
      return error("'--threads' is for emitted programs; a search has workers",
                   "--jobs N; the default is all processors");
    const std::string near = yaml::nearest(flag, flags);
    return error(fmt::format("there is no flag '{}'", flag),
                 near.empty() ? "--help says what there is" : "did you mean '" + near + "'?");
  }
  return std::nullopt;
}

}  // namespace isamap::cli
