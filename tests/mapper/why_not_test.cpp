// SPDX-License-Identifier: Apache-2.0
// Rejections: both enumerations give a reason with the same text, and proposed changes map once applied.

#include <gtest/gtest.h>

#include <algorithm>

#include "mapper/advice/rejection_report.h"
#include "mapper/advice/repair_proposals.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

struct Refused {
  Kernel kernel;
  Instruction instruction;
  Rule rule;
};

std::vector<Refused> refused() {
  const std::string product = "C[i,j] += A[i,k] * B[k,j]";
  const Sizes sizes{{"i", 6}, {"j", 5}, {"k", 7}}, unit{{"i", 4}, {"j", 4}, {"k", 4}};
  return {
      {kernel_of(product, sizes, s8_types), instruction_of(product, unit, u8_s8_types), Rule::full},
      {kernel_of(product, sizes, u8_s8_types),
       instruction_of("C[j] += s32(sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1])))", unit, u8_s8_types),
       Rule::full},
      {kernel_of("C[j] max= A[j,k] + B[j,k]", sizes), instruction_of("C[j] max= A[j,k] + B[j,k]", unit), Rule::full},
      {kernel_of("C[i] += A[i,k] * B[k]", sizes), matrix_unit(4, 4, 4), Rule::access},
      {depthwise2d(), matrix_unit(4, 4, 4), Rule::access},
      {kernel_of(product, sizes, {}, DType::f32), matrix_unit(4, 4, 4), Rule::access},
      {kernel_of("C[i,j] max= A[i,k] * B[k,j]", {{"i", 6}, {"j", 5}, {"k", 8}}), matrix_unit(4, 4, 4), Rule::access},
  };
}

TEST(WhyNot, BothEnumerationsGiveTheSameReasons) {
  for (const auto& [kernel, instruction, rule] : refused()) {
    const PairMappings direct = map_one(kernel, instruction, rule), solved = map_one(kernel, instruction, rule, true);
    EXPECT_TRUE(direct.mappings.empty() && solved.mappings.empty()) << print(kernel);
    ASSERT_FALSE(direct.reasons.empty());
    ASSERT_FALSE(solved.reasons.empty());
    // An unsat core is a part of the problem; its reasons are among those of the construction.
    for (const Reason& reason : solved.reasons)
      EXPECT_NE(std::find(direct.reasons.begin(), direct.reasons.end(), reason), direct.reasons.end()) << reason.text;
  }
}

TEST(WhyNot, WhatIsProposedMaps) {
  for (const auto& [kernel, instruction, rule] : refused()) {
    MapOptions options;
    options.rule = rule;
    const Repair given{"", kernel, StatementId{0}, instruction, InstructionId{0}};
    ASSERT_TRUE(map_statement(kernel, StatementId{0}, instruction, InstructionId{0}, options).mappings.empty());
    int changes = 0;
    for (const auto make : {kernel_value_changes, kernel_dim_changes, hardware_value_changes, hardware_dim_changes}) {
      for (const Repair& trial : make(given)) {
        EXPECT_FALSE(trial.text.empty());
        changes +=
            map_statement(trial.kernel, trial.statement, trial.instruction, trial.id, options).mappings.empty() ? 0 : 1;
      }
    }
    EXPECT_GT(changes, 0) << print(kernel);
  }
}

TEST(WhyNot, ChangedKernelsAreKernels) {
  for (const auto& [kernel, instruction, rule] : refused()) {
    const Repair given{"", kernel, StatementId{0}, instruction, InstructionId{0}};
    for (const auto make : {kernel_value_changes, kernel_dim_changes})
      for (const Repair& trial : make(given))
        EXPECT_TRUE(verify(trial.kernel).empty()) << trial.text << "\n" << render(verify(trial.kernel));
  }
}

}  // namespace
}  // namespace isamap::testing
