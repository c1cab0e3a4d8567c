// SPDX-License-Identifier: Apache-2.0
// Calls whose points are interpreted in rows: which offsets have a table, and that what depends on the order of the
// points is left to the points.

#include "program/call_rows.h"

#include <gtest/gtest.h>

#include "ir/text/parse.h"
#include "isamap/result.h"

namespace isamap {
namespace {

AffineExpr affine(const std::string& text) {
  auto parsed = parse_affine(text);
  EXPECT_TRUE(parsed) << render(parsed.diagnostics());
  return parsed ? *parsed : AffineExpr{};
}

TEST(CallRows, SplitOffsetsOfLoopsFromThoseOfDims) {
  const auto split = split_offset(affine("8*t + 2*$i + $i/4 + t/3 + 5"));
  ASSERT_TRUE(split);
  EXPECT_EQ(print(split->base), "8*t + t/3 + 5");
  EXPECT_EQ(print(split->distance), "2*$i + $i/4");
  EXPECT_FALSE(split_offset(affine("(t + $i)/4"))) << "both in one division";
}

TEST(CallRows, TablesListAllPointsOfABox) {
  DistanceTables tables;
  const auto table = tables.over(affine("10*$i - $j"), {"$i", "$j"}, {2, 3});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->distances, (std::vector<std::int64_t>{0, -1, -2, 10, 9, 8}));
  EXPECT_EQ(table->low, -2);
  EXPECT_EQ(table->high, 10);
  EXPECT_EQ(tables.over(affine("10*$i - $j"), {"$i", "$j"}, {2, 3}), table) << "calls share it";
  EXPECT_NE(tables.over(affine("10*$i - $j"), {"$j", "$i"}, {2, 3}), table) << "another order of points";
  EXPECT_TRUE(tables.over(0, {"$i"}, {0})->distances.empty());
  EXPECT_FALSE(tables.over(0, {"$i", "$j"}, {1 << 12, 1 << 12})) << "too large";
}

/// A call that sums a*b, from the identity or on what is there, and one that leaves its buffer.
TEST(CallRows, CombineInTheOrderOfThePoints) {
  Computation sum;
  sum.reduction = Reduction::add;
  sum.body = binary(BinaryOp::mul, read(0, DType::f32), read(1, DType::f32));
  sum.reads.resize(2);
  RowBody body(sum);
  DistanceTables tables;
  const std::vector<std::string> dims{"$k"};
  std::vector<RowOperand> operands(3);
  operands[0].table = tables.over(0, dims, {3});
  operands[1] = {1, CompiledAffine(affine("t"), {"t"}), tables.over(affine("$k"), dims, {3})};
  operands[2].constant = {2, 0};
  CallRows call(body, operands);
  std::vector<Storage> memory{{DType::f32, "C", {{0.5, 0}}}, {DType::f32, "A", {{1, 0}, {0x1p25, 0}, {1, 0}, {3, 0}}}};
  std::int64_t t = 0;
  ASSERT_TRUE(call.run(memory, &t, false));
  EXPECT_EQ(memory[0].values[0].real, 0x1p26) << "2.5 + 2^26 rounds, and so does + 2";
  t = 1;
  ASSERT_TRUE(call.run(memory, &t, true));
  EXPECT_EQ(memory[0].values[0].real, 0x1p26 + 8) << "+ 2 rounds, + 6 becomes 8";
  t = 2;
  EXPECT_FALSE(call.run(memory, &t, true));
  EXPECT_EQ(memory[0].values[0].real, 0x1p26 + 8) << "nothing was done";
}

}  // namespace
}  // namespace isamap
