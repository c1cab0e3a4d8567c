// SPDX-License-Identifier: Apache-2.0
// Every model x every example without being told: mapped, scheduled, lowered, verified, interpreted, and compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

constexpr std::uint64_t seed = 20240607;
const std::string pairs_file = ISAMAP_SOURCE_DIR "/tests/conformance/pairs.txt";

/// Lines `MODEL EXAMPLE STATEMENT`: some instruction covers the statement.
std::set<std::string> committed_pairs() {
  std::set<std::string> lines;
  std::ifstream file(pairs_file);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') lines.insert(line);
  return lines;
}

std::set<std::string> pairs_of(const std::string& model_name) {
  const HardwareModel model = load_model(model_name);
  std::set<std::string> lines;
  for (const std::string& example : example_names()) {
    const Kernel kernel = original(example);
    const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
    if (!mapped) {
      ADD_FAILURE() << model_name << " x " << example << ": " << render(mapped.diagnostics());
      continue;
    }
    for (const Mapping& m : mapped->mappings)
      lines.insert(model_name + " " + example + " " + kernel.statements[m.statement.index()].name);
  }
  return lines;
}

bool updating() {
  const char* asked = std::getenv("ISAMAP_UPDATE_GOLDEN");
  return asked != nullptr && std::string(asked) == "1";
}

/// What every program of a pair must be and give.
void check(const Variant& variant, const HardwareModel& model, const Program& program, const Schedule& schedule) {
  SCOPED_TRACE(model.name + " x " + variant.label);
  EXPECT_EQ(render(verify(program, model)), "");
  for (const Fill fill : {Fill::integers, Fill::real})
    EXPECT_EQ(interpreted_difference(program, model, fill, seed), "") << print(schedule);
  const auto again = parse_schedule(print(schedule), "printed", variant.kernel, model);
  if (!again)
    ADD_FAILURE() << render(again.diagnostics()) << print(schedule);
  else
    EXPECT_TRUE(*again == schedule) << print(schedule) << "\nreads back as\n" << print(*again);
}

std::vector<Variant> listed(std::optional<Variant> one) {
  std::vector<Variant> list;
  if (one) list.push_back(std::move(*one));
  return list;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { model_ = load_model(GetParam()); }

  /// Compiles and checks. A machine without a scalar unit may have no program for what no instruction covers, nor for
  /// an empty reduction: where tensors live, nothing fills the output with the identity.
  void take(const Variant& variant) {
    const Compiled compiled = compile(variant.kernel, model_);
    if (!compiled.program) {
      const bool scalar = model_.scalar_unit_for(model_.home()).has_value();
      const bool excused = !scalar && (is_empty(variant.kernel) || !maps_completely(variant.kernel, compiled.mapped));
      if (compiled.scheduled || !excused)
        ADD_FAILURE() << model_.name << " x " << variant.label << ": " << compiled.problem
                      << (compiled.scheduled ? print(compiled.scheduled->schedule) : "");
      return;
    }
    ++programs_;
    check(variant, model_, *compiled.program, compiled.scheduled->schedule);
  }

  static bool is_empty(const Kernel& kernel) {
    for (const Computation& statement : kernel.statements)
      for (const Dim& dim : statement.domain.dims)
        if (dim.extent == 0) return true;
    return false;
  }

  static bool maps_completely(const Kernel& kernel, const MapResult& mapped) {
    std::set<std::size_t> covered;
    for (const Mapping& m : mapped.mappings) covered.insert(m.statement.index());
    return covered.size() == kernel.statements.size();
  }

  HardwareModel model_;
  int programs_ = 0;
};

/// The kinds of sizes that every model is tried with on every example.
using Kind = std::vector<Variant> (*)(const std::string& example);
constexpr Kind kinds[] = {[](const std::string& example) { return listed(small(example, 30000)); },
                          [](const std::string& example) { return listed(odd(example)); },
                          [](const std::string& example) { return listed(ones(example)); }, zeros};

/// One kind of sizes for every eighth pair of a model and an example, another for the next model and for the next
/// example: in all, every model and every example meets every kind. HeavyConformance takes all kinds of all pairs.
TEST_P(Conformance, OneKindOfSizesForEveryEighthExample) {
  const std::vector<std::string> models = model_names();
  const std::size_t model = std::find(models.begin(), models.end(), GetParam()) - models.begin();
  std::size_t next = model;
  for (const std::string& example : example_names()) {
    const std::size_t pair = next++;
    if ((pair / std::size(kinds) + model) % 8 == 0)
      for (const Variant& variant : kinds[pair % std::size(kinds)](example)) take(variant);
  }
}

class HeavyConformance : public Conformance {
 protected:
  void take_all(Kind kind) {
    for (const std::string& example : example_names())
      for (const Variant& variant : kind(example)) take(variant);
    EXPECT_GT(programs_, 0);
  }
};

/// Among the tests that are not heavy, Prices finds a pair that no longer maps: its prices are gone.
TEST_P(HeavyConformance, WhatMappedStillMaps) {
  const std::set<std::string> found = pairs_of(GetParam());
  if (updating()) GTEST_SKIP() << "pairs.txt is written by PairsFile.Written";
  for (const std::string& line : committed_pairs())
    if (line.rfind(GetParam() + " ", 0) == 0 && !found.count(line)) ADD_FAILURE() << "no longer maps: " << line;
}

TEST_P(HeavyConformance, SmallSizes) { take_all(kinds[0]); }
TEST_P(HeavyConformance, SizesThatDoNotDivide) { take_all(kinds[1]); }
TEST_P(HeavyConformance, SizesOfOne) { take_all(kinds[2]); }
TEST_P(HeavyConformance, SizesOfZero) { take_all(kinds[3]); }

INSTANTIATE_TEST_SUITE_P(Model, HeavyConformance, testing::ValuesIn(model_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, Conformance, testing::ValuesIn(model_names()), model_of_case);

/// Suites are instantiated with names that are read off the text of the models.
TEST(Matrix, NamesAreThoseOfLoadedModels) {
  std::vector<std::string> kernels, accelerators, scaled;
  for (const std::string& name : model_names()) {
    const HardwareModel model = load_model(name);
    if (model.program.language == "cuda") kernels.push_back(name);
    if (model.program.language == "asm" && model.scalar_unit_for(model.home())) accelerators.push_back(name);
    if (!model.symbols().empty()) scaled.push_back(name);
  }
  EXPECT_EQ(kernel_model_names(), kernels);
  EXPECT_EQ(accelerator_names(), accelerators);
  EXPECT_EQ(scaled_model_names(), scaled);
}

/// With ISAMAP_UPDATE_GOLDEN=1 the list is written anew; the difference is reviewed.
TEST(PairsFile, Written) {
  if (!updating()) {
    EXPECT_FALSE(committed_pairs().empty()) << "ISAMAP_UPDATE_GOLDEN=1 writes " << pairs_file;
    return;
  }
  std::ofstream file(pairs_file);
  file << "# MODEL EXAMPLE STATEMENT: some instruction of the model covers the statement. ISAMAP_UPDATE_GOLDEN=1 "
          "rewrites.\n";
  for (const std::string& model : model_names())
    for (const std::string& line : pairs_of(model)) file << line << "\n";
}

}  // namespace
}  // namespace isamap::conformance
