// SPDX-License-Identifier: Apache-2.0
#include "isamap/schedule.h"

#include <gtest/gtest.h>

#include "isamap/interpret.h"

namespace isamap {
namespace {

std::string line_reprinted(const std::string& text) {
  const auto line = parse_line(text, {"s.yaml", 6, 5});
  return line ? print(*line) : render(line.diagnostics());
}

TEST(ScheduleLine, PrintsAsItReads) {
  for (const char* text : {
           "for i by 528 on core tail pad",
           "for n.p by 48, k by 8 on core tail split",
           "for k by 1 unroll",
           "for c by 4 on mac.x combine shuffle_max tail split unroll",
           "for p + r by 1 unroll",
           "for i by 128, j by 128 on block wrap raster grouped(8) tail pad",
           "stage A in shared x4 as [k/64, i, k%64] xor 3 from 7 to 4 via mv role loader",
           "stage C in zmm",
           "stage F in ram as [k/32, r, s, c, k%32] aot",
           "stage A in L1 x3 ahead 1 as [i/48, k pad 8, p + r] via load16.store16 slide",
           "stage A in spad x2",
           "stage A in spad x2 ahead 0",
           "stage A in spad x2 as [i, k] xor 3 from 7 to 4 via mv",
           "stage C in acc x2 first flag",
           "do mx with scalar",
           "do mm with mac()",
           "do s0 with fma_f32(j=n.p) operands A=F B=I outside I pad",
           "do s0 with mma(i=p:7.q:7, j=-, k=(q - s):3.(2*r)) outside I skip outside F pad",
       })
    EXPECT_EQ(line_reprinted(text), text);
}

TEST(ScheduleLine, WordsStandInAnyOrder) {
  EXPECT_EQ(line_reprinted("for i by 0x10 unroll tail pad on core"), "for i by 16 on core tail pad unroll");
  EXPECT_EQ(line_reprinted("stage A in L2 aot via mv as [ i/4,i%4 ] ahead 2 x3"),
            "stage A in L2 x3 as [i/4, i%4] via mv aot");
}

TEST(ScheduleLine, Errors) {
  EXPECT_EQ(line_reprinted("loop i by 4"), "s.yaml:6:5: expected 'for', 'stage' or 'do', found 'loop'\n");
  EXPECT_EQ(line_reprinted("for i 4"), "s.yaml:6:11: expected 'by' and a tile size, found '4'\n");
  EXPECT_EQ(line_reprinted("for i by 0"), "s.yaml:6:14: a tile size is at least 1, found 0\n");
  EXPECT_EQ(line_reprinted("for i by 4 unrol"),
            "s.yaml:6:16: unknown word 'unrol'\n  hint: known here: on, wrap, raster, combine, tail, unroll\n");
  EXPECT_EQ(line_reprinted("for i by 4 raster rows"), "s.yaml:6:23: expected grouped(N), found 'rows'\n");
  EXPECT_EQ(
      line_reprinted("for i by 4 peel"),
      "s.yaml:6:16: unknown word 'peel'\n  hint: tails are peeled by default: a short tile has separate code; known "
      "here: on, wrap, raster, combine, tail, unroll\n");
  EXPECT_EQ(line_reprinted("stage A in L1 drain add"),
            "s.yaml:6:19: unknown word 'drain'\n  hint: partial sums are added by `combine INSTRUCTION` at the loop "
            "that splits the reduction; known here: xN, ahead, as, xor, via, role, aot, slide, first, then, from\n");
  EXPECT_EQ(line_reprinted("for i by 4 tail mask"),
            "s.yaml:6:21: expected a tail (pad, split), found 'mask'\n  hint: leave it out: it is derived\n");
  EXPECT_EQ(line_reprinted("for i by 4 unroll unroll"), "s.yaml:6:23: 'unroll' occurs twice\n");
  EXPECT_EQ(line_reprinted("for i by 4 tail split tail pad"), "s.yaml:6:27: 'tail' occurs twice\n");
  EXPECT_EQ(line_reprinted("for i by 4 tail cut"),
            "s.yaml:6:21: expected a tail (pad, split), found 'cut'\n  hint: leave it out: it is derived\n");
  EXPECT_EQ(line_reprinted("stage A in L1 first fill"),
            "s.yaml:6:25: expected how it starts (flag, load), found 'fill'\n  hint: leave it out: an output starts at "
            "the identity of its reduction\n");
  EXPECT_EQ(line_reprinted("do s0 with fma(i=j) holding A=1 holding B=2"), "s.yaml:6:37: 'holding' occurs twice\n");
  EXPECT_EQ(line_reprinted("stage A in L1 x2 x3"), "s.yaml:6:22: 'x3' occurs twice\n");
  EXPECT_EQ(line_reprinted("stage A L1"), "s.yaml:6:13: expected 'in' and a memory, found 'L1'\n");
  EXPECT_EQ(line_reprinted("stage A in L1 x0"), "s.yaml:6:19: a stage has 1 to 1048576 buffers, found 0\n");
  EXPECT_EQ(line_reprinted("stage A in L1 x99999999999"),
            "s.yaml:6:19: a stage has 1 to 1048576 buffers, found 99999999999\n");
  EXPECT_EQ(line_reprinted("stage A in L1 as [k/8 ^ i%8]"),
            "s.yaml:6:27: exclusive or follows the layout: as [..] xor 3 from 7 to 4\n");
  EXPECT_EQ(line_reprinted("stage A in L1 as [i, k] xor 3 from 5 to 4"),
            "s.yaml:6:45: bits 4 to 6 cannot be changed by bits from 5 on: those must lie above\n");
  EXPECT_EQ(line_reprinted("stage A in L1 x2 ahead 2"),
            "s.yaml:6:22: ahead 2 needs 3 buffers: the tile in use has one too\n  hint: write x3 ahead 2\n");
  EXPECT_EQ(line_reprinted("do s0 with fma"), "s.yaml:6:19: expected '(', found the end\n");
  EXPECT_EQ(line_reprinted("do s0 with fma(i=(q/2))"), "s.yaml:6:22: the column of a digit must be linear\n");
  EXPECT_EQ(
      line_reprinted("do s0 with fma(i=j) outside I"),
      "s.yaml:6:34: expected what reads outside do (pad, skip), found the end\n  hint: pad, the default: its tile "
      "holds what it yields there; skip: nothing is computed\n");
}

TEST(Schedule, PrintsYaml) {
  Schedule schedule{"hand", "gemm", "x86 \"new\"", {}, {}, {}, {}};
  EXPECT_EQ(print(schedule), "schedule: hand\nkernel: gemm\ntarget: \"x86 \\\"new\\\"\"\nnests: []\n");
  schedule.target = "npu";
  schedule.nests.push_back({{*parse_line("for i by 4"), *parse_line("do s0 with mac(i=i)")}});
  EXPECT_EQ(print(schedule),
            "schedule: hand\nkernel: gemm\ntarget: npu\nnest:\n  - for i by 4\n  - do s0 with mac(i=i)\n");
  schedule.nests.push_back({{*parse_line("do s1 with scalar")}});
  EXPECT_EQ(print(schedule),
            "schedule: hand\nkernel: gemm\ntarget: npu\nnests:\n  -\n    - for i by 4\n    - do s0 with mac(i=i)\n"
            "  -\n    - do s1 with scalar\n");
}

class RandomLine {
 public:
  explicit RandomLine(std::uint64_t seed) : random_(seed) {}

  Line line() {
    const std::int64_t kind = random_.between(0, 2);
    if (kind == 0) return {for_line()};
    if (kind == 1) return {stage_line()};
    return {do_line()};
  }

 private:
  bool flip() { return random_.between(0, 1) == 1; }
  int up_to(int most) { return static_cast<int>(random_.between(0, most)); }
  // Names that are also words of the language are names where a name is expected.
  std::string name() {
    static const char* const names[] = {"i", "n", "p", "tail", "by", "x2", "A_1", "as", "scalar"};
    return names[up_to(8)];
  }
  AffineExpr linear() { return AffineExpr::dim(name()) * random_.between(-2, 3) + AffineExpr::dim("q"); }

  For for_line() {
    For line;
    for (int n = 1 + up_to(2); n > 0; --n) line.loops.push_back({flip() ? name() : "n.p", random_.between(1, 1000)});
    if (flip()) line.unit = flip() ? "core" : "mac.x";
    if (flip()) line.combine = name();
    line.tail = static_cast<Tail>(up_to(2));
    line.unroll = flip();
    return line;
  }

  Stage stage_line() {
    Stage line;
    line.tensor = name();
    line.memory = name();
    line.buffers = 1 + up_to(3);
    line.ahead = up_to(line.buffers - 1);
    if (flip()) line.swizzle = XorSwizzle{1 + up_to(2), 7, up_to(4)};
    for (int n = up_to(3); n > 0; --n)
      line.layout.push_back({flip() ? mod(linear(), 4) : floordiv(linear(), 32), random_.between(0, 2)});
    for (int n = up_to(2); n > 0; --n) line.via.push_back(name());
    line.ahead_of_time = flip();
    line.slide = flip();
    line.first = static_cast<First>(up_to(2));
    for (int n = up_to(2); n > 0; --n) line.then.push_back(name());
    if (flip()) line.from = name();
    return line;
  }

  Do do_line() {
    Do line;
    line.statement = name();
    if (flip()) {
      line.instruction = name();
      for (int n = up_to(3); n > 0; --n) line.dims.emplace_back(name(), digits());
    }
    for (int n = up_to(3); n > 0; --n) line.operands.emplace_back(name(), name());
    for (int n = up_to(2); n > 0; --n) line.outside.emplace_back(name(), static_cast<Outside>(up_to(1)));
    return line;
  }

  std::vector<Digit> digits() {
    std::vector<Digit> result;
    for (int n = up_to(3); n > 0; --n)
      result.push_back({flip() ? AffineExpr::dim(flip() ? name() : "n.p") : linear(), random_.between(1, 9)});
    return result;
  }

  Random random_;
};

TEST(ScheduleLaw, PrintedLinesReadBack) {
  RandomLine random(9);
  for (int round = 0; round < 5000; ++round) {
    const Line line = random.line();
    const auto again = parse_line(print(line));
    ASSERT_TRUE(again) << render(again.diagnostics());
    ASSERT_EQ(*again, line) << print(line) << "\n" << print(*again);
  }
}

TEST(ScheduleLaw, DamagedLinesNeverCrash) {
  RandomLine lines(10);
  Random random(11);
  for (int round = 0; round < 5000; ++round) {
    std::string text = print(lines.line());
    for (std::int64_t n = random.between(1, 3); n > 0 && !text.empty(); --n) {
      const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1));
      if (random.between(0, 1))
        text.erase(at, 1);
      else
        text[at] = static_cast<char>(random.between(0, 255));
    }
    if (const auto line = parse_line(text)) {
      ASSERT_EQ(print(*parse_line(print(*line))), print(*line)) << text;
    }
  }
}

}  // namespace
}  // namespace isamap
