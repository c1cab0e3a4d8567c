// SPDX-License-Identifier: Apache-2.0
// Does the compiler do what the schedule counted? In the innermost loops of products: as many multiply-adds as the
// program calls there, and no more loads.

#include <map>

#include "tests/backends/machine_code.h"

namespace isamap {
namespace {

struct Mix {
  std::int64_t products = 0, loads = 0;
};

/// What one round of a loop calls, loops that are written out included; loops inside that go round are added to `all`.
Mix mix_of(const std::vector<Node>& nodes, const Program& program, const HardwareModel& model, std::vector<Mix>& all,
           bool& innermost) {
  Mix sum;
  for (const Node& node : nodes) {
    if (const auto* call = std::get_if<Call>(&node.is)) {
      const Instruction& instruction = model.instruction(call->instruction);
      sum.products += is_compute(instruction) && instruction.statement().reduction != Reduction::assign ? 1 : 0;
      for (std::size_t o = 1; o < call->operands.size(); ++o)
        sum.loads += model.memory(program.buffers[call->operands[o].buffer.index()].memory).is_register() ? 0 : 1;
    }
    if (const auto* guard = std::get_if<Guard>(&node.is))
      for (const auto* branch : {&guard->then, &guard->otherwise}) mix_of(*branch, program, model, all, innermost);
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      bool no_loops = true;
      const Mix inside = mix_of(loop->body, program, model, all, no_loops);
      if (loop->unroll) {
        sum.products += loop->trip * inside.products;
        sum.loads += loop->trip * inside.loads;
      }
      if (!loop->unroll && no_loops && inside.products > 0) all.push_back(inside);
      innermost &= loop->unroll && no_loops;
    }
  }
  return sum;
}

class InstructionMix : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(InstructionMix, IsWhatTheScheduleCounted) {
  const auto& [model_name, types] = GetParam();
  const HardwareModel model = machine(model_name);
  if (const std::string why = why_not_seen(model); !why.empty()) GTEST_SKIP() << why;
  Kernel kernel = *kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=192,j=256,k=128", types);
  kernel.tensors[1].constant = true;
  const Program program = default_program(kernel, model);
  std::vector<Mix> promised;
  bool innermost = true;
  mix_of(program.body, program, model, promised, innermost);
  std::map<std::int64_t, std::int64_t> loads_of;  // of loops with so many products
  for (const Mix& one : promised) loads_of[one.products] = std::max(loads_of[one.products], one.loads);
  ASSERT_FALSE(loads_of.empty()) << print(program, model);
  const TemporaryDirectory folder;
  const std::string listing = machine_code(program, model, folder.path());
  static const std::regex reads("\\(.*%[xyz]mm[0-9]+(\\{.*)?$");  // AT&T: what is written comes last
  bool largest = false;
  for (const auto& loop : innermost_loops(lines_of(listing), multiply_adds)) {
    Mix found;
    std::string text;
    for (const CodeLine& line : loop) {
      text += line.text + "\n";
      found.products += std::regex_search(line.text, multiply_adds) ? 1 : 0;
      found.loads += std::regex_search(line.text, reads) ? 1 : 0;
    }
    ASSERT_TRUE(loads_of.contains(found.products)) << found.products << " products\n" << text << program.schedule_text;
    EXPECT_LE(found.loads, loads_of[found.products]) << text << program.schedule_text;
    largest |= found.products == loads_of.rbegin()->first;
  }
  EXPECT_TRUE(largest) << "no loop has " << loads_of.rbegin()->first << " products\n" << program.schedule_text;
}

INSTANTIATE_TEST_SUITE_P(Products, InstructionMix,
                         testing::Values(std::tuple("x86_avx512", ""), std::tuple("x86_avx2", ""),
                                         std::tuple("x86_avx512_bf16", "A=bf16,B=bf16,C=f32"),
                                         std::tuple("x86_avx512_vnni", "A=u8,B=s8,C=s32")),
                         [](const auto& one) { return std::string(std::get<0>(one.param)); });

}  // namespace
}  // namespace isamap
