// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every HTML report is made of: one page that needs nothing else.

#include <string>
#include <vector>

namespace isamap {

/// Names come from files of strangers: every text of a page goes through here.
std::string escaped(const std::string& text);
/// A table cell; numbers stand to the right.
std::string cell(const std::string& text, bool number);
/// The whole file; `title` is plain text, `body` is HTML.
std::string page(const std::string& title, const std::string& body);

constexpr const char* colours[] = {"#4878a8", "#d08770", "#6a9f58", "#a978b0", "#c2a33a", "#5aa7a7"};
constexpr std::size_t colour_count = sizeof(colours) / sizeof(colours[0]);

/// Bars beside a label, one above the other: `length` is 0 to 1, the text stands behind the bar.
struct Bar {
  double length = 0;
  std::string text;
};
struct BarGroup {
  std::string label;
  std::vector<Bar> bars;  ///< bar i has colour i
};
/// A figure; `legend` names the colours, `caption` says what the lengths are.
std::string bar_figure(const std::vector<BarGroup>& groups, const std::vector<std::string>& legend,
                       const std::string& caption);

/// The first row holds the titles; what begins with a digit stands on the right.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace isamap
