// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to the loader: reads a map of the file by the rows of its section (hwdesc/keys).
//
// A reader asks for a key by its name; the row says whether it may be missing, of which type it is and in which range.
// A key without a row is a bug of the reader. Keys of the file without a row are reported when the map has been read.

#include <map>
#include <string>

#include "hwdesc/keys/key.h"
#include "hwdesc/load/loader_internal.h"

namespace isamap::loader {

struct OwnDiagnostics {
  Diagnostics own;
};  // a base, so that it lives before and after MapReader

class Fields : private OwnDiagnostics, private yaml::MapReader {
 public:
  /// `what` names the map in messages: "unit 'core'".
  Fields(const Node& node, std::string_view section, std::string what, const Context& context);
  ~Fields();  ///< adds all problems, unknown keys included, to those of the context
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// The keys of a section that extends this one may stand here too.
  void also(std::string_view section);

  using MapReader::has;
  using MapReader::node;
  /// The value; null: it is missing, or a list or a map is asked for and it is none, which is reported.
  const Node* child(std::string_view key);
  void check_there(std::string_view key);      ///< reports that a required key is missing, whatever its value is
  const Node* required(std::string_view key);  ///< needed in this case, though not by its row

  std::optional<std::string> text(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key);
  std::optional<double> real(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  /// One of the words that the row allows.
  /// `synonyms`: other words of the field, and which of the key's words has their meaning.
  std::optional<std::string> word(std::string_view key, const std::string& hint = "",
                                  const std::map<std::string, std::string>& synonyms = {});

  std::optional<std::int64_t> number(std::string_view key);
  std::optional<std::int64_t> size(std::string_view key);  ///< bytes
  /// Bytes per cycle; `word` > 0 allows `words/cycle`.
  std::optional<double> rate(std::string_view key, std::int64_t word = 0);
  std::optional<double> time(std::string_view key);    ///< cycles
  std::optional<double> energy(std::string_view key);  ///< pJ, or pJ/B
  /// Cycles as an expression. `what` names the map in place of its own name.
  std::optional<IntExpr> cycles(std::string_view key, const std::string& what);

 private:
  /// The row, which is noted as read.
  const keys::Key& row(std::string_view key);
  /// The same, of a row of this type.
  const keys::Key& row(std::string_view key, std::string_view type);
  const Node* found(const keys::Key& row);
  std::string about(std::string_view key) const;

  std::vector<const keys::Section*> sections_;
  const Context& context_;
};

/// A value of the file's outermost map.
const Node* top_level(const Node& root, std::string_view key, Problems& problems);
/// The row of a value that is read without a Fields.
const keys::Key& row_of(std::string_view section, std::string_view key, Problems& problems);

}  // namespace isamap::loader
