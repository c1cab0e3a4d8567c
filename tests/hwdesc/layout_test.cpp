// SPDX-License-Identifier: Apache-2.0
// Layout proofs: bijective fragments, moves that fill operands, bank conflicts, and agreement of readers with writers,
// on machines of a few lines and on the models. Each planted error must be reported.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "hwdesc/layout/bank_conflicts.h"
#include "hwdesc/layout/fragment_check.h"
#include "hwdesc/layout/layout_agreement.h"
#include "hwdesc/layout/layout_compose.h"
#include "hwdesc/layout/move_layouts.h"
#include "isamap/hardware.h"
#include "tests/cost.h"
#include "tests/every.h"
#include "tests/hwdesc/support.h"

namespace isamap {
namespace {

HardwareModel model_named(const std::string& name) {
  auto loaded = load_hardware(name, {data_folder, model_folder});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? std::move(loaded->model) : HardwareModel{};
}

const Instruction& instruction(const HardwareModel& model, const std::string& name) {
  const auto id = model.find_instruction(name);
  EXPECT_TRUE(id) << name;
  return model.instruction(*id);
}

std::size_t operand_number(const Instruction& i, const std::string& name) {
  return static_cast<std::size_t>(
      std::find_if(i.operands.begin(), i.operands.end(), [&](const Operand& o) { return o.name == name; }) -
      i.operands.begin());
}

/// "k: ldmatrix with lane at ..", "j: not: ..": the result for a move and an operand, one line for each order in
/// memory.
std::vector<std::string> filled(const HardwareModel& model, const std::string& move, const std::string& user,
                                const std::string& operand) {
  const Instruction &m = instruction(model, move), &u = instruction(model, user);
  const std::size_t o = operand_number(u, operand);
  const auto table = move_table(model, m, bytes(*u.operands[o].dtype));
  std::vector<std::string> lines;
  if (!table) return lines;
  for (const Filling& filling : fillings(model, m, *table, u, o)) {
    std::string line = print(filling.order, u.operands[o]) + ": ";
    line += filling.possible() ? std::to_string(filling.calls) + " calls, " + std::to_string(filling.operands) +
                                     " operands, " + filling.how
                               : "not: " + filling.reason;
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

// --- the solver ---

PlaceEquation equation(Distance wanted, std::int64_t base, std::int64_t fixed, std::vector<std::int64_t> factors) {
  return {std::move(wanted), base, fixed, std::move(factors)};
}

TEST(Compose, SolvesForStridesAndBases) {
  const auto solved = place({equation({0, {0}}, 0, 0, {0}), equation({0, {1}}, 0, 0, {1}),
                             equation({4, {2}}, 0, 4, {2}), equation({16, {2}}, 1, 0, {0})});
  ASSERT_TRUE(std::holds_alternative<Placement>(solved));
  const auto& placement = std::get<Placement>(solved);
  EXPECT_EQ(print(*placement.strides[0], {"P"}), "P");
  EXPECT_EQ(print(placement.bases.at(0), {"P"}), "0");
  EXPECT_EQ(print(placement.bases.at(1), {"P"}), "2*P + 16");
}

TEST(Compose, NamesTheEquationsThatCannotBothHold) {
  const auto solved = place({equation({0, {0}}, 0, 0, {}), equation({1, {0}}, 0, 1, {}), equation({0, {1}}, 0, 2, {})});
  ASSERT_TRUE(std::holds_alternative<Misplacement>(solved));
  const auto& wrong = std::get<Misplacement>(solved);
  EXPECT_EQ(wrong.first, 0u);
  EXPECT_EQ(wrong.second, 2u);
  EXPECT_EQ(print(wrong.apart, {"P"}), "P");
  EXPECT_EQ(wrong.needed, 2);
}

TEST(Compose, TwoUnknownsNeedTwoEquations) {
  const auto solved =
      place({equation({0, {}}, 0, 0, {0, 0}), equation({12, {}}, 0, 0, {2, 1}), equation({7, {}}, 0, 0, {1, 1})});
  ASSERT_TRUE(std::holds_alternative<Placement>(solved));
  EXPECT_EQ(std::get<Placement>(solved).strides[0]->bytes, 5);
  EXPECT_EQ(std::get<Placement>(solved).strides[1]->bytes, 2);
  const auto half = place({equation({0, {}}, 0, 0, {0}), equation({3, {}}, 0, 0, {2})});
  EXPECT_TRUE(std::holds_alternative<Misplacement>(half));  // no integer
}

TEST(Compose, PrintsDigits) {
  EXPECT_EQ(digits_of({0, 1, 2, 3, 0, 1, 2, 3}, "p"), "p%4");
  EXPECT_EQ(digits_of({0, 0, 8, 8}, "p"), "8*(p/2)");
  EXPECT_EQ(digits_of({0, 1, 2, 3, 8, 9, 10, 11}, "p"), "p%4 + 8*(p/4)");
  EXPECT_EQ(digits_of({5, 5}, "p"), "5");
  EXPECT_EQ(digits_of({0, 1, 1, 0}, "p"), std::nullopt);
}

// --- fragments ---

TEST(Fragments, EveryExtentOfARangedDim) {
  const HardwareModel gpu = model_named("nvidia_sm90a");
  const FragmentCheck check = check_fragment(instruction(gpu, "wgmma_bf16_kk_sw128"), 0);
  EXPECT_EQ(check.fault, "");
  EXPECT_EQ(check.boxes, 32);  // 8, 16, .. 256
}

TEST(Fragments, WhoCollidesAndWhoIsMissing) {
  HardwareModel gpu = model_named("nvidia_sm80");
  Instruction mma = instruction(gpu, "mma_bf16");
  auto& layout = std::get<FragmentLayout>(mma.operands[1].layout);
  layout.index[0] = *parse_affine("lane/4 + 4*(elem/2%2)");  // 8 in the manual
  EXPECT_EQ(check_fragment(mma, 1).fault, "has [i=4, k=0] twice, at (lane 0, elem 2) and at (lane 16, elem 0)");
  layout.replicated = true;
  EXPECT_EQ(check_fragment(mma, 1).fault, "has 256 places for 256 elements: none holds [i=12, k=0]");
  layout.index[0] = *parse_affine("lane/4 + 16*(elem/2%2)");
  EXPECT_EQ(check_fragment(mma, 1).fault, "gives i = 16 at (lane 0, elem 2); the extent is 16");
}

TEST(Fragments, AnErrorThatShowsAtOneExtentOnly) {
  HardwareModel gpu = model_named("nvidia_sm90a");
  Instruction wgmma = instruction(gpu, "wgmma_bf16_kk_sw128");
  auto& layout = std::get<FragmentLayout>(wgmma.operands[0].layout);
  layout.varying[0].second = *parse_int_expr("extent[j]/16*8");  // correct at multiples of 16
  EXPECT_EQ(check_fragment(wgmma, 0).fault, "has no places at j = 8");
}

// --- moves that fill operands ---

/// The lane addresses of ldmatrix for every operand of a 16-bit product, as in hardware vendors' libraries.
TEST(Filling, LaneAddressesOfMatrixLoads) {
  const HardwareModel gpu = model_named("nvidia_sm80");
  EXPECT_EQ(filled(gpu, "ldmatrix_x4", "mma_bf16", "A"),
            (Lines{"rows contiguous along k: 1 calls, 1 operands, lane at [i = lane%16, k = 8*(lane/16)]",
                   "rows contiguous along i: not: [i=0, k=0] and [i=0, k=1] lie pitch[k] bytes apart in memory; the "
                   "move takes them 2 bytes apart"}));
  EXPECT_EQ(filled(gpu, "ldmatrix_x4_trans", "mma_bf16", "A")[1],
            "rows contiguous along i: 1 calls, 1 operands, lane at [i = 8*(lane/8%2), k = lane%8 + 8*(lane/16)]");
  EXPECT_EQ(filled(gpu, "ldmatrix_x4", "mma_bf16", "B")[1],
            "rows contiguous along k: 1 calls, 2 operands, lane at [k = 8*(lane/8%2), j = lane%8] of operand lane/16");
  EXPECT_EQ(filled(gpu, "ldmatrix_x4_trans", "mma_bf16", "B")[0],
            "rows contiguous along j: 1 calls, 2 operands, lane at [k = lane%16, j = 0] of operand lane/16");
  EXPECT_EQ(filled(gpu, "ldmatrix_x1", "mma_bf16", "A")[0],
            "rows contiguous along k: 4 calls, 1 operands, lane at [i = lane, k = 0]");
  EXPECT_EQ(filled(gpu, "ldmatrix_x4", "mma_s8", "A")[0],  // bytes move in pairs
            "rows contiguous along k: 1 calls, 1 operands, lane at [i = lane%16, k = 16*(lane/16)]");
}

TEST(Filling, StoresAreFillingsReversed) {
  const HardwareModel gpu = model_named("nvidia_sm90a");
  EXPECT_EQ(filled(gpu, "stmatrix_x4", "mma_f16_f16", "C")[0],
            "rows contiguous along j: 1 calls, 2 operands, lane at [i = lane%16, j = 0] of operand lane/16");
}

/// A tile load by rows of bytes can load A in its layout, B from panels of four rows only.
TEST(Filling, RowsOfBytesFillATile) {
  const HardwareModel amx = model_named("x86_amx");
  EXPECT_EQ(filled(amx, "load", "dpbssd", "A")[0], "rows contiguous along k: 1 calls, 1 operands, r: pitch[i] bytes");
  EXPECT_EQ(filled(amx, "load", "dpbssd", "B"),
            (Lines{"rows contiguous along j: not: [k=0, j=0] and [k=0, j=1] lie 1 byte apart in memory; the move takes "
                   "them 4 bytes apart",
                   "rows contiguous along k: not: [k=0, j=0] and [k=0, j=1] lie pitch[j] bytes apart in memory; the "
                   "move takes them 4 bytes apart",
                   "panels as the register has them: 1 calls, 1 operands, r: pitch bytes"}));
}

TEST(Filling, WeightsOfASystolicArrayComeFromADenseTile) {
  const HardwareModel array = model_named("systolic16");
  EXPECT_EQ(filled(array, "preload", "compute_preloaded", "W"),
            (Lines{"rows contiguous along j: not: [k=0, j=0] and [k=1, j=0] lie pitch[k] bytes apart in memory; the "
                   "move takes them 16 bytes apart",
                   "a dense tile, contiguous along j: 1 calls, 1 operands, ",
                   "rows contiguous along k: not: [k=0, j=0] and [k=0, j=1] lie pitch[j] bytes apart in memory; the "
                   "move takes them 1 byte apart"}));
}

TEST(Filling, AWrongFragmentIsNotFilled) {
  HardwareModel gpu = model_named("nvidia_sm80");
  Instruction mma = instruction(gpu, "mma_bf16");
  auto& layout = std::get<FragmentLayout>(mma.operands[1].layout);
  std::swap(layout.index[0], layout.index[1]);  // rows for columns
  const auto table = move_table(gpu, instruction(gpu, "ldmatrix_x4"), 2);
  for (const Filling& filling : fillings(gpu, instruction(gpu, "ldmatrix_x4"), *table, mma, 1))
    if (filling.order.index == 1) {
      EXPECT_EQ(filling.reason,
                "[i=0, k=0] and [i=1, k=0] lie pitch[i] bytes apart in memory; the move takes them 2 bytes apart");
    }
}

// --- banks ---

TEST(Banks, RowsOfMatrixLoads) {
  const HardwareModel gpu = model_named("nvidia_sm80");
  const Instruction &load = instruction(gpu, "ldmatrix_x4"), &mma = instruction(gpu, "mma_bf16");
  const auto table = move_table(gpu, load, 2);
  const auto rows = row_conflicts(gpu, load, *table, fillings(gpu, load, *table, mma, 1)[0], 2);
  ASSERT_EQ(rows.size(), 3u);
  const std::vector<std::pair<std::int64_t, int>> expected{{2, 1}, {4, 2}, {8, 3}};  // degree and permuted bits
  for (std::size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(rows[r].row_bytes, 32 << r);
    EXPECT_EQ(rows[r].degree, expected[r].first);
    ASSERT_TRUE(rows[r].swizzle);
    EXPECT_EQ(*rows[r].swizzle, (XorSwizzle{expected[r].second, 7, 4}));
  }
}

TEST(Banks, ASwizzledOperandMeetsEveryBankOnce) {
  const HardwareModel gpu = model_named("nvidia_sm90a");
  for (const std::string name : {"wgmma_bf16_kk_sw128", "wgmma_bf16_ij_sw64", "wgmma_s8_sw32", "wgmma_tf32_sw128"}) {
    Instruction wgmma = instruction(gpu, name);
    for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
      EXPECT_EQ(operand_conflicts(gpu, wgmma, operand)->degree, 1) << name;
      auto& layout = std::get<StridedLayout>(wgmma.operands[operand].layout);
      const int bits = layout.swizzle->bits;
      layout.swizzle.reset();
      EXPECT_EQ(operand_conflicts(gpu, wgmma, operand)->degree, 1 << bits) << name;
      layout.swizzle = XorSwizzle{bits, 8, 4};  // one bit too high
      EXPECT_EQ(operand_conflicts(gpu, wgmma, operand)->degree, 2) << name;
    }
  }
}

// --- readers and writers ---

TEST(Agreement, WhatTheEngineWritesTheProductReads) {
  const HardwareModel gpu = model_named("nvidia_sm90a");
  const auto best = [&](const std::string& move, const Instruction& user, std::size_t operand) {
    return agreements(gpu, instruction(gpu, move), user, operand).front();
  };
  const Instruction& wgmma = instruction(gpu, "wgmma_bf16_kj_sw128");
  const Agreement a = best("tma_load_b16_sw128", wgmma, 1), b = best("tma_load_b16_sw128", wgmma, 2);
  EXPECT_EQ(a.fault, "");
  EXPECT_EQ(a.strides, "i/8: 1024 bytes");
  EXPECT_EQ(a.starts, 16);  // 4 tiles of 64 rows, 4 of 16 columns
  EXPECT_EQ(b.fault, "");
  EXPECT_EQ(b.strides, "j/64: step of the move along j bytes, k/8: 1024 bytes");
  EXPECT_EQ(best("tma_load_b16_sw64", instruction(gpu, "wgmma_bf16_kk_sw64"), 1).fault, "");
  EXPECT_EQ(best("tma_load_b16_sw32", instruction(gpu, "wgmma_bf16_kk_sw32"), 1).fault, "");
  EXPECT_EQ(best("tma_load_b16_plain", instruction(gpu, "wgmma_bf16_plain"), 1).fault, "");
  EXPECT_NE(best("tma_load_b16_sw64", wgmma, 1).fault, "");
}

TEST(Agreement, PlantedErrorsAreNamed) {
  const HardwareModel gpu = model_named("nvidia_sm90a");
  const Instruction& load = instruction(gpu, "tma_load_b16_sw128");
  Instruction wgmma = instruction(gpu, "wgmma_bf16_kk_sw128");
  const auto layout = [&]() -> StridedLayout& { return std::get<StridedLayout>(wgmma.operands[1].layout); };
  const auto right = layout();
  layout().swizzle = XorSwizzle{3, 8, 4};  // a wrong bit
  EXPECT_EQ(agreements(gpu, load, wgmma, 1).front().fault,
            "[i=1, k=0] of the tile at byte 0 is written at byte 144 and read at byte 128");
  layout() = right;
  IntExpr group;
  group.number = 256;  // elements from one group of eight rows to the next: 512, not 256
  for (StrideTerm& term : layout().terms)
    if (!term.stride) term.stride = group;
  EXPECT_EQ(agreements(gpu, load, wgmma, 1).front().fault,
            "[i=0, k=0] and [i=8, k=0] are written 1024 bytes apart and read 512 bytes apart");
}

constexpr const char* swizzled_pair = R"(
hardware: pair
program: {language: asm}
units: [{name: npu, ports: {load: 1}}]
memories:
  - {name: dram, per: npu, kind: dram, capacity: 1GiB}
  - {name: spad, per: npu, kind: scratchpad, capacity: 64KiB, banks: 8, bank_width: 4B}
  - {name: acc, per: npu, kind: accumulator, capacity: 16KiB}
links:
  - {name: in, from: dram, to: spad}
  - {name: out, from: acc, to: dram}
instructions:
  - {name: load, link: in, compute: "D[i,k] = S[i,k]", dims: {i: 8, k: 8}, emit: "load {D}, {S}, {S.stride[i]}",
     operands: {D: {dtype: s32, layout: {i: 8, k: 1, xor: {bits: 1, from: WRITTEN, to: 4}}, align: 256B}, S: {dtype: s32, layout: {i: any, k: 1}}}}
  - {name: mac, unit: npu, compute: "C[i] += A[i,k] * A[i,k]", start: {C: [zero, keep]}, dims: {i: 8, k: 8}, emit: "mac {C}, {A}, {start[C]}",
     operands: {A: {memory: spad, dtype: s32, layout: {i: 8, k: 1, xor: {bits: 1, from: READ, to: 4}}, align: 256B, at_once: {i: 2, k: 4}},
                C: {memory: acc, dtype: s32}}}
  - {name: store, link: out, compute: "D[i] = S[i]", dims: {i: 8}, emit: "store {D}, {S}", operands: {D: {dtype: s32}}}
)";

std::string with(std::string text, const std::string& name, const std::string& value) {
  return text.replace(text.find(name), name.size(), value);
}

TEST(Proofs, AWrongSwizzleBitIsAWarningWithItsPlace) {
  const auto right = load_text(with(with(swizzled_pair, "WRITTEN", "5"), "READ", "5"), {{}, true});
  ASSERT_TRUE(right) << render(right.diagnostics());
  EXPECT_EQ(render(right->warnings), "");
  std::vector<std::string> facts;
  for (const LayoutFact& fact : right->facts) facts.push_back(print(fact));
  EXPECT_EQ(facts,
            (Lines{"proved: A of mac: no bank conflict, 2x4 neighbours at once, at 1 starts",
                   "proved: A of mac: read where load writes it (i = i, k = k; 256 bytes compared in 1 tiles)"}));

  const auto wrong = load_text(with(with(swizzled_pair, "WRITTEN", "5"), "READ", "6"), {{}, true});
  ASSERT_TRUE(wrong) << render(wrong.diagnostics());
  ASSERT_EQ(wrong->warnings.size(), 1u);
  EXPECT_EQ(wrong->warnings[0].message,
            "operand 'A' of instruction 'mac': no move writes 'spad' where it reads; nearest is load: [i=1, k=0] of "
            "the tile at byte 0 is written at byte 48 and read at byte 32");
  EXPECT_EQ(wrong->warnings[0].where.line, 15);
  EXPECT_EQ(print(wrong->facts[0]), "costs: A of mac: 2-way bank conflict, 2x4 neighbours at once, at 1 starts");
}

void models_are_proved_without_a_warning(Every every) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(model_folder))
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  for (const std::filesystem::path& file : files) {
    if (every.skips()) continue;
    const std::string name = file.stem().string();
    const HardwareModel model = model_named(name);
    const double begin = cost::processor_seconds();
    const LayoutProofs proofs = prove_layouts(model);
    EXPECT_LT(cost::processor_seconds() - begin, cost::allowed(10)) << name;
    EXPECT_EQ(render(proofs.warnings), "") << name;
    for (const LayoutFact& fact : proofs.facts)
      EXPECT_TRUE(fact.proved || fact.kind == LayoutFactKind::fill) << name << ": " << print(fact);
  }
}

TEST(Proofs, EverySecondModelIsProvedWithoutAWarning) { models_are_proved_without_a_warning(Every(2)); }
TEST(HeavyProofs, EveryModelIsProvedWithoutAWarning) { models_are_proved_without_a_warning(Every(1)); }

}  // namespace
}  // namespace isamap
