// SPDX-License-Identifier: Apache-2.0
#include "jobs/job.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

namespace isamap::jobs {
namespace {

using Json = nlohmann::json;  // members sorted: one text for equal values

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Job job_from(const Json& json) {
  Job job;
  job.text = dumped(json);
  job.key = content_key(job.text);
  job.verb = json.at("verb").get<std::string>();
  job.name = json.at("name").get<std::string>();
  job.needs = json.value("needs", job.needs);
  job.after = json.value("after", job.after);
  job.texts = json.value("texts", job.texts);
  job.device = json.value("device", job.device);
  return job;
}

/// One line of a plan after its header. `lines`: of the jobs so far.
Diagnostics read_line(const Json& json, const SourceLocation& where, Plan& plan, std::vector<int>& lines) {
  if (json.contains("text")) {
    const std::string text = json.at("is").get<std::string>();
    if (content_key(text) != json.at("text").get<std::string>())
      return {error_at(where, "a text of the plan is not the one that its hash names", "`isamap plan` writes plans")};
    plan.texts.emplace(json.at("text").get<std::string>(), text);
    return {};
  }
  Job job = job_from(json.at("job"));
  if (job.key != json.at("key").get<std::string>())
    return {error_at(where, fmt::format("a job of the plan was changed: its key is {}", job.key),
                     "`isamap plan` writes plans")};
  for (const std::string& text : job.texts)
    if (!plan.texts.contains(text)) return {error_at(where, fmt::format("the plan lacks the text {}", text))};
  const auto [place, is_new] = plan.places.emplace(job.key, plan.jobs.size());
  if (!is_new)
    return {error_at(where, fmt::format("the job '{}' is in line {} already", job.name, lines[place->second]),
                     "`isamap plan` writes each job once: remove the line, or write the plan again")};
  plan.jobs.push_back(std::move(job));
  lines.push_back(where.line);
  return {};
}

}  // namespace

std::string content_key(std::string_view text) {
  using Wide = unsigned __int128;
  constexpr Wide prime = (Wide{1} << 88) | 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142ULL} << 64) | 0x62b821756295c58dULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64), static_cast<std::uint64_t>(hash));
}

Result<Job> job_of(const std::string& text, const SourceLocation& where) {
  try {
    return job_from(Json::parse(text));
  } catch (const Json::exception& wrong) {
    return error_at(where, fmt::format("is no job: {}", wrong.what()), "`isamap plan` writes jobs");
  }
}

std::string Plan::add_text(const std::string& text) {
  const std::string key = content_key(text);
  texts.emplace(key, text);
  return key;
}

std::string Plan::add(const std::string& json) {
  Job job = job_from(Json::parse(json));
  const std::string key = job.key;
  if (places.emplace(key, jobs.size()).second) jobs.push_back(std::move(job));
  return key;
}

std::string print(const Plan& plan) {
  std::string out = dumped({{"schema_version", record_version},
                            {"kind", "plan"},
                            {"verb", plan.verb},
                            {"jobs", plan.jobs.size()},
                            {"head", Json::parse(plan.head)}}) +
                    "\n";
  for (const auto& [key, text] : plan.texts) out += dumped({{"text", key}, {"is", text}}) + "\n";
  for (const Job& job : plan.jobs) out += fmt::format("{{\"key\":\"{}\",\"job\":{}}}\n", job.key, job.text);
  return out;
}

Result<Plan> parse_plan(const std::string& text, const std::string& file) {
  Plan plan;
  std::vector<int> lines;  // of the jobs
  std::size_t expected = 0;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const SourceLocation where{file, ++number, 0};
    const Json json = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                  text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    at = end + 1;
    try {
      if (number == 1) {
        if (json.is_discarded() && at > text.size() && text.starts_with('{'))
          return error_at(where, "ends within its first line: it was cut off, or is no plan",
                          "write it again with `isamap plan lab|tune|sweep ... -o PLAN`");
        if (!json.is_object() || json.value("kind", "") != "plan")
          return error_at(where, "is no plan: its first line says nothing of a list of jobs",
                          "`isamap plan lab|tune|sweep ... -o PLAN` writes plans");
        if (json.at("schema_version") != record_version)
          return error_at(where, fmt::format("is a plan of version {}; this program reads {}",
                                             json.at("schema_version").dump(), record_version));
        plan.verb = json.at("verb").get<std::string>();
        plan.head = dumped(json.at("head"));
        expected = json.at("jobs").get<std::size_t>();
      } else if (const Diagnostics wrong = read_line(json, where, plan, lines); has_errors(wrong)) {
        return wrong;
      }
    } catch (const Json::exception&) {
      return error_at(where, "is no line of a plan", "each line is one JSON object");
    }
  }
  if (number == 0) return error_at({file, 0, 0}, "is empty", "`isamap plan lab|tune|sweep ... -o PLAN` writes a plan");
  if (plan.jobs.size() != expected)
    return error_at({file, number, 0}, fmt::format("ends after {} of {} jobs", plan.jobs.size(), expected),
                    "it was cut off: write it again with `isamap plan`");
  return plan;
}

std::uint64_t Shard::number_of(const std::string& key) const {
  constexpr std::size_t half = 16;  // digits
  if (key.size() != 2 * half) return 0;
  std::uint64_t high = 0, low = 0;
  std::from_chars(key.data(), key.data() + half, high, 16);
  std::from_chars(key.data() + half, key.data() + 2 * half, low, 16);
  std::uint64_t mixed = high ^ low;  // low bits of the hash alone are poor: finaliser of Steele, Lea, Flood 2014
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return (mixed ^ (mixed >> 31)) % of;
}

Result<Shard> parse_shard(const std::string& text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const auto number = [&](std::size_t from, std::size_t to, std::uint64_t& into) {
    const auto [end, wrong] = std::from_chars(text.data() + from, text.data() + to, into);
    return wrong == std::errc() && end == text.data() + to;
  };
  if (slash == std::string::npos || !number(0, slash, shard.number) || !number(slash + 1, text.size(), shard.of) ||
      shard.of == 0 || shard.number >= shard.of)
    return error(fmt::format("'{}' is no shard: I/N with I from 0 to N-1 is expected", text), "--shard 0/4 .. 3/4");
  return shard;
}

}  // namespace isamap::jobs
