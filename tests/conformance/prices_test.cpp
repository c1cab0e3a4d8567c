// SPDX-License-Identifier: Apache-2.0
// What the cost models say of schedules of every pair of pairs.txt: a change of a price is a difference to review.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "scheduler/cost/priced_nest.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

const std::string prices_folder = ISAMAP_SOURCE_DIR "/tests/golden/prices/";

bool writes_golden() {
  const char* asked = std::getenv("ISAMAP_UPDATE_GOLDEN");
  return asked != nullptr && std::string(asked) == "1";
}

/// "12345 (compute)", or why there is none.
std::string price_of(const Result<Cost>& cost) {
  return cost ? fmt::format("{:.0f} ({})", cost->cycles, cost->bound) : "none: " + cost.diagnostics().front().message;
}

/// The first starting point and a random one, repaired; those that build a nest.
std::vector<std::pair<std::string, Nest>> nests_of(const SearchSpace& space) {
  std::vector<std::pair<std::string, Nest>> nests;
  const auto add = [&](const std::string& label, const Point& point) {
    if (auto nest = space.build(space.repair(point))) nests.emplace_back(label, std::move(*nest));
  };
  if (const std::vector<Point> starts = space.starts(1); !starts.empty()) add("start", starts.front());
  add("random", space.random(1));
  return nests;
}

/// The bounds and what is added to the longest, but for zeros.
std::vector<std::pair<std::string, double>> terms_of(const PricedNest& nest) {
  std::vector<std::pair<std::string, double>> terms;
  const auto add = [&](const TermTime& time) {
    if (time.cycles != 0) terms.emplace_back(time.name(), time.cycles);
  };
  for (const TermTime& bound : nest.terms.bounds) add(bound);
  for (const auto& [term, time] : nest.terms.added) add(time);
  return terms;
}

/// A line for each nest: cycles and bound by the closed form and by latency, then the terms whose sum is the former.
std::string prices_of(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                      const HardwareModel& model) {
  const std::unique_ptr<CostModel> latency = make_cost_model_latency();
  const SearchSpace space(kernel, statement, std::move(mappings), model, {});
  const auto facts = statement_facts(kernel, statement, model);
  std::string text;
  for (auto& [label, nest] : nests_of(space)) {
    const Candidate candidate{&kernel, statement, &model, nest};
    text += "  " + label + ": ";
    const auto priced = price_nest(candidate);
    for (int again = 0; again < 2; ++again) {  // facts are found first, and known then
      const auto by_facts = price_nest({&kernel, statement, &model, nest, facts});
      EXPECT_EQ(bool(by_facts), bool(priced));
      if (by_facts && priced) {
        EXPECT_EQ((*by_facts)->terms.cycles, (*priced)->terms.cycles) << label;
      } else if (!by_facts && !priced) {
        EXPECT_EQ(render(by_facts.diagnostics()), render(priced.diagnostics()));
      }
    }
    if (!priced) {
      text += "none: " + priced.diagnostics().front().message + "\n";
      continue;
    }
    const Result<Cost> finer = latency->estimate(candidate);
    if (finer) {
      EXPECT_GE(finer->cycles, (*priced)->cost.cycles) << model.name << ", " << kernel.name << ", " << label;
    }
    text += fmt::format("{:.0f} ({}), latency {}\n", (*priced)->cost.cycles, (*priced)->cost.bound, price_of(finer));
    for (const auto& [name, cycles] : terms_of(**priced)) text += fmt::format("    {}: {:.6g}\n", name, cycles);
  }
  return text;
}

std::string prices_of(const HardwareModel& model) {
  std::string text;
  for (const std::string& example : example_names()) {
    const Kernel kernel = original(example);
    const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
    if (!mapped) continue;
    std::map<std::size_t, std::vector<Mapping>> by_statement;
    for (const Mapping& m : mapped->mappings) by_statement[m.statement.index()].push_back(m);
    for (auto& [statement, mappings] : by_statement)
      text += example + " " + kernel.statements[statement].name + "\n" +
              prices_of(kernel, make_id<StatementId>(statement), std::move(mappings), model);
  }
  return text;
}

class Prices : public testing::TestWithParam<std::string> {};

TEST_P(Prices, AreThoseOfTheGoldenFile) {
  const std::string file = prices_folder + GetParam() + ".txt";
  const std::string now = prices_of(load_model(GetParam()));
  if (writes_golden()) {
    std::ofstream(file) << now;
    return;
  }
  std::ifstream in(file);
  std::istringstream expected(std::string(std::istreambuf_iterator<char>(in), {})), found(now);
  std::string was, is, pair;
  for (int line = 1; std::getline(found, is); ++line) {
    if (!is.starts_with(" ")) pair = is;
    if (!std::getline(expected, was)) was = "(no more lines)";
    ASSERT_EQ(was, is) << file << ":" << line << ", " << pair << "; ISAMAP_UPDATE_GOLDEN=1 writes it anew";
  }
  EXPECT_FALSE(std::getline(expected, was)) << file << " has more lines: " << was;
}

INSTANTIATE_TEST_SUITE_P(Model, Prices, testing::ValuesIn(model_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance
