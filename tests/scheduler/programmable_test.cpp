// SPDX-License-Identifier: Apache-2.0
// Covering is proved, programming is lowering's: how many mappings have both.

#include <map>

#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "mapper/mapping_names.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/space/digit_assignments.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::machine;

Kernel example(const std::string& name) {
  const auto kernel = load_kernel(ISAMAP_SOURCE_DIR "/examples/" + name + ".yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

MapResult mapped(const Kernel& kernel, const HardwareModel& model) {
  auto result = enumerate_mappings(kernel, model, {});
  EXPECT_TRUE(result) << render(result.diagnostics());
  return result ? std::move(*result) : MapResult{};
}

struct CountedMappings {
  std::string kernel, machine;
  MappingCount count;
};

/// Skewed and block-diagonal mappings are most of what a unit with two parallel dims offers a depthwise convolution.
TEST(Programmable, CountsOfBoth) {
  const std::vector<CountedMappings> all = {
      {"depthwise", "outer16", {276, 18}}, {"conv2d_grouped", "outer16", {1174, 42}},
      {"depthwise", "dot16", {53, 12}},    {"conv2d_grouped", "dot16", {198, 28}},
      {"conv2d", "outer16", {42, 42}},     {"scan", "outer16", {16, 0}},
      {"gemm", "x86_avx512", {5, 5}}};
  for (const CountedMappings& one : all) {
    const Kernel kernel = example(one.kernel);
    const HardwareModel model = machine(one.machine);
    const MappingCount found = count_mappings(mapped(kernel, model).mappings, kernel, model);
    EXPECT_EQ(found, one.count) << one.kernel << " on " << one.machine << ": " << found.covering << " cover, "
                                << found.programmable << " programmable";
  }
}

TEST(Programmable, ReasonsOfADepthwiseConvolution) {
  const Kernel kernel = example("depthwise");
  const HardwareModel model = machine("outer16");
  std::map<std::string, int> reasons;
  for (const Mapping& mapping : mapped(kernel, model).mappings) ++reasons[not_programmable(mapping, kernel, model)];
  EXPECT_EQ(reasons, (std::map<std::string, int>{{"", 18},
                                                 {"(2*p - 2*r) is no plain dim", 31},
                                                 {"(2*q - 2*s) is no plain dim", 12},
                                                 {"(7*p) is no plain dim", 24},
                                                 {"(9*q) is no plain dim", 22},
                                                 {"(p - r) is no plain dim", 59},
                                                 {"(q - s) is no plain dim", 32},
                                                 {"c is tied on two instruction dims", 78}}));
}

/// The list cuts k into a chain over two dims of the instruction; the search distributes it whole and makes programs.
TEST(Programmable, ACutDigitIsDistributedWhole) {
  const Kernel kernel = example("gemm_s8");
  const HardwareModel model = machine("vta16");
  const MapResult found = mapped(kernel, model);
  ASSERT_EQ(found.mappings.size(), 2U);
  for (const Mapping& mapping : found.mappings) {
    EXPECT_EQ(not_lowered(mapping, model), "(16*k) is no plain dim");
    EXPECT_EQ(not_programmable(mapping, kernel, model), "");
  }
}

/// A constant that a command carries does not hinder it: the schedules of this kernel have `store_scaled(i=i, j=j)`.
TEST(Programmable, ACutDigitBesideAConstantIsDistributedWhole) {
  const Kernel kernel = example("linear_s8");
  const HardwareModel model = machine("vta16");
  std::vector<std::string> forms;
  for (const Mapping& mapping : mapped(kernel, model).mappings)
    for (const Mapping& form : programmable_forms(mapping, kernel, model)) {
      EXPECT_EQ(not_lowered(form, model), "");
      if (mapping.constant) forms.push_back(digits_text(form, model));
    }
  EXPECT_EQ(forms, (std::vector<std::string>{"i = i, j = 1", "i = 1, j = i", "i = j, j = 1", "i = 1, j = j",
                                             "i = i.j, j = 1", "i = i, j = j", "i = j, j = i", "i = 1, j = i.j"}));
}

/// What the search takes is what is called programmable.
TEST(Programmable, IsWhatTheSearchTakes) {
  for (const char* target : {"vta16", "dot16", "conv3x3", "x86_avx512_vnni"})
    for (const char* name : {"gemm_s8", "gemm_u7s7s32", "conv2d_s8", "depthwise", "scan", "softmax", "linear_s8"}) {
      const Kernel kernel = example(name);
      const HardwareModel model = machine(target);
      for (const Mapping& mapping : mapped(kernel, model).mappings) {
        const Computation& statement = kernel.statements[mapping.statement.index()];
        bool lowers = false;
        for (const Mapping& spread : digit_assignments(mapping, statement, model.instruction(mapping.instruction)))
          lowers = lowers || not_lowered(spread, model).empty();
        EXPECT_EQ(not_programmable(mapping, kernel, model).empty(), lowers)
            << target << ": " << print(mapping, kernel, model);
      }
    }
}

/// A window read where it lies has the tensor's own order, [c, p + r, q + s]; blocks would put c innermost, where the
/// instruction needs neighbours along q.
TEST(Programmable, AWindowIsReadInTheOrderOfTheTensor) {
  const HardwareModel model = machine(ISAMAP_SOURCE_DIR "/tests/scheduler/data/window33.yaml");
  const Kernel kernel =
      testing_support::formula("O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]", "k=3,c=2,p=4,q=9,r=3,s=3", "I=f32,F=f32,O=f32");
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.max_evaluations = 20;
  options.compare_scalar = false;
  const auto found = schedule(kernel, mapped(kernel, model), model, options);
  ASSERT_TRUE(found) << render(found.diagnostics());
  EXPECT_NE(print(found->schedule).find("with tree33("), std::string::npos) << print(found->schedule);
}

}  // namespace
}  // namespace isamap
