// SPDX-License-Identifier: Apache-2.0
// Trials of a store as comma-separated values (RFC 4180).

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/trial_store.h"
#include "report/lab_report.h"

namespace isamap {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

/// Features of one statement; none of illegal points.
std::string cells(const std::string& features, std::size_t count) {
  const auto json = nlohmann::json::parse(features, nullptr, false);
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += json.is_array() && i < json.size() ? fmt::format(",{}", json[i].get<double>()) : ",";
  return text;
}

}  // namespace

Result<std::string> store_csv(const std::string& path, std::int64_t run_number, bool features) {
  const auto store = lab::TrialStore::open(path, false);
  if (!store) return store.diagnostics();
  const auto run = store->run(run_number);
  if (!run) return run.diagnostics();
  const auto trials = store->trials(run->id);
  if (!trials) return trials.diagnostics();
  // Features differ between statements: only those common to all statements have a column.
  const auto names = nlohmann::json::parse(run->features, nullptr, false);
  std::size_t columns = 0;
  std::string text = "run,statement,trial,objective,cycles,energy_pJ,bytes,measured,checked,problem,point";
  if (features && names.is_array() && !names.empty()) {
    columns = names[0].size();
    for (const auto& other : names)
      for (std::size_t i = 0; i < columns; ++i)
        if (i >= other.size() || other[i] != names[0][i]) columns = i;
    for (std::size_t i = 0; i < columns; ++i) text += "," + quoted(names[0][i].get<std::string>());
  }
  text += "\n";
  for (const lab::TrialRecord& t : *trials) {
    const bool legal = !t.schedule.empty();
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}", run->id, t.statement, t.number,
                        legal ? fmt::format("{}", t.objective) : "", legal ? fmt::format("{}", t.cycles) : "",
                        legal ? fmt::format("{}", t.energy_pJ) : "", legal ? fmt::format("{}", t.bytes) : "",
                        t.measured ? fmt::format("{}", *t.measured) : "", t.verdict == RunVerdict::correct ? 1 : 0,
                        quoted(t.problem), quoted(t.point));
    text += cells(t.features, columns) + "\n";
  }
  return text;
}

}  // namespace isamap
