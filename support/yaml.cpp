// SPDX-License-Identifier: Apache-2.0
// Bytes to nodes. yaml-cpp is used through its events, not its node graph: events have marks, keep the text of scalars,
// and allow checks of duplicate keys, aliases, depth and size while reading, before memory grows.

#include "support/yaml.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "support/utf8.h"

namespace isamap::yaml {

namespace {

constexpr std::size_t max_bytes = std::size_t{4} << 20;
constexpr std::size_t max_depth = 64;
constexpr std::size_t max_nodes = 200'000;
constexpr std::size_t max_reported = 100;

/// Ends the reading of a file: its remainder is unreliable.
struct Stop {
  Diagnostic why;
};

/// Nodes of an unfinished list or map.
struct Open {
  Node node;
  YAML::anchor_t anchor = 0;
  std::optional<std::string> key;  ///< map: the key whose value comes next
  SourceLocation key_where;
  bool skip_value = false;  ///< the key was a duplicate
  std::set<std::string> keys;
};

Diagnostic too_deep_at(const SourceLocation& where) {
  return error_at(where, "nested more than " + std::to_string(max_depth) + " deep", "is a bracket not closed?");
}

std::size_t size_of(const Node& node) {
  std::size_t total = 1;
  for (const Node& item : node.items) total += size_of(item);
  for (const auto& [key, value] : node.entries) total += 1 + size_of(value);
  return total;
}

std::size_t depth_of(const Node& node) {
  std::size_t deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [key, value] : node.entries) deepest = std::max(deepest, depth_of(value));
  return deepest + 1;
}

class Builder final : public YAML::EventHandler {
 public:
  Builder(const std::string& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  Node root;
  int documents = 0;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents > 1)
      throw Stop{error_at(at(mark), "a second document begins", "one file holds one document: remove '---'")};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.where = at(mark);
    leaf(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node node;
    node.where = at(mark);
    node.quoted = tag == "!";
    node.kind = value.empty() && !node.quoted ? Kind::null : Kind::scalar;
    if (!node.quoted && (value == "~" || value == "null")) node.kind = Kind::null;
    node.scalar = value;
    leaf(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Stop{error_at(at(mark), "an alias is inside the node that it names",
                          "an anchor may be used behind its node only: &a [1, 2] ... *a")};
    count(mark, size_of(found->second));
    if (open_.size() + depth_of(found->second) > max_depth) throw too_deep(mark);
    place(found->second);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Kind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Kind::map);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  SourceLocation at(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  Stop too_deep(const YAML::Mark& mark) const { return {too_deep_at(at(mark))}; }

  void count(const YAML::Mark& mark, std::size_t more) {
    nodes_ += more;
    if (nodes_ > max_nodes)
      throw Stop{error_at(at(mark), "more than " + std::to_string(max_nodes) + " values in one file, aliases expanded",
                          "each use of an alias counts as often as it is written")};
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    report(
        error_at(at(mark), "tag '" + tag + "' is not supported", "remove it: every key knows the type of its value"));
  }

  void report(Diagnostic diagnostic) {
    if (diagnostics_.size() >= max_reported)
      throw Stop{error_at(diagnostic.where, "too many errors: the rest is not read")};
    diagnostics_.push_back(std::move(diagnostic));
  }

  bool wants_key() const { return !open_.empty() && open_.back().node.kind == Kind::map && !open_.back().key; }

  void take_key(const Node& node) {
    Open& map = open_.back();
    if (node.kind == Kind::null && node.scalar.empty()) report(error_at(node.where, "a key is empty"));
    map.key = node.scalar;
    map.key_where = node.where;
    map.skip_value = !map.keys.insert(node.scalar).second;
    if (!map.skip_value) return;
    Diagnostic duplicate = error_at(node.where, "duplicate key '" + node.scalar + "'", "keep one of the two");
    for (std::size_t i = 0; i < map.node.entries.size(); ++i)
      if (map.node.entries[i].first == node.scalar)
        duplicate.notes.push_back("the first is in line " + std::to_string(map.node.key_where[i].line));
    report(std::move(duplicate));
  }

  void leaf(Node node, YAML::anchor_t anchor) {
    ++nodes_;
    if (nodes_ > max_nodes) count({}, 0);
    if (anchor != 0) anchors_[anchor] = node;
    place(std::move(node));
  }

  void place(Node node) {
    if (wants_key()) {
      if (node.kind == Kind::list || node.kind == Kind::map)
        throw Stop{error_at(node.where, "a key must be plain text", "quote text that holds '{' or '[': \"{C}\"")};
      take_key(node);
      return;
    }
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Kind::list) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    if (!parent.skip_value) {
      if (node.kind == Kind::null && node.scalar.empty()) node.where = parent.key_where;  // it has no place of its own
      parent.node.entries.emplace_back(*parent.key, std::move(node));
      parent.node.key_where.push_back(parent.key_where);
    }
    parent.key.reset();
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    refuse_tag(mark, tag);
    count(mark, 1);
    if (open_.size() >= max_depth) throw too_deep(mark);
    if (wants_key())
      throw Stop{error_at(at(mark), "a key must be plain text", "quote text that begins with '{' or '[': \"{C}\"")};
    Open open;
    open.node.kind = kind;
    open.node.where = at(mark);
    open.anchor = anchor;
    open_.push_back(std::move(open));
  }

  void end() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.anchor != 0) anchors_[closed.anchor] = closed.node;
    place(std::move(closed.node));
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
};

/// The location of a byte, and its line with unprintable bytes as '?'. `offset` may be the text's end.
Diagnostic at_byte(const std::string& text, std::size_t offset, const std::string& file, std::string message,
                   std::string hint) {
  const std::size_t before = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  Diagnostic found = error_at({file, static_cast<int>(lines) + 1, static_cast<int>(offset - begin) + 1},
                              std::move(message), std::move(hint));
  found.source_line = text.substr(begin, std::min(text.find('\n', offset), begin + 4096) - begin);
  for (char& c : found.source_line)
    if (c < 0x20 || c == 0x7f) c = '?';
  return found;
}

Diagnostic too_long(const std::string& text, const std::string& file, std::size_t most) {
  return at_byte(text, most, file, "the file has more than " + std::to_string(most) + " bytes",
                 most == max_bytes ? "split it; a hardware file names its parts in 'extends'" : "");
}

/// Unclosed brackets cost yaml-cpp quadratic time. Text in quotes and comments counts too, so the limit here is beyond
/// any description; the Builder counts exactly.
std::optional<std::size_t> far_too_deep(const std::string& text) {
  constexpr int unreasonable = 1000;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++open;
    if ((text[i] == ']' || text[i] == '}') && open > 0) --open;
    if (open > unreasonable) return i;
  }
  return std::nullopt;
}

std::optional<Diagnostic> refuse_binary(const std::string& text, const std::string& file) {
  if (text.size() > max_bytes) return too_long(text, file, max_bytes);
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    const std::size_t length = control ? 0 : utf8_length(text, i);
    if (length == 0) {
      Diagnostic found = at_byte(text, i, file, "not a text file (byte " + std::to_string(i) + " is no UTF-8 text)",
                                 "save the file as UTF-8 text");
      found.source_line = found.source_line.substr(0, static_cast<std::size_t>(found.where.column) - 1) + "?";
      return found;
    }
    i += length;
  }
  if (const auto deep = far_too_deep(text)) {
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*deep), '\n');
    const std::size_t before = text.rfind('\n', *deep);
    return too_deep_at({file, static_cast<int>(line) + 1,
                        static_cast<int>(*deep - (before == std::string::npos ? 0 : before + 1)) + 1});
  }
  return std::nullopt;
}

/// A hint, by yaml-cpp's message and the text there.
std::string hint_for(const YAML::Exception& e, const std::string& text) {
  const auto says = [&](const char* words) { return e.msg.find(words) != std::string::npos; };
  if (says("anchor is not defined"))
    return "write &NAME before the node that *NAME repeats; text that begins with '*' is quoted";
  const std::size_t at = std::min(static_cast<std::size_t>(std::max(e.mark.pos, 0)), text.size());
  const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const std::size_t word = text.find_first_not_of(" \t", begin);
  const std::size_t tab = text.find('\t', begin);
  if (says("tab") || (word != std::string::npos && tab < word))
    return "indent with spaces: YAML does not allow tabs there";
  if (says("end of sequence flow") || says("end of map flow")) return "is a bracket not closed, or a comma missing?";
  return "text that holds ': ', '#', '{' or '[' must be quoted";
}

/// `{name: x_${t}}`: inside brackets the brace of a parameter ends the text. Reported at its beginning.
std::optional<Diagnostic> parameter_without_quotes(const YAML::Exception& e, const std::string& text,
                                                   const std::string& file) {
  const auto at = static_cast<std::size_t>(std::max(e.mark.pos, 0));
  if (at == 0 || at >= text.size() || text[at] != '{' || text[at - 1] != '$') return std::nullopt;
  const std::size_t before = text.find_last_of(" \t\n,:[{", at - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::size_t end = begin;
  for (bool inside = false; end < text.size(); ++end) {  // the word, with all of its parameters
    if (!inside && std::string(" \t\n,]}").find(text[end]) != std::string::npos) break;
    if (text[end] == '\n') break;
    if (text[end] == '{') inside = true;
    if (text[end] == '}') inside = false;
  }
  return at_byte(text, begin, file, "text that holds '${' must be quoted inside { } and [ ]",
                 "write \"" + text.substr(begin, end - begin) + "\"");
}

}  // namespace

std::optional<Node> parse_text(const std::string& text, const std::string& file, Diagnostics& problems) {
  if (auto binary = refuse_binary(text, file)) {
    problems.push_back(std::move(*binary));
    return std::nullopt;
  }
  Diagnostics diagnostics;
  Builder builder(file, diagnostics);
  bool complete = true;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop& stop) {
    diagnostics.push_back(stop.why);
    complete = false;
  } catch (const YAML::Exception& e) {
    if (auto unquoted = parameter_without_quotes(e, text, file))
      diagnostics.push_back(std::move(*unquoted));
    else
      diagnostics.push_back(error_at({file, e.mark.line + 1, e.mark.column + 1}, "YAML: " + e.msg, hint_for(e, text)));
    complete = false;
  }
  const Source source(diagnostics.empty() ? "" : text);
  for (Diagnostic& diagnostic : diagnostics) {
    source.attach(diagnostic);
    problems.push_back(std::move(diagnostic));
  }
  if (!complete) return std::nullopt;
  return std::move(builder.root);
}

Result<Node> parse_text(const std::string& text, const std::string& file) {
  Diagnostics problems;
  auto root = parse_text(text, file, problems);
  if (!problems.empty()) return problems;
  return std::move(*root);
}

namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// Sorted, some thousand of them; nothing: there is no folder.
std::optional<std::vector<std::string>> files_beside(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code ended;
  for (std::filesystem::directory_iterator at(folder_of(path), ended), end; !ended && at != end && names.size() < 4096;
       at.increment(ended))
    if (std::error_code unknown; !at->is_directory(unknown)) names.push_back(at->path().filename().string());
  if (ended) return std::nullopt;
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string similar_file(const std::string& path) {
  const auto names = path == "-" ? std::nullopt : files_beside(path);
  const std::string near = names ? nearest(std::filesystem::path(path).filename().string(), *names) : "";
  return near.empty() ? "" : (std::filesystem::path(path).parent_path() / near).string();
}

std::string nearest_file(const std::string& path) {
  if (path == "-") return "/dev/stdin is the standard input; a file of this name is ./-";
  const std::filesystem::path given(path);
  const std::filesystem::path folder = folder_of(given);
  const auto names = files_beside(given);
  if (!names) return "there is no folder '" + folder.string() + "'";
  if (const std::string near = similar_file(path); !near.empty()) return "did you mean '" + near + "'?";
  constexpr std::size_t shown = 4;
  std::string alike;
  std::size_t count = 0;
  for (const std::string& name : *names)
    if (std::filesystem::path(name).extension() == given.extension() && ++count <= shown)
      alike += (alike.empty() ? "" : ", ") + name;
  const std::string where = folder == "." ? "the current folder" : "'" + folder.string() + "'";
  if (count == 0 && !given.has_extension()) return where + " has no file without an extension";
  if (count == 0) return where + " has no file that ends in '" + given.extension().string() + "'";
  return where + " has " + alike + (count > shown ? ", ..." : "");
}

Result<std::string> read_text_file(const std::string& path, std::size_t most) {
  const auto cannot = [&](const std::string& why, const std::string& hint = "") {
    return error_at({path, 0, 0}, "cannot read the file: " + why, hint);
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return cannot("it is a folder");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    const bool missing = errno == ENOENT;
    std::string why = errno == 0 ? "it cannot be opened" : std::strerror(errno);
    why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    return cannot(why, missing ? nearest_file(path) : "");
  }
  std::string text;
  for (char block[16384]; text.size() <= most && stream;) {
    stream.read(block, sizeof block);
    text.append(block, static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad() || !(stream || stream.eof())) return cannot("reading stopped before its end");
  if (text.size() > most) return too_long(text, path, most);
  return text;
}

Result<Node> parse_file(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.diagnostics();
  return parse_text(*text, path);
}

Source::Source(std::string text) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines_.push_back(std::move(line));
  }
}

void Source::attach(Diagnostic& diagnostic) const {
  const auto line = static_cast<std::size_t>(diagnostic.where.line);
  if (diagnostic.where.line > 0 && line <= lines_.size()) diagnostic.source_line = lines_[line - 1];
}

// Line breaks and indentation of the file differ from the value's; the other characters are the same, in order, unless
// escaped. A space has the location of the character after it.
std::vector<SourceLocation> Source::places(const Node& scalar) const {
  auto line = static_cast<std::size_t>(std::max(scalar.where.line - 1, 0));
  auto column = static_cast<std::size_t>(std::max(scalar.where.column - 1, 0));
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  const auto ended = [&] { return line >= lines_.size() || column >= lines_[line].size(); };
  if (scalar.quoted && !ended()) {
    const bool block = lines_[line][column] == '|' || lines_[line][column] == '>';
    column = block ? 0 : column + 1;
    line += block ? 1 : 0;
  }
  std::vector<SourceLocation> result;
  const auto fill_up_to = [&](std::size_t size) {
    result.resize(size, {scalar.where.file, static_cast<int>(line) + 1, static_cast<int>(column) + 1});
  };
  for (std::size_t i = 0; i < scalar.scalar.size(); ++i) {
    if (is_space(scalar.scalar[i])) continue;
    while (line < lines_.size() && (ended() || is_space(lines_[line][column])))
      if (ended())
        ++line, column = 0;
      else
        ++column;
    if (ended() || lines_[line][column] != scalar.scalar[i]) break;
    fill_up_to(i + 1);
    ++column;
  }
  fill_up_to(scalar.scalar.size() + 1);
  return result;
}

}  // namespace isamap::yaml
