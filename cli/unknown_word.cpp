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

/// "--help", "--target", ..: of the command and of those around it.
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

}  // namespace

std::optional<Diagnostic> unknown_word(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<const CLI::App*> path{&app};
  int a = 1;
  for (; a < argc && argv[a][0] != '-'; ++a) {
    const auto all = commands_of(*path.back());
    if (all.empty()) break;
    const auto named =
        std::find_if(all.begin(), all.end(), [&](const CLI::App* one) { return one->get_name() == argv[a]; });
    if (named == all.end()) {
      return error(fmt::format("there is no command '{}'", argv[a]), known(all));
    }
    path.push_back(*named);
  }
  const auto help = [](const std::string& word) { return word == "--help" || word == "-h" || word == "--version"; };
  if (const auto all = commands_of(*path.back()); !all.empty() && std::none_of(argv + a, argv + argc, help)) {
    const std::string so_far = path.size() == 1 ? "isamap" : "isamap " + path.back()->get_name();
    return error(fmt::format("'{}' needs a command", so_far), known(all));
  }
  const std::vector<std::string> flags = flags_of(path);
  for (; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--") return std::nullopt;  // what follows is no flag
    const std::string flag = word.substr(0, word.find('='));
    if (!flag.starts_with("--") || std::find(flags.begin(), flags.end(), flag) != flags.end()) continue;
    const std::string near = yaml::nearest(flag, flags);
    return error(fmt::format("there is no flag '{}'", flag),
                 near.empty() ? "--help says what there is" : "did you mean '" + near + "'?");
  }
  return std::nullopt;
}

}  // namespace isamap::cli
