// SPDX-License-Identifier: Apache-2.0
#include "report/suite_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isamap/hardware.h"
#include "mapper/mapping_names.h"
#include "report/html.h"

namespace isamap {
namespace {

using Columns = std::vector<const std::vector<SuiteAnswer>*>;

std::string head(const std::vector<std::string>& titles) {
  std::string html = "<div class=wide><table><tr>";
  for (const std::string& title : titles) html += "<th>" + escaped(title) + "</th>";
  return html + "</tr>\n";
}

std::string first_reason(const SuiteAnswer& answer) {
  if (const std::string why = unprogrammable_reason(answer); !why.empty()) return "not programmable: " + why;
  return answer.reasons.empty() ? "" : answer.reasons.front();
}

std::string problem_row(const SuiteCase& one, std::size_t columns) {
  return "<tr>" + cell(one.name, false) +
         fmt::format("<td class=bad colspan={}>{}</td></tr>\n", columns - 1,
                     escaped(one.problems.empty() ? "" : render(one.problems.front())));
}

std::string row(const SuiteCase& one, const SuiteAnswer& answer) {
  return "<tr>" + cell(one.name, false) + cell(std::to_string(one.times), true) + cell(mappings_cell(answer), true) +
         cell(used_cell(answer), true) + cell(cycles_cell(answer), true) + cell(answer.instruction, false) +
         "<td><small>" + escaped(first_reason(answer)) + "</small></td></tr>\n";
}

std::string row(const SuiteCase& one, const SuiteAnswer& a, const SuiteAnswer& b) {
  const SuiteChange change = change_of(one, a, b);
  const bool good = change.verdict == SuiteChange::Verdict::gains, bad = change.verdict == SuiteChange::Verdict::loses;
  std::string html = "<tr>" + cell(one.name, false);
  for (const auto& text :
       {mappings_cell(a), mappings_cell(b), used_cell(a), used_cell(b), cycles_cell(a), cycles_cell(b)})
    html += cell(text, true);
  html += fmt::format("<td{}>{}</td>", good ? " class=good" : bad ? " class=bad" : "", escaped(change_cell(change)));
  const std::string scalar = scalar_reason(a).empty() ? scalar_reason(b) : scalar_reason(a);
  return html + "<td><small>" +
         escaped(bad    ? first_reason(b)
                 : good ? first_reason(a)
                        : scalar) +
         "</small></td></tr>\n";
}

double most_cycles(const Columns& columns) {
  double most = 2;
  for (const auto* answers : columns)
    for (const SuiteAnswer& answer : *answers) most = std::max(most, answer.cycles);
  return most;
}

/// One chart of utilisation and one of cycles; cases without data are omitted.
std::string pictures(const Suite& suite, const Columns& columns, const std::vector<std::string>& legend) {
  std::vector<BarGroup> used, cycles;
  const double most = std::log(most_cycles(columns));
  for (std::size_t c = 0; c < suite.cases.size(); ++c) {
    if (!suite.cases[c].kernel) continue;
    BarGroup share{suite.cases[c].name, {}}, time = share;
    for (const auto* answers : columns) {
      const SuiteAnswer& answer = (*answers)[c];
      share.bars.push_back({answer.utilisation, used_cell(answer)});
      time.bars.push_back({answer.cycles > 1 ? std::log(answer.cycles) / most : 0, cycles_cell(answer)});
    }
    used.push_back(share);
    cycles.push_back(time);
  }
  return bar_figure(used, legend, "utilisation of the best mapping") +
         bar_figure(cycles, legend, "predicted cycles (logarithmic)");
}

std::string remarks(const Suite& suite, const Columns& columns) {
  std::string html;
  const std::string text = marks_legend(columns) + no_kernels_text(suite);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    html += "<p><small>" + escaped(text.substr(begin, end - begin)) + "</small></p>\n";
    begin = end + 1;
  }
  return html;
}

}  // namespace

std::string html_report(const Coverage& coverage) {
  const Suite& suite = coverage.suite;
  const std::vector<std::string> titles{"kernel", "times", "mappings", "used", "cycles", "instruction", "why not"};
  std::string body =
      fmt::format("<p>rule {}, {}</p>\n<h2>Machine</h2>\n", name(coverage.rule), kernels_that_map(totals_of(coverage)));
  body += svg(coverage.model) + "\n<h2>Kernels</h2>\n" + head(titles);
  for (std::size_t c = 0; c < suite.cases.size(); ++c)
    body +=
        suite.cases[c].kernel ? row(suite.cases[c], coverage.answers[c]) : problem_row(suite.cases[c], titles.size());
  body += "</table></div>\n" + remarks(suite, {&coverage.answers});
  body += "<h2>Pictures</h2>\n" + pictures(suite, {&coverage.answers}, {});
  return page(suite.folder + " on " + coverage.model.name, body);
}

std::string html_report(const Difference& difference) {
  const Suite& suite = difference.suite;
  const SuiteTotals totals = totals_of(difference);
  const std::string a = "a: " + difference.a.name, b = "b: " + difference.b.name;
  const std::vector<std::string> titles{"kernel",   "mappings a", "mappings b", "used a", "used b",
                                        "cycles a", "cycles b",   "change",     "why"};
  std::string body = fmt::format("<p>rule {}; {}; {}, of {}</p>\n", name(difference.rule), gains_and_losses(totals),
                                 machines_that_map(totals), totals.kernels);
  body += "<h2>Kernels</h2>\n" + head(titles);
  for (std::size_t c = 0; c < suite.cases.size(); ++c)
    body += suite.cases[c].kernel ? row(suite.cases[c], difference.on_a[c], difference.on_b[c])
                                  : problem_row(suite.cases[c], titles.size());
  body += "</table></div>\n" + remarks(suite, {&difference.on_a, &difference.on_b});
  body += "<h2>Pictures</h2>\n" + pictures(suite, {&difference.on_a, &difference.on_b}, {a, b});
  body += "<h2>Machines</h2>\n<h3>" + escaped(a) + "</h3>\n" + svg(difference.a) + "\n<h3>" + escaped(b) + "</h3>\n" +
          svg(difference.b) + "\n";
  return page(difference.a.name + " and " + difference.b.name + " on " + suite.folder, body);
}

}  // namespace isamap
