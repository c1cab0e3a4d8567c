// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to the reading of one instruction: the entry, and data shared by its parts.

#include "hwdesc/load/fields.h"
#include "ir/text/parse.h"

namespace isamap::loader {

struct Reading {
  const Entry& entry;
  Fields& map;
  std::string what;  ///< "instruction 'fma_${t}'"
  Context& context;
  Instruction instruction;
  std::vector<ParsedStatement> statements;
  std::map<std::string, DimRange> dims;
  bool broken = false;  ///< the statement cannot be bound; the rest is still read

  /// As of `map`; a value of another form makes the instruction unreadable.
  const Node* child(const char* key) {
    const Node* value = map.child(key);
    broken = broken || (!value && map.has(key));
    return value;
  }
  std::optional<std::string> word(const char* key, const std::string& hint) {
    auto value = map.word(key, hint);
    broken = broken || (!value && map.has(key));
    return value;
  }

  Problems& problems() const { return context.problems; }
  void fail(const SourceLocation& where, std::string message, std::string hint = "",
            std::vector<std::string> notes = {}) {
    problems().error(where, std::move(message), std::move(hint), std::move(notes));
    broken = true;
  }
};

/// `compute`, `dims` and `operands`: the instruction's statement on its memories (load_statement.cpp).
void read_statement(Reading& r);
/// Conditions that every use must satisfy (load_legal.cpp).
void read_legal(const Node& node, Reading& r);
const DimRange* range_of(const Reading& r, const std::string& dim);

}  // namespace isamap::loader
