// SPDX-License-Identifier: Apache-2.0
#include "report/stream_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/html.h"
#include "support/table.h"

namespace isamap {
namespace {

using TableRows = std::vector<std::vector<std::string>>;

std::string cycles_text(double cycles) { return cycles == 0 ? "" : fmt::format("{:.0f}", cycles); }

/// Simulated over predicted.
std::string ratio_text(double simulated, double predicted) {
  return simulated == 0 || predicted == 0 ? "" : fmt::format("{:.2f}", simulated / predicted);
}

double all_of(const StreamCycles& cycles) { return cycles.commands + cycles.host; }

std::vector<std::size_t> longest_first(const StreamFacts& facts) {
  std::vector<std::size_t> order(facts.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return all_of(facts.parts[a].simulated) > all_of(facts.parts[b].simulated);
  });
  return order;
}

TableRows part_rows(const StreamReport& report, const std::vector<std::size_t>& parts) {
  TableRows rows{{"part", "executed by", "cycles", "predicted", "ratio", "of the host", "predicted", "commands"}};
  for (const std::size_t p : parts) {
    const PartFacts& part = report.facts.parts[p];
    const std::int64_t commands = p < report.run.parts.size() ? report.run.parts[p].simulated.commands : 0;
    rows.push_back({report.compiled.parts[p].name, std::string(name(part.by)), cycles_text(part.simulated.commands),
                    cycles_text(part.predicted.commands), ratio_text(part.simulated.commands, part.predicted.commands),
                    cycles_text(part.simulated.host), cycles_text(part.predicted.host),
                    cycles_text(static_cast<double>(commands))});
  }
  return rows;
}

TableRows memory_rows(const StreamReport& report) {
  TableRows rows{{"memory", "bytes read", "bytes written"}};
  for (const auto& [memory, bytes] : report.run.simulated.memories)
    rows.push_back({memory, std::to_string(bytes.read), std::to_string(bytes.written)});
  return rows;
}

TableRows link_rows(const StreamReport& report) {
  TableRows rows{{"link", "bytes"}};
  for (const auto& [link, bytes] : report.run.simulated.link_bytes) rows.push_back({link, std::to_string(bytes)});
  return rows;
}

TableRows port_rows(const StreamReport& report) {
  TableRows rows{{"unit", "port", "busy cycles", "utilisation"}};
  for (const PortUse& use : report.facts.ports)
    rows.push_back({use.unit, use.count > 1 ? fmt::format("{} x {}", use.count, use.port) : use.port,
                    std::to_string(use.busy), fmt::format("{:.1f} %", 100 * use.utilisation)});
  return rows;
}

std::string summary(const StreamFacts& facts) {
  std::string text =
      fmt::format("{:.0f} cycles of commands, {:.0f} predicted", facts.simulated.commands, facts.predicted.commands);
  if (const std::string ratio = ratio_text(facts.simulated.commands, facts.predicted.commands); !ratio.empty())
    text += fmt::format(" ({} of it)", ratio);
  if (facts.simulated.host > 0 || facts.predicted.host > 0)
    text += fmt::format("; {:.0f} cycles of the host, {:.0f} predicted", facts.simulated.host, facts.predicted.host);
  return text + fmt::format("; {} of {} parts on the host alone", facts.host_parts, facts.parts.size());
}

/// Equal parts are said once.
TableRows host_rows(const StreamReport& report) {
  TableRows rows{{"part", "statement on the host", "why"}};
  for (std::size_t p = 0; p < report.facts.parts.size(); ++p) {
    if (report.compiled.parts[p].same_as != p) continue;
    const auto equal = std::count_if(report.compiled.parts.begin(), report.compiled.parts.end(),
                                     [&](const CompiledPart& part) { return part.same_as == p; });
    const std::string name = report.compiled.parts[p].name + (equal > 1 ? fmt::format(" and {} more", equal - 1) : "");
    const std::size_t first = rows.size();
    for (const ScalarCode& code : report.facts.parts[p].on_host) {
      const std::string why = code.reasons.empty() ? "no instruction was considered" : code.reasons.front();
      if (rows.size() > first && rows.back()[2] == why)
        rows.back()[1] += ", " + code.statement;
      else
        rows.push_back({name, code.statement, why});
    }
  }
  return rows;
}

/// Equal parts are said once.
TableRows kept_rows(const StreamReport& report) {
  TableRows rows{{"part", "stays on the machine", "in", "bytes at a time"}};
  for (std::size_t p = 0; p < report.facts.parts.size(); ++p)
    if (report.compiled.parts[p].same_as == p)
      for (const ResidentTensor& kept : report.facts.parts[p].kept)
        rows.push_back({report.compiled.parts[p].name, kept.tensor, kept.memory,
                        kept.bytes == 0 ? "" : std::to_string(kept.bytes)});
  return rows;
}

}  // namespace

std::string stream_text(const StreamReport& report, bool all) {
  std::vector<std::size_t> parts = longest_first(report.facts);
  if (all)
    std::sort(parts.begin(), parts.end());
  else
    parts.resize(std::min<std::size_t>(parts.size(), 5));
  std::string text = "  " + summary(report.facts) + "\n\n" + table(part_rows(report, parts));
  for (const TableRows& rows : {memory_rows(report), link_rows(report), port_rows(report)}) text += "\n" + table(rows);
  if (const TableRows kept = kept_rows(report); kept.size() > 1) text += "\n" + table(kept);
  std::string left;
  const TableRows host = host_rows(report);
  for (std::size_t r = 1; r < host.size(); ++r)
    left += fmt::format("  {}: {}: {}\n", host[r][0], host[r][1], host[r][2]);
  if (!left.empty()) text += "\nleft to the host:\n" + left;
  return text;
}

std::string stream_section(const StreamReport& report) {
  std::vector<std::size_t> parts(report.facts.parts.size());
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  std::string text = "<h2>On the machine</h2><p>" + summary(report.facts) +
                     ".</p><p>Cycles of a part are those by which the last result comes later: commands of a part run "
                     "while those of the part before it end.</p>";
  for (const TableRows& rows : {part_rows(report, parts), memory_rows(report), link_rows(report), port_rows(report)})
    text += html_table(rows);
  if (const TableRows kept = kept_rows(report); kept.size() > 1) text += html_table(kept);
  if (const TableRows host = host_rows(report); host.size() > 1) text += "<h2>Left to the host</h2>" + html_table(host);
  return text;
}

}  // namespace isamap
