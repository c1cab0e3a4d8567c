// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "isamap/result.h"

namespace isamap {

namespace {

std::string place(const SourceLocation& where) {
  if (where.file.empty()) return "";
  std::string text = where.file + ":";
  if (where.line > 0) text += std::to_string(where.line) + ":";
  if (where.line > 0 && where.column > 0) text += std::to_string(where.column) + ":";
  return text + " ";
}

// The caret line repeats tabs of the source line so that the caret stands below its column.
std::string caret_line(const std::string& source_line, int column) {
  std::string indent;
  for (int i = 0; i + 1 < column && i < static_cast<int>(source_line.size()); ++i)
    indent += source_line[static_cast<std::size_t>(i)] == '\t' ? '\t' : ' ';
  return indent + "^";
}

constexpr int shown_columns = 120;

bool inside_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

/// The source line and below it the caret; of a long line the part around the caret. UTF-8 characters stay whole.
std::string quoted(const std::string& line, int column) {
  std::size_t first = 0, last = line.size();
  if (line.size() > shown_columns) {
    const std::size_t at = std::min(line.size(), static_cast<std::size_t>(std::max(column - 1, 0)));
    first = std::min(at - std::min<std::size_t>(at, shown_columns / 2), line.size() - shown_columns);
    last = first + shown_columns;
    while (inside_character(line, first)) ++first;
    while (inside_character(line, last)) ++last;
  }
  const std::string before = first > 0 ? "..." : "", after = last < line.size() ? "..." : "";
  const std::string part = before + line.substr(first, last - first) + after;
  std::string text = "    " + part + "\n";
  if (column > 0)
    text += "    " + caret_line(part, column - static_cast<int>(first) + static_cast<int>(before.size())) + "\n";
  return text;
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string text = place(diagnostic.where);
  if (diagnostic.severity == Severity::warning) text += "warning: ";
  text += diagnostic.message + "\n";
  if (!diagnostic.source_line.empty()) text += quoted(diagnostic.source_line, diagnostic.where.column);
  for (const std::string& note : diagnostic.notes) text += "  note: " + note + "\n";
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return text;
}

std::string render(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += render(diagnostic);
  return text;
}

Diagnostic error(std::string message, std::string hint) { return error_at({}, std::move(message), std::move(hint)); }

Diagnostic error_at(SourceLocation where, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.where = std::move(where);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

bool has_errors(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::error; });
}

}  // namespace isamap
