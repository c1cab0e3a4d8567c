// SPDX-License-Identifier: Apache-2.0
// The files of one description, none of which may be outside the given folders.

#include <algorithm>
#include <filesystem>

#include "hwdesc/load/fields.h"

namespace isamap::loader {

namespace {

namespace fs = std::filesystem;
constexpr std::size_t max_chain = 16;  // files on one path from the requested file to a base
constexpr std::size_t max_files = 64;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Pipes too: `hw check <(..)`.
bool holds_text(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

std::string with_extension(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") ? name : name + ".yaml";
}

/// The requested file: a path, or the name of a file in one of the folders.
std::optional<std::string> find_asked(const std::string& path, const std::vector<std::string>& folders) {
  const bool is_path = path.find('/') != std::string::npos || with_extension(path) == path;
  if (is_path && holds_text(path)) return path;
  if (path.find('/') == std::string::npos)
    for (const std::string& folder : folders)
      if (is_file(fs::path(folder) / with_extension(path))) return (fs::path(folder) / with_extension(path)).string();
  return holds_text(path) ? std::optional(path) : std::nullopt;
}

std::vector<std::string> names_in(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end && names.size() < 1000;
         entry.increment(ignored))
      if (entry->path().extension() == ".yaml") names.insert(entry->path().stem().string());
  }
  return {names.begin(), names.end()};
}

/// A symbolic link that leads out of a folder counts as outside.
bool stays_inside(const fs::path& file, const fs::path& folder) {
  std::error_code bad;
  const fs::path real_file = fs::canonical(file, bad);
  if (bad) return false;
  const fs::path real_folder = fs::canonical(folder.empty() ? "." : folder, bad);
  return !bad && real_file.parent_path() == real_folder;
}

class Reader {
 public:
  Reader(const std::vector<std::string>& folders, Problems& problems, Tree& tree)
      : folders_(folders), problems_(problems), tree_(tree) {}

  std::optional<Node> read(const std::string& file) {
    const Result<std::string> text = yaml::read_text_file(file);
    if (!text) return fail(text.diagnostics());
    tree_.sources.emplace(file, yaml::Source(*text));
    Diagnostics unreadable;
    std::optional<Node> own = yaml::parse_text(*text, file, unreadable);
    problems_.add(unreadable);
    if (!own) return std::nullopt;
    if (own->kind != Kind::map) {
      problems_.error({file, 1, 1}, "a hardware file is a map", "begin with 'hardware: NAME'");
      return std::nullopt;
    }
    return on_top_of_bases(std::move(*own), file);
  }

 private:
  std::nullopt_t fail(const Diagnostics& diagnostics) {
    problems_.add(diagnostics);
    return std::nullopt;
  }

  std::optional<Node> on_top_of_bases(Node own, const std::string& file) {
    Node below;
    below.kind = Kind::map;
    if (const Node* extends = top_level(own, "extends", problems_)) {
      const std::vector<const Node*> names = named(*extends);
      for (const Node* name : names) {
        const auto base = read_base(*name, file);
        if (!base) return std::nullopt;
        below = merge(std::move(below), *base);
      }
    }
    if (const Node* without = top_level(own, "without", problems_)) drop(below, *without, problems_);
    erase(own, "extends");
    erase(own, "without");
    erase(below, "verified");  // it states the verification of the base, not of this file
    if (same_templates(below, own)) return std::nullopt;
    return merge(std::move(below), own);
  }

  /// Names are compared as written, before variants are expanded: an entry with its own variants and the name template
  /// of a base entry is meant as another entry, but would be merged: an error, reported without later ones.
  bool same_templates(const Node& below, const Node& own) {
    const Node *inherited = below.find("instructions"), *list = own.find("instructions");
    if (!inherited || !list) return false;
    bool found = false;
    for (const Node& item : list->items) {
      const Node* same = item.find("variants") ? same_template(*inherited, item) : nullptr;
      if (!same) continue;
      found = true;
      const Node& name = *item.find("name");
      problems_.error(name.where,
                      "this entry has the name of one of the base, '" + name.scalar + "' in " + same->where.file + ":" +
                          std::to_string(same->where.line) +
                          ", and is merged with it: names are compared before variants are expanded",
                      "give it a name that no base has, or leave its 'variants' out to change the base's entry");
    }
    return found;
  }

  static const Node* same_template(const Node& list, const Node& item) {
    const Node* name = item.find("name");
    if (!name || name->scalar.find("${") == std::string::npos) return nullptr;
    for (const Node& other : list.items)
      if (const Node* known = other.find("name"); known && known->scalar == name->scalar && other.find("variants"))
        return known;
    return nullptr;
  }

  std::vector<const Node*> named(const Node& extends) {
    if (extends.kind == Kind::scalar) return {&extends};
    std::vector<const Node*> result;
    if (extends.kind != Kind::list) problems_.error(extends.where, "'extends' must be a file or a list of files");
    for (const Node& item : extends.items) {
      if (item.kind == Kind::scalar)
        result.push_back(&item);
      else
        problems_.error(item.where, "'extends' must list files");
    }
    return result;
  }

  std::optional<Node> read_base(const Node& name, const std::string& file) {
    const std::string wanted = with_extension(name.scalar);
    if (wanted.find_first_of("/\\") != std::string::npos || wanted.starts_with('.')) {
      problems_.error(name.where, "'extends' names '" + name.scalar + "', which leaves the folder",
                      "put the base beside this file and write its plain name");
      return std::nullopt;
    }
    std::vector<fs::path> places{fs::path(file).parent_path()};
    places.insert(places.end(), folders_.begin(), folders_.end());
    for (const fs::path& place : places) {
      const fs::path candidate = place / wanted;
      if (!is_file(candidate)) continue;
      if (!stays_inside(candidate, place)) {
        problems_.error(name.where, "'extends' names '" + name.scalar + "', a link that leaves the folder");
        return std::nullopt;
      }
      return read_once(candidate.string(), name);
    }
    problems_.error(name.where, "'extends' names '" + name.scalar + "', which is no file beside this one", "",
                    {"looked for " + wanted});
    return std::nullopt;
  }

  std::optional<Node> read_once(const std::string& file, const Node& name) {
    if (std::find(chain_.begin(), chain_.end(), file) != chain_.end() || chain_.size() >= max_chain ||
        ++files_ > max_files) {
      const bool cycle = std::find(chain_.begin(), chain_.end(), file) != chain_.end();
      problems_.error(name.where,
                      cycle ? "'extends' leads back to '" + name.scalar + "'" : "'extends' names too many files",
                      cycle ? "a file cannot extend itself" : "");
      return std::nullopt;
    }
    chain_.push_back(file);
    auto result = read(file);
    chain_.pop_back();
    return result;
  }

  static void erase(Node& map, const std::string& key) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      if (map.entries[i].first != key) continue;
      map.entries.erase(map.entries.begin() + static_cast<std::ptrdiff_t>(i));
      map.key_where.erase(map.key_where.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

  const std::vector<std::string>& folders_;
  Problems& problems_;
  Tree& tree_;
  std::vector<std::string> chain_;
  std::size_t files_ = 0;

 public:
  void begin(const std::string& file) { chain_.push_back(file); }
};

}  // namespace

bool read_tree(const std::string& path, const std::vector<std::string>& folders, Problems& problems, Tree& tree) {
  const auto file = find_asked(path, folders);
  if (!file) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    Diagnostic missing =
        error_at({path, 0, 0}, is_folder ? "cannot read the file: it is a folder" : "no such hardware file");
    const auto known = names_in(folders);
    const std::string guess = yaml::nearest(path, known);
    if (is_folder)
      missing.hint = "name a file in it";
    else if (!guess.empty())
      missing.hint = "did you mean '" + guess + "'?";
    else
      missing.hint = fs::path(path).extension().empty() ? "name one of these, or write the path of a .yaml file"
                                                        : yaml::nearest_file(path);
    if (!known.empty()) missing.notes.push_back("known hardware: " + join(known));
    problems.add(std::move(missing));
    return false;
  }
  tree.file = *file;
  Reader reader(folders, problems, tree);
  reader.begin(*file);
  auto root = reader.read(*file);
  if (root) tree.root = std::move(*root);
  return root.has_value();
}

}  // namespace isamap::loader
