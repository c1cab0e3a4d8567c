// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strict YAML: every node knows its line and column, duplicate keys are errors, scalars keep their text (`010` is not
// 8, `no` is not false) until the reader of a key converts it. yaml.cpp is the only file that includes yaml-cpp.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isamap/result.h"

namespace isamap::yaml {

enum class Kind { null, scalar, list, map };

struct Node {
  Kind kind = Kind::null;
  std::string scalar;
  bool quoted = false;
  std::vector<Node> items;                            ///< list
  std::vector<std::pair<std::string, Node>> entries;  ///< map, in file order, keys unique
  std::vector<SourceLocation> key_where;              ///< map: location of each key
  SourceLocation where;

  Node() noexcept;  ///< not in the class: Clang would need the pairs of `entries` before the class is complete
  const Node* find(const std::string& key) const;
};

/// Limits: 4 MiB of text, nesting 64, 200 000 nodes, no aliases that expand beyond that. Binary input is an error.
Result<Node> parse_text(const std::string& text, const std::string& file);
/// Adds problems to `problems`. Returns a node in spite of problems that leave the text readable, a duplicate key (the
/// first counts) or a tag, so that one run reports problems of values too.
std::optional<Node> parse_text(const std::string& text, const std::string& file, Diagnostics& problems);
Result<Node> parse_file(const std::string& path);
/// A file of the same folder, with a similar name; empty: none is near.
std::string similar_file(const std::string& path);
/// The hint for a file that does not exist: "did you mean 'gemm.yaml'?", or what its folder has.
std::string nearest_file(const std::string& path);
/// The bytes of a file, at most `most`.
Result<std::string> read_text_file(const std::string& path, std::size_t most = std::size_t{4} << 20);

/// The lines of a parsed text: for the source line of a diagnostic, and for locations inside long scalars.
class Source {
 public:
  Source() = default;
  explicit Source(std::string text);
  void attach(Diagnostic& diagnostic) const;  ///< fills source_line from where.line
  /// The location of each character of a scalar's text and of its end, also over several lines.
  std::vector<SourceLocation> places(const Node& scalar) const;

 private:
  std::vector<std::string> lines_;
};

/// Reads one map: typed getters that record each problem and continue; `finish` reports unread keys with the nearest
/// known key as a hint.
class MapReader {
 public:
  MapReader(const Node& node, std::string what, Diagnostics& diagnostics);

  bool has(const std::string& key) const;
  const Node* child(const std::string& key);     ///< marks it as read
  const Node* required(const std::string& key);  ///< a missing key is reported
  std::optional<std::string> text(const std::string& key, bool is_required = false);
  std::optional<std::int64_t> integer(const std::string& key, bool is_required = false);
  std::optional<double> real(const std::string& key);
  std::optional<bool> boolean(const std::string& key);     ///< true or false only
  std::vector<std::string> texts(const std::string& key);  ///< list of scalars; one scalar is a list of one

  void finish();
  /// The same where the known keys are not those that were read. Keys of `reserved` are "not supported yet".
  void report_unknown(const std::vector<std::string>& known, const std::vector<std::string>& reserved);
  const std::string& what() const { return what_; }
  const Node& node() const { return node_; }

 private:
  const Node& node_;
  std::string what_;
  Diagnostics& diagnostics_;
  std::vector<std::string> asked_;
};

/// The message where a map lacks a key: "the kernel file has no 'tensors'".
std::string without_key(std::string_view what, std::string_view key);
std::string kind_text(const Node& node);                   ///< "'8'", "a list", "a map", "nothing": for messages
std::optional<std::int64_t> to_integer(const Node& node);  ///< decimal, 0x.., 0b..; nothing else
std::optional<double> to_real(const Node& node);
/// The candidate at the smallest edit distance (<= 1/3 of the length), or "".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
/// A hint for an unknown name: "did you mean 'vec'?", or all known ones.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace isamap::yaml
