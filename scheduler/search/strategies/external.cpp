// SPDX-License-Identifier: Apache-2.0
// A strategy in a process of its own, in any language: --strategy external:command=PROGRAM ARGUMENTS. It reads and
// writes JSON, one object a line (docs/laboratory.md):
//   to it: {"schema_version":1,"seed":0,"decisions":[{"name":..,"labels":[..],"ordered":true},..],"starts":[[..],..],
//              "feature_names":[..]}                       once
//             {"ask":1}                                    answered by {"point":[..]} or {"done":true}
//             {"tell":{"point":[..],"cost":1.5,"features":[..]}}   cost null: illegal; not answered
// The told point is the repaired one. Its stdin ends with the search.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scheduler/search/strategy_options.h"
#include "support/child_process_lines.h"

namespace isamap {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t starts_told = 16, shown = 60;

class External final : public SearchStrategy {
 public:
  External(const SearchSpace& space, std::string command, double seconds, std::uint64_t seed)
      : space_(space), command_(std::move(command)), seconds_(seconds), seed_(seed) {}

  std::optional<Point> next() override {
    if (!started_) begin();
    if (over_ || !tell(Json{{"ask", 1}})) return std::nullopt;
    ++asked_;
    std::string line;
    const auto heard = child_.hear(line, seconds_);
    if (heard != ChildProcess::Heard::line) return failed(heard);
    return understood(line);
  }

  void report(const Point& point, std::optional<double> objective) override {
    if (!started_) begin();
    if (over_) return;
    Json told{{"point", point.choice}, {"cost", objective ? Json(*objective) : Json(nullptr)}};
    told["features"] = space_.features(point);
    tell(Json{{"tell", std::move(told)}});
  }

  Diagnostics problems() const override { return problems_; }
  bool proposes_repaired() const override { return true; }

 private:
  void begin() {
    started_ = true;
    if (const std::string why = child_.start(words_of_command(command_)); !why.empty()) {
      complain("cannot be started: " + why);
      return;
    }
    Json hello{{"schema_version", 1}, {"seed", seed_}};
    hello["decisions"] = Json::array();
    for (const Decision& d : space_.decisions())
      hello["decisions"].push_back({{"name", d.name}, {"labels", d.labels}, {"ordered", d.ordered()}});
    hello["starts"] = Json::array();
    for (const Point& start : space_.starts(starts_told)) hello["starts"].push_back(start.choice);
    hello["feature_names"] = space_.feature_names();
    tell(hello);
  }

  bool tell(const Json& json) {
    if (over_) return false;
    const auto heard = child_.say(json.dump(), seconds_);
    if (heard != ChildProcess::Heard::line) failed(heard);
    return !over_;
  }

  std::optional<Point> failed(ChildProcess::Heard heard) {
    if (heard == ChildProcess::Heard::late)
      complain(fmt::format("has not answered question {} within {} seconds", asked_, seconds_),
               "seconds=N in the options of the strategy allows more");
    else if (heard == ChildProcess::Heard::too_long)
      complain("sends a line that does not end");
    else
      complain(fmt::format("ended {} at question {}", child_.how_it_ended(), asked_),
               "it answers {\"done\":true} when it has no more points");
    return std::nullopt;
  }

  std::optional<Point> understood(const std::string& line) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("done")) {
      over_ = true;
      return std::nullopt;
    }
    const bool has_point = json.is_object() && json.contains("point") && json["point"].is_array();
    if (!has_point) return garbage(line, "is no JSON object with a list 'point', and none with 'done'");
    const std::size_t decisions = space_.decisions().size();
    if (json["point"].size() != decisions)
      return garbage(line, fmt::format("has {} numbers; the space has {} decisions", json["point"].size(), decisions));
    Point point;
    for (const Json& value : json["point"]) {
      if (!value.is_number_integer()) return garbage(line, "has something in 'point' that is no whole number");
      point.choice.push_back(static_cast<int>(std::clamp<std::int64_t>(value.get<std::int64_t>(), -1, 1 << 30)));
    }
    return space_.repair(std::move(point));
  }

  std::optional<Point> garbage(const std::string& line, const std::string& what) {
    complain(fmt::format("answers question {} with '{}{}', which {}", asked_, line.substr(0, shown),
                         line.size() > shown ? "..." : "", what));
    return std::nullopt;
  }

  void complain(const std::string& what, const std::string& hint = "") {
    over_ = true;
    problems_.push_back(error(fmt::format("the external strategy '{}' {}", command_, what), hint));
  }

  const SearchSpace& space_;
  std::string command_;
  double seconds_;
  std::uint64_t seed_;
  ChildProcess child_;
  bool started_ = false, over_ = false;
  std::int64_t asked_ = 0;
  Diagnostics problems_;
};

}  // namespace

Result<std::unique_ptr<SearchStrategy>> make_strategy_external(const SearchSpace& space, const StrategyOptions& options,
                                                               std::uint64_t seed) {
  OptionReader read("external", options);
  const std::string command = read.text("command", "");
  const double seconds = read.number("seconds", 10, 0.001, 1e6);
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  if (words_of_command(command).empty())
    return error("external needs the command of a strategy", "--strategy 'external:command=python3 my_strategy.py'");
  return std::unique_ptr<SearchStrategy>(std::make_unique<External>(space, command, seconds, seed));
}

}  // namespace isamap
