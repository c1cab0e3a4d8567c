// SPDX-License-Identifier: Apache-2.0
// Words: fields are filled, printed, read back; what is executed is the word.

#include <gtest/gtest.h>

#include <fstream>

#include "backends/assembly/printer.h"
#include "backends/encoding/word.h"
#include "backends/simulator/equations.h"
#include "backends/simulator/simulate.h"
#include "tests/backends/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

IntExpr expression(const std::string& text) { return *parse_int_expr(text); }

HardwareModel model_with(const std::string& format) {
  const std::string path = scratch("words.yaml");
  std::ofstream(path) << "hardware: words\nunits: [{name: u}]\n"
                         "memories: [{name: ram, per: u, kind: dram, capacity: 1KiB}]\nformats: {w: "
                      << format
                      << "}\ninstructions: [{name: nop, unit: u, compute: \"D[] = 0\", emit: \"nop {D}\",\n"
                         "  operands: {D: {memory: ram, dtype: s8}}}]\n";
  auto loaded = load_hardware(path, {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

std::string encoded(const HardwareModel& model, const std::vector<std::pair<std::string, std::string>>& fields,
                    const std::map<std::string, std::int64_t>& values = {}) {
  FormatUse use{"w", {}};
  for (const auto& [name, text] : fields) use.fields.emplace_back(name, expression(text));
  const auto word = encode(use, model.instructions()[0], model, [&](const Reference& r) {
    const auto found = values.find(key(r));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
  return word ? word->hexadecimal() : word.diagnostics()[0].message;
}

TEST(Word, PrintsAllDigitsAndReadsThemBack) {
  Word word(12);
  word.set(4, 8, 0x0f);
  EXPECT_EQ(word.hexadecimal(), "0x0f0");
  EXPECT_EQ(word.bytes(), (std::vector<std::uint8_t>{0xf0, 0x00}));
  EXPECT_EQ(Word::parse("0x0f0", 12), word);
  for (const char* wrong : {"0x00f0", "0xf0", "0f0", "0x0F0", "0x0g0", ""})
    EXPECT_FALSE(Word::parse(wrong, 12)) << wrong;
  EXPECT_FALSE(Word::parse("0x4", 2));  // bit 2 of two
}

TEST(Word, IsABitStringOfAnyLength) {
  Random random(5);
  for (int n = 0; n < 200; ++n) {
    const int bits = static_cast<int>(random.between(1, 200));
    const int low = static_cast<int>(random.between(0, bits - 1));
    const int width = static_cast<int>(random.between(1, std::min(64, bits - low)));
    const auto value = static_cast<std::uint64_t>(random.between(0, INT64_MAX));
    Word word(bits);
    word.set(low, width, ~std::uint64_t{0});
    word.set(low, width, value);
    EXPECT_EQ(word.get(low, width), width == 64 ? value : value & ((std::uint64_t{1} << width) - 1));
    EXPECT_EQ(Word::parse(word.hexadecimal(), bits), word);
  }
}

TEST(Encode, FillsFieldsAndConstants) {
  const auto model =
      model_with("{bits: 16, fields: {op: {bits: [3, 0], value: 9}, a: [7, 4], n: {bits: [15, 8], signed: true}}}");
  EXPECT_EQ(encoded(model, {}), "0x0009");
  EXPECT_EQ(encoded(model, {{"op", "1"}, {"a", "15"}}), "0x00f1");
  EXPECT_EQ(encoded(model, {{"a", "extent[i] - 1"}, {"n", "X"}}, {{"extent[i]", 16}, {"X", -2}}), "0xfef9");
}

TEST(Encode, SaysWhatDoesNotFit) {
  const auto model = model_with("{bits: 16, fields: {a: [7, 4], n: {bits: [15, 8], signed: true}}}");
  EXPECT_EQ(encoded(model, {{"a", "X"}}, {{"X", 16}}),
            "'nop' encodes X = 16 in field 'a' of format 'w', which has 4 bits");
  EXPECT_EQ(encoded(model, {{"a", "X"}}, {{"X", -1}}),
            "'nop' encodes X = -1 in field 'a' of format 'w', which has 4 bits");
  EXPECT_EQ(encoded(model, {{"n", "X"}}, {{"X", 128}}),
            "'nop' encodes X = 128 in field 'n' of format 'w', which has 8 bits with sign");
  EXPECT_EQ(encoded(model, {{"a", "X"}}), "field 'a' of 'nop' is X, which has no value here");
  EXPECT_EQ(encoded(model, {{"b", "1"}}), "'nop' sets field 'b' of format 'w', which does not exist");
}

std::string solved(const std::vector<std::pair<std::string, std::int64_t>>& equations, Values values = {}) {
  std::vector<IntExpr> exprs;
  for (const auto& [text, value] : equations) exprs.push_back(expression(text));
  std::vector<Equation> list;
  for (std::size_t i = 0; i < exprs.size(); ++i) list.push_back({&exprs[i], equations[i].second, "it"});
  if (const auto problem = solve(
          list, values, [](const Reference&) { return std::nullopt; }, "x"))
    return problem->message;
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

TEST(Solve, InvertsFieldExpressions) {
  EXPECT_EQ(solved({{"A + 4", 20}}), "A = 16");
  EXPECT_EQ(solved({{"3 - 2*extent[i]", -29}}), "extent[i] = 16");
  EXPECT_EQ(solved({{"A >> 4", 5}}), "A = 80");
  EXPECT_EQ(solved({{"A & 0xffff", 0x2345}, {"A >> 16", 1}}), "A = 74565");
  EXPECT_EQ(solved({{"A / 256", 7}, {"A % 256", 3}}), "A = 1795");
  EXPECT_EQ(solved({{"C + start[C]*1024", 1040}, {"start[C]", 1}}), "C = 16, start[C] = 1");
  EXPECT_EQ(solved({{"bits(st.scale)", 0x40000000}}), "st.scale = 2");
  EXPECT_EQ(solved({{"A", 3}, {"A", 3}}), "A = 3");
}

TEST(Solve, SaysWhatContradictsOrStaysOpen) {
  EXPECT_EQ(solved({{"A", 3}, {"A", 4}}), "'x' needs it = A, which is 4");
  EXPECT_EQ(solved({{"2*A", 3}}), "'x' needs it = 2 * A, which is 3: that does not determine A");
  EXPECT_EQ(solved({{"A + B", 3}}), "'x' needs it = A + B, which is 3: that does not determine A, B");
  EXPECT_EQ(solved({{"A & 15", 17}}), "'x' needs it = A & 15, which is 17");
  EXPECT_EQ(solved({{"min(A, 8)", 8}}), "'x' needs it = min(A, 8), which is 8: that does not determine A");
  EXPECT_EQ(solved({{"A * 9223372036854775807", 5}}),
            "'x' needs it = A * 9223372036854775807, which is 5: that does not determine A");
}

/// What is encoded is found again, for random slices of a random number.
TEST(Solve, PutsSlicesTogether) {
  Random random(11);
  for (int n = 0; n < 200; ++n) {
    const std::int64_t a = random.between(0, std::int64_t{1} << 40), cut = random.between(1, 39);
    EXPECT_EQ(solved({{"A >> " + std::to_string(cut), a >> cut},
                      {"A % " + std::to_string(std::int64_t{1} << cut), a & ((std::int64_t{1} << cut) - 1)}}),
              "A = " + std::to_string(a))
        << cut;
  }
}

const char* const one_tile = R"(program one_tile
kernel
  kernel gemm
  tensor A: s8[16,16]
  tensor B: s8[16,16]
  tensor C: s32[16,16]
  s0: C[i,j] += s32(A[i,k]) * s32(B[k,j]) over i: 16, j: 16, k: 16
buffers
  A: s8[16,16] in dram strides [16,1] align 64 at 0 of A argument
  B: s8[16,16] in dram strides [16,1] align 64 at 256 of B argument
  C: s32[16,16] in dram strides [16,1] align 64 at 512 of C argument
  a: s8[16,16] in spad strides [16,1] align 64 at 0 of A
  b: s8[16,16] in spad strides [16,1] align 64 at 256 of B
  c: s32[16,16] in acc strides [16,1] align 64 at 0 of C
schedule
body
  call mvin(a[$i, $j], A[$i, $j]) extents [16,16]
  call mvin(b[$i, $j], B[$i, $j]) extents [16,16]
  call mma(c[$i, $j], a[$i, $k], b[$k, $j]) extents [16,16,16] start zero
  call mvout(C[$i, $j], c[$i, $j]) extents [16,16]
)";

struct Outcome {
  std::string complaint;
  std::vector<std::uint8_t> result;
};
Outcome simulated(const std::string& text, const Program& p, const HardwareModel& model) {
  auto data = inputs(p, 1);
  const auto time = simulate(text, p, model, data, 10);
  return {time ? "" : time.diagnostics()[0].message, data[2].bytes};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Only the words, as a machine would see them.
std::string words_of(const std::string& text) {
  std::string words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at), word = text.find("# 0x", at);
    if (text[at] != '#' && word < end) words += ".word " + text.substr(word + 2, end - word - 2) + "\n";
    at = end + 1;
  }
  return words;
}

TEST(SimulatedWords, AreEnough) {
  const auto model = machine("npu16");
  const auto p = program(model, one_tile);
  const std::string text = *print_assembly(p, model);
  const Outcome expected = simulated(text, p, model), found = simulated(words_of(text), p, model);
  EXPECT_EQ(found.complaint, "");
  EXPECT_EQ(found.result, expected.result);
  EXPECT_EQ(words_of(text).substr(0, 82), R"(.word 0x00000010000000000000000000101001
.word 0x00000010000001000000010000101001
)");
}

/// Every bit of every word matters: with one changed the result differs or the word is refused.
TEST(SimulatedWords, NoticeEveryChangedBit) {
  const auto model = machine("npu16");
  const auto p = program(model, one_tile);
  const std::string words = words_of(*print_assembly(p, model));
  const Outcome expected = simulated(words, p, model);
  int refused = 0, different = 0;
  for (std::size_t line = 0; line < 4; ++line)
    for (int bit = 0; bit < 128; ++bit) {
      const std::size_t at = line * 41 + 8;
      Word word = *Word::parse(words.substr(at - 2, 34), 128);
      word.set(bit, 1, 1 - word.get(bit, 1));
      std::string changed = words;
      changed.replace(at - 2, 34, word.hexadecimal());
      const Outcome found = simulated(changed, p, model);
      ++(found.complaint.empty() ? different : refused);
      EXPECT_TRUE(!found.complaint.empty() || found.result != expected.result) << "line " << line << " bit " << bit;
    }
  EXPECT_GT(refused, 200);
  EXPECT_GT(different, 20);
}

TEST(SimulatedWords, TextAndWordMustAgree) {
  const auto model = machine("npu16");
  const auto p = program(model, one_tile);
  const std::string text = *print_assembly(p, model);
  const auto complaint = [&](const std::string& from, const std::string& to) {
    return simulated(replaced(text, from, to), p, model).complaint;
  };
  EXPECT_EQ(complaint("mma 0, 0, 256, 0", "mma 0, 0, 256, 1"), "the text of 'mma' says start[C] = 1, its word says 0");
  EXPECT_EQ(complaint("0x00000100000000000000000000000004", "0x00000100000000000000000000000003"),
            "word 0x00000100000000000000000000000003 is no encoding of a command of npu16");
  EXPECT_EQ(complaint("mma 0, 0, 256, 0 ", "clear 0 "),
            "the text says 'clear', its word 0x00000100000000000000000000000004 is 'mma'");
  EXPECT_EQ(
      complaint("mma 0, 0, 256, 0                        # 0x00000100000000000000000000000004", "mma 0, 0, 256, 0"),
      "'mma' has an encoding, and the line has no word");
  EXPECT_EQ(complaint("0x00000100000000000000000000000004", "0x0000010000000000000000000000000"),
            "word 0x0000010000000000000000000000000 is no encoding of a command of npu16");
}

const char* const flipped = R"(program flipped
kernel
  kernel flip
  tensor A: s8[8,16]
  tensor O: s8[8,16]
  s0: O[i,j] = A[7 - i,j] over i: 8, j: 16
buffers
  A: s8[8,16] in dram strides [16,1] align 64 at 200000 of A argument
  O: s8[8,16] in dram strides [16,1] align 64 at 1024 of O argument
  a: s8[8,16] in pad strides [16,1] align 64 at 64 of A
schedule
body
  call load(a[$i, $j], A[7 - $i, $j]) extents [8,16]
  call store(O[$i, $j], a[$i, $j]) extents [8,16]
)";

HardwareModel packed() {
  auto loaded = load_hardware(std::string(ISAMAP_SOURCE_DIR) + "/tests/backends/models/packed.yaml", {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

/// Row 7 stands at 200000 + 112 = 0x30db0; the pitch is -16.
TEST(Packed, WordsStandInTheText) {
  const auto model = packed();
  const auto text = print_assembly(program(model, flipped), model);
  ASSERT_TRUE(text) << render(text.diagnostics());
  EXPECT_EQ(text->substr(text->find("configure")), R"(configure 0x00080000000000000000005e
copy 0x00004, 0xaffff00000030db0
configure 0x80080000000000000000005e
copy 0xa000100000000400, 0x00004
)");
}

TEST(Packed, WordsAreReadBack) {
  const auto model = packed();
  for (const std::uint64_t seed : {1, 2}) expect_same(program(model, flipped), model, seed);
}

TEST(Packed, WrongWordsAreNoticed) {
  const auto model = packed();
  const auto p = program(model, flipped);
  const std::string text = *print_assembly(p, model);
  const auto outcome = [&](const std::string& from, const std::string& to) {
    auto data = inputs(p, 1), right = data;
    EXPECT_TRUE(interpret(p, model, right));
    const auto time = simulate(replaced(text, from, to), p, model, data, 10);
    return !time ? time.diagnostics()[0].message : data[1].bytes == right[1].bytes ? "equal" : "different";
  };
  EXPECT_EQ(outcome("0xaffff0", "0xafffe0"), "different");  // the pitch
  EXPECT_EQ(outcome("30db0", "30da0"), "different");        // the address: its low part
  EXPECT_EQ(outcome("0030db0", "0020db0"), "different");    // and its high part
  EXPECT_EQ(outcome("0xaffff0", "0xbffff0"), "'copy 0x00004, 0xbffff00000030db0' is no command of packed");
  EXPECT_EQ(outcome("configure 0x8", "configure 0x0"), "'store' needs cfg.way = 1, which is 0");
  EXPECT_EQ(outcome("copy 0x00004", "copy 0x0004"), "'copy 0x0004, 0xaffff00000030db0' is no command of packed");
}

/// A pitch that the word cannot hold.
TEST(Assembly, RefusesWhatTheWordCannotHold) {
  const auto model = machine("npu16");
  auto p = program(model, one_tile);
  p.buffers[0].address = std::int64_t{1} << 33;
  const auto text = print_assembly(p, model);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.diagnostics()[0].message,
            "'mvin' encodes S = 8589934592 in field 'dram' of format 'command', which has 32 bits");
}

}  // namespace
}  // namespace isamap
