// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace isamap {
namespace {

constexpr const char* style = R"(<style>
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1200px;padding:0 1em;color:#1c2430;background:#fff}
h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em}table{border-collapse:collapse;font-size:13px}
th,td{padding:3px 9px;border-bottom:1px solid #dde3ea;text-align:left}td.n{text-align:right;font-variant-numeric:tabular-nums}
.bad{color:#b3261e;font-weight:600}.good{color:#1b7a3d}.wide{overflow-x:auto}small{color:#5c6775}
figure{display:inline-block;margin:1em 1.5em 1em 0;vertical-align:top}figcaption{font-size:12px;color:#5c6775;max-width:360px}
pre{background:#f4f6f9;padding:8px;font-size:12px;overflow-x:auto}svg text{font:11px system-ui,sans-serif}
</style>
)";

constexpr double bar_height = 9, label_width = 210, bar_width = 200;

std::string legend_row(const std::vector<std::string>& legend) {
  std::string svg;
  double x = label_width;
  for (std::size_t i = 0; i < legend.size(); ++i) {
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"3\" width=\"9\" height=\"9\" fill=\"{}\"/><text x=\"{:.0f}\" y=\"12\">{}</text>", x,
        colours[i % colour_count], x + 13, escaped(legend[i]));
    x += 30 + 7 * static_cast<double>(legend[i].size());
  }
  return svg;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  return out;
}

std::string cell(const std::string& text, bool number) {
  return fmt::format("<td{}>{}</td>", number ? " class=n" : "", escaped(text));
}

std::string page(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>" + escaped(title) + "</title>\n" + style +
         "</head><body>\n<h1>" + escaped(title) + "</h1>\n" + body + "</body></html>\n";
}

std::string bar_figure(const std::vector<BarGroup>& groups, const std::vector<std::string>& legend,
                       const std::string& caption) {
  const double top = legend.empty() ? 4 : 20;
  double y = top;
  std::string svg;
  for (const BarGroup& group : groups) {
    svg += fmt::format("<text x=\"0\" y=\"{:.0f}\">{}</text>", y + bar_height, escaped(group.label));
    for (std::size_t b = 0; b < group.bars.size(); ++b, y += bar_height + 1) {
      const double length = std::max(1.0, bar_width * std::clamp(group.bars[b].length, 0.0, 1.0));
      svg += fmt::format(
          "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"{2:.1f}\" height=\"{3:.0f}\" fill=\"{4}\"/>"
          "<text x=\"{5:.1f}\" y=\"{6:.0f}\">{7}</text>",
          label_width, y, length, bar_height, colours[b % colour_count], label_width + length + 5, y + bar_height - 0.5,
          escaped(group.bars[b].text));
    }
    y += 6;
  }
  return fmt::format("<figure><svg role=\"img\" width=\"520\" height=\"{0:.0f}\" viewBox=\"0 0 520 {0:.0f}\">", y + 4) +
         legend_row(legend) + svg + "</svg><figcaption>" + escaped(caption) + "</figcaption></figure>\n";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class=\"wide\"><table><tr>";
  for (const std::string& title : rows.front()) html += "<th>" + escaped(title) + "</th>";
  html += "</tr>\n";
  for (std::size_t r = 1; r < rows.size(); ++r) {
    html += "<tr>";
    for (const std::string& text : rows[r])
      html += cell(text, !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace isamap
