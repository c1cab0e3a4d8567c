// SPDX-License-Identifier: Apache-2.0
#include "jobs/record.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "support/hash.h"

namespace isamap::jobs {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> end_names{"ok", "wrong", "failed"};
constexpr std::string_view before_key = "{\"schema_version\":1,\"key\":\"", before_attempt = "\",\"attempt\":",
                           before_attempts = ",\"attempts\":", before_end = ",\"end\":\"";
constexpr std::string_view before_check = ",\"check\":\"", after_check = "\"}";
constexpr std::size_t key_size = 32, check_size = 16;

bool skip(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

bool skip_number(std::string_view& text, int& number) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return wrong == std::errc();
}

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Of several, what programs end with: the exception behind its traceback. Empty: one line, or a hint of ours.
std::string last_line(const std::string& text) {
  constexpr std::size_t shown = 200;
  const std::size_t end = text.find_last_not_of(" \n");
  const std::size_t before = end == std::string::npos ? end : text.rfind('\n', end);
  if (before == std::string::npos) return "";
  std::string line = text.substr(before + 1, end - before);
  line.erase(0, line.find_first_not_of(' '));
  if (line.starts_with("hint: ") || line.starts_with("note: ")) return "";
  return line.size() > shown ? line.substr(0, shown) + "..." : line;
}

}  // namespace

std::string_view name(End end) { return end_names[static_cast<std::size_t>(end)]; }

std::string text_of(const Failure& failure) {
  std::string text = failure.late          ? "not done within the limit of time"
                     : failure.signal != 0 ? fmt::format("ended by signal {}", failure.signal)
                                           : fmt::format("exit code {}", failure.exit);
  if (failure.text.empty()) return text;
  text += ": " + failure.text.substr(0, failure.text.find('\n'));
  const std::string said = last_line(failure.text);
  return said.empty() ? text : text + "; it said: " + said;
}

std::string line_of(const Record& record) {
  std::string line = fmt::format("{}{}{}{}", before_key, record.key, before_attempt, record.attempt);
  if (record.end == End::failed && record.attempts > 0) line += fmt::format("{}{}", before_attempts, record.attempts);
  line += fmt::format("{}{}\",\"job\":{}", before_end, name(record.end), record.job);
  if (record.end == End::ok)
    line += ",\"result\":" + record.result;
  else
    line += ",\"failed\":" + json_text({{"exit", record.failure.exit},
                                        {"signal", record.failure.signal},
                                        {"late", record.failure.late},
                                        {"text", record.failure.text}});
  line +=
      ",\"by\":" + json_text({{"host", record.by.host}, {"isamap", record.by.isamap}, {"device", record.by.device}});
  line += fmt::format(",\"seconds\":{:.6f}", record.seconds);
  return line + fmt::format("{}{:016x}{}\n", before_check, fnv1a(line), after_check);
}

std::optional<RecordHead> head_of(std::string_view line) {
  if (line.size() < 2 || line.back() != '}') return std::nullopt;
  RecordHead head;
  if (!skip(line, before_key) || line.size() < key_size) return std::nullopt;
  head.key = line.substr(0, key_size);
  line.remove_prefix(key_size);
  if (!skip(line, before_attempt) || !skip_number(line, head.attempt)) return std::nullopt;
  if (skip(line, before_attempts) && !skip_number(line, head.attempts)) return std::nullopt;
  if (!skip(line, before_end)) return std::nullopt;
  for (std::size_t e = 0; e < end_names.size(); ++e)
    if (line.starts_with(end_names[e]) && line.substr(end_names[e].size()).starts_with("\",\"job\":")) {
      head.end = static_cast<End>(e);
      return head;
    }
  return std::nullopt;
}

std::optional<bool> check_holds(std::string_view line) {
  constexpr std::size_t size = before_check.size() + check_size + after_check.size();
  if (line.size() < size) return std::nullopt;
  std::string_view end = line.substr(line.size() - size);
  if (!skip(end, before_check) || end.substr(check_size) != after_check) return std::nullopt;
  return end.substr(0, check_size) == fmt::format("{:016x}", fnv1a(line.substr(0, line.size() - size)));
}

std::optional<RecordHead> head_of_record(std::string_view line) {
  const auto head = head_of(line);
  const auto holds = check_holds(line);
  if (!head || holds) return holds.value_or(false) ? head : std::nullopt;
  const auto record = parse_record(line);
  return record && content_key(record->job) == record->key ? head : std::nullopt;
}

std::optional<Record> parse_record(std::string_view line) {
  const auto head = head_of(line);
  if (!head) return std::nullopt;
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  try {
    Record record;
    record.key = head->key;
    record.end = head->end;
    record.attempt = head->attempt;
    record.attempts = head->attempts;
    record.job = json_text(json.at("job"));
    record.result = json.contains("result") ? json_text(json.at("result")) : "null";
    if (json.contains("failed")) {
      const Json& failed = json.at("failed");
      record.failure = {failed.at("exit").get<int>(), failed.at("signal").get<int>(), failed.at("late").get<bool>(),
                        failed.at("text").get<std::string>()};
    }
    const Json& by = json.at("by");
    record.by = {by.at("host").get<std::string>(), by.at("isamap").get<std::string>(),
                 by.at("device").get<std::string>()};
    record.seconds = json.at("seconds").get<double>();
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace isamap::jobs
