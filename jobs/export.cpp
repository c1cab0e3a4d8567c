// SPDX-License-Identifier: Apache-2.0
#include "jobs/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>

namespace isamap::jobs {
namespace {

using Json = nlohmann::json;

/// Calls `visit` with every record's place, in the order of the files.
template <class Visit>
Diagnostics each_line(const JobStore& store, const Visit& visit) {
  std::vector<Place> places;
  for (const auto& [key, known] : store.jobs())
    for (const std::vector<Place>* list : {&known.ok, &known.wrong, &known.failed})
      places.insert(places.end(), list->begin(), list->end());
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return std::tie(a.file, a.offset) < std::tie(b.file, b.offset); });
  for (const Place& place : places) {
    const auto line = store.line(place);
    if (!line) return line.diagnostics();
    visit(*line);
  }
  return {};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

Result<Merged> merge(const std::vector<JobStore*>& from, JobStore& to) {
  std::unordered_set<std::string> there;
  Merged sum;
  Diagnostics problems = each_line(to, [&](const std::string& line) { there.insert(line); });
  std::string fresh;
  for (const JobStore* store : from) {
    for (const std::string& hash : store->blobs()) {
      const auto text = store->get(hash);
      if (!text) {
        sum.damaged.push_back(text.diagnostics().front());
        sum.damaged.back().severity = Severity::warning;
        continue;
      }
      if (const auto put = to.put(*text); !put) return put.diagnostics();
      ++sum.texts;
    }
    const Diagnostics more = each_line(*store, [&](const std::string& line) {
      ++sum.records;
      if (!there.insert(line).second) return;
      ++sum.new_records;
      fresh += line + "\n";
    });
    problems.insert(problems.end(), more.begin(), more.end());
  }
  if (has_errors(problems)) return problems;
  if (!fresh.empty())
    if (const Diagnostics failed = to.append_lines(fresh); has_errors(failed)) return failed;
  return sum;
}

Result<std::vector<Row>> rows_of(const JobStore& store) {
  std::vector<Row> rows;
  Diagnostics problems;
  const Diagnostics failed = each_line(store, [&](const std::string& line) {
    const auto record = parse_record(line);
    if (!record) return;
    const auto job = job_of(record->job);
    rows.push_back({record->key, job ? job->verb : "", job ? job->name : "", std::string(name(record->end)),
                    record->by.host, record->by.device, record->by.isamap, record->job, record->result,
                    record->end == End::ok ? "" : text_of(record->failure), record->attempt, record->seconds});
  });
  if (has_errors(failed)) return failed;
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.key, a.end, a.attempt) < std::tie(b.key, b.end, b.attempt);
  });
  return rows;
}

Result<std::string> lines(const JobStore& store) {
  std::string text;
  const Diagnostics failed = each_line(store, [&](const std::string& line) { text += line + "\n"; });
  if (has_errors(failed)) return failed;
  return text;
}

Result<std::string> sorted_lines(const JobStore& store) {
  std::string text;
  for (const auto& [key, known] : store.jobs()) {
    const auto& list = !known.wrong.empty() ? known.wrong : !known.ok.empty() ? known.ok : known.failed;
    std::set<std::string> variants;
    for (const Place& place : list) {
      const auto record = store.read(place);
      if (!record) return record.diagnostics();
      variants.insert(fmt::format("{{\"key\":\"{}\",\"end\":\"{}\",\"job\":{},\"result\":{}}}\n", key,
                                  name(record->end), record->job, record->result));
    }
    for (const std::string& one : variants) text += one;
  }
  return text;
}

std::string csv(const std::vector<Row>& rows, bool sorted) {
  if (sorted) {
    std::set<std::string> lines_of_jobs;
    for (const Row& r : rows)
      lines_of_jobs.insert(fmt::format("{},{},{},{},{},{}\n", r.key, quoted(r.verb), quoted(r.name), r.end,
                                       quoted(r.result), quoted(r.job)));
    std::string text = "key,verb,name,end,result,job\n";
    for (const std::string& line : lines_of_jobs) text += line;
    return text;
  }
  std::string text = "key,verb,name,end,attempt,host,device,isamap,seconds,result,failure,job\n";
  for (const Row& r : rows)
    text += fmt::format("{},{},{},{},{},{},{},{},{:.6f},{},{},{}\n", r.key, quoted(r.verb), quoted(r.name), r.end,
                        r.attempt, quoted(r.host), r.device, r.isamap, r.seconds, quoted(r.result), quoted(r.failure),
                        quoted(r.job));
  return text;
}

}  // namespace isamap::jobs
