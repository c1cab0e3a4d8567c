// SPDX-License-Identifier: Apache-2.0
#pragma once
// Building blocks of self-contained HTML reports.

#include <string>
#include <vector>

namespace isamap {

/// Escapes text for HTML; names come from untrusted files, so every text must pass here.
std::string escaped(const std::string& text);
/// A table cell; numbers are right-aligned.
std::string cell(const std::string& text, bool number);
/// The complete document; `title` is plain text, `body` is HTML.
std::string page(const std::string& title, const std::string& body);

constexpr const char* colours[] = {"#4878a8", "#d08770", "#6a9f58", "#a978b0", "#c2a33a", "#5aa7a7"};
constexpr std::size_t colour_count = sizeof(colours) / sizeof(colours[0]);

/// One labelled group of horizontal bars: `length` is 0 to 1, the text follows the bar.
struct Bar {
  double length = 0;
  std::string text;
};
struct BarGroup {
  std::string label;
  std::vector<Bar> bars;  ///< bar i has colour i
};
/// A bar chart; `legend` names the colours, `caption` explains the lengths.
std::string bar_figure(const std::vector<BarGroup>& groups, const std::vector<std::string>& legend,
                       const std::string& caption);

/// The first row is the header; cells that begin with a digit are right-aligned.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace isamap
