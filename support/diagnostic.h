// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is told to the user about an input: where, what was found, what was expected, what would work.

#include <string>
#include <vector>

namespace isamap {

struct SourceLocation {
  std::string file;  ///< as the user gave it
  int line = 0;      ///< from 1; 0: the whole file
  int column = 0;    ///< from 1; 0: the whole line
  bool operator==(const SourceLocation&) const = default;
};

enum class Severity { error, warning };

/// One problem. `message` is lower case, without a full stop, with names and numbers.
struct Diagnostic {
  SourceLocation where;
  std::string message;
  std::string hint;                ///< what would work; may be empty
  std::vector<std::string> notes;  ///< facts that help: "declared memories: dram, spad"
  std::string source_line;         ///< the line of the file, printed with a caret; may be empty
  Severity severity = Severity::error;
};

using Diagnostics = std::vector<Diagnostic>;

/// `toy.yaml:14:8: operand 'C' names memory 'L2', ...` and, below it, source line, caret, notes and hint.
std::string render(const Diagnostic& diagnostic);
std::string render(const Diagnostics& diagnostics);

/// A diagnostic without a place.
Diagnostic error(std::string message, std::string hint = "");
Diagnostic error_at(SourceLocation where, std::string message, std::string hint = "");

bool has_errors(const Diagnostics& diagnostics);

}  // namespace isamap
