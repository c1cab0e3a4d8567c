// SPDX-License-Identifier: Apache-2.0
// The table of known counts: Graver directions, the whole class (ALL) and its sensible part (DEFAULT) for nineteen
// kernels on a 4x2x4 matrix unit and for other instructions, recounted by brute force.

#include <gtest/gtest.h>

#include "isamap/interpret.h"
#include "tests/mapper/cases.h"
#include "tests/mapping_oracle/classes.h"
#include "tests/mapping_oracle/cover.h"
#include "tests/mapping_oracle/execute.h"
#include "tests/mapping_oracle/notation.h"

namespace isamap::oracle {
namespace {

const Nest matrix_form = nest_from("i j k", "C[i,j] A[i,k] B[k,j]", {{"i", 4}, {"j", 2}, {"k", 4}});
const Nest vector_form = nest_from("i", "C[i] A[i] B[i]");
const Nest dot_form = nest_from("i x", "C[i] A[i,x] B[i,x]");
const Nest broadcast_form = nest_from("i x", "C[i] A[x] B[i,x]");
const Nest joined_form = nest_from("i j k x", "C[i,j] A[i,k,x] B[k,j,x]");

struct Known {
  std::string name, dims, operands, face, raw, directions;
  int all, all_orders, in_default, default_orders, skew, split, block,
      has_virtual;  // as published; *_orders: with every order of parallel output digits
};

Nest kernel_of(const Known& row) {
  Nest nest = nest_from(row.dims, row.operands, {}, 16);
  if (!row.face.empty()) nest.faces = {nest_from(row.dims, "F[" + row.face + "]").operands[0][0]};
  return nest;
}

std::string direction_text(const Vec& v, const Nest& kernel) {
  std::string text;
  for (std::size_t d = 0; d < v.size(); ++d) {
    if (v[d] == 0) continue;
    text += v[d] < 0 ? "-" : text.empty() ? "" : "+";
    if (std::abs(v[d]) > 1) text += std::to_string(std::abs(v[d]));
    text += kernel.names[d];
  }
  return text;
}

struct Counts {
  int all = 0, in_default = 0, skew = 0, split = 0, block = 0, has_virtual = 0, uncarried = 0;
};
Counts count(const Nest& kernel, const Nest& unit, Orders orders) {
  Counts counts;
  for (const Member& member : all_members(kernel, unit, orders)) {
    ++counts.all;
    counts.uncarried += member.carried ? 0 : 1;
    if (!member.in_default) continue;
    ++counts.in_default;
    counts.skew += member.skew ? 1 : 0;
    counts.split += member.split ? 1 : 0;
    counts.block += member.block ? 1 : 0;
    counts.has_virtual += member.has_virtual ? 1 : 0;
  }
  return counts;
}

const std::string conv_dims = "n k c p r", depth2_dims = "n c p q r s";

const std::vector<Known> known_counts = {
    {"gemm", "i j k", "C[i,j] A[i,k] B[k,j]", "", "1+1+1", "i;j;k", 8, 8, 1, 1, 0, 0, 0, 0},
    {"conv1d", conv_dims, "O[n,k,p] I[n,c,p+r] F[k,c,r]", "", "4+4+4", "n,p;k,p-r;c,r", 72, 80, 9, 9, 0, 0, 0, 0},
    {"conv1d stride 2", conv_dims, "O[n,k,p] I[n,c,2p+r] F[k,c,r]", "", "4+1+4", "n,p;k,p-2r;c,r", 80, 80, 9, 9, 0, 0,
     0, 0},
    {"conv1d dilation 2", conv_dims, "O[n,k,p] I[n,c,p+2r] F[k,c,r]", "", "4+1+4", "n,p;k,2p-r;c,r", 72, 80, 9, 9, 0, 0,
     0, 0},
    {"conv1d s2 d3", conv_dims, "O[n,k,p] I[n,c,2p+3r] F[k,c,r]", "", "4+1+4", "n,p;k,3p-2r;c,r", 72, 80, 9, 9, 0, 0, 0,
     0},
    {"conv2d", "n k c p q r s", "O[n,k,p,q] I[n,c,p+r,q+s] F[k,c,r,s]", "", "13+13+13", "n,p,q;k,p-r,q-s;c,r,s", 648,
     800, 49, 49, 0, 0, 0, 0},
    {"depthwise 1-D", "n c q s", "O[n,c,q] I[n,c,q+s] F[c,s]", "", "4+1+1", "n,q;q-s;s", 72, 80, 32, 34, 19, 14, 24, 3},
    {"depthwise 2-D", depth2_dims, "O[n,c,p,q] I[n,c,p+r,q+s] F[c,r,s]", "", "13+4+4", "n,p,q;p-r,q-s;r,s", 648, 800,
     394, 472, 321, 242, 276, 21},
    {"grouped 1-D", "n g k c p r", "O[n,g,k,p] I[n,g,c,p+r] F[g,k,c,r]", "", "4+4+4", "n,p;k,p-r;c,r", 288, 320, 9, 9,
     0, 0, 0, 0},
    {"stencil 1-D", "q s", "O[q] I[q+s] F[s]", "", "1+1+1", "q;q-s;s", 9, 10, 3, 3, 2, 2, 0, 1},
    {"stencil 2-D", "p q r s", "O[p,q] I[p+r,q+s] F[r,s]", "", "4+4+4", "p,q;p-r,q-s;r,s", 81, 100, 53, 63, 44, 38, 0,
     9},
    {"transposed, gather", conv_dims, "O[n,k,p] I[n,c,p+r] F[k,c,2-r]", "", "4+4+4", "n,p;k,p-r;c,r", 72, 80, 9, 9, 0,
     0, 0, 0},
    {"transposed, scatter", conv_dims, "O[n,k,2p+r] I[n,c,p] F[k,c,r]", "", "4+4+1", "n,p;k,r;c,p-2r", 64, 80, 9, 13, 0,
     0, 0, 0},
    {"outer product", "i j", "C[i,j] A[i] B[j]", "", "1+1+0", "i;j;", 4, 4, 1, 1, 0, 0, 0, 1},
    {"batched gemm", "b i j k", "C[b,i,j] A[b,i,k] B[b,k,j]", "", "1+1+1", "i;j;k", 32, 32, 1, 1, 0, 0, 0, 0},
    {"dot product", "k", "C[] A[k] B[k]", "", "0+0+1", ";;k", 2, 2, 1, 1, 0, 0, 0, 1},
    {"mean", "i k", "O[i] I[i,k] W[]", "", "4+0+1", "i,k;;k", 4, 4, 1, 1, 0, 0, 0, 1},
    {"scan", "i k", "O[i] I[k] W[]", "i-k", "4+1+1", "i,k;i;k", 6, 6, 2, 2, 0, 0, 0, 2},
    {"two filters", "p r u", "O[p] I[p+r+u] W[r,u]", "", "1+3+4", "p;p-u,p-r,r-u;r,u", 28, 40, 13, 15, 10, 10, 0, 3},
};

class Table : public ::testing::TestWithParam<Known> {};

TEST_P(Table, DirectionsAndCounts) {
  const Known& row = GetParam();
  const Nest kernel = kernel_of(row);
  std::string raw, directions;
  for (const DimClass& c : dim_classes(kernel, matrix_form)) {
    std::string list;
    for (const Vec& v : c.directions) list += (list.empty() ? "" : ",") + direction_text(v, kernel);
    directions += list + ";";
  }
  for (const DimClass& c : dim_classes(kernel, matrix_form)) {
    std::vector<Vec> equations;
    for (std::size_t t = 0; t < 3; ++t) {
      if (c.uses.count(static_cast<int>(t)) > 0) continue;
      for (const oracle::Row& index : kernel.operands[t]) equations.push_back(index.coefficients);
    }
    raw += (raw.empty() ? "" : "+") + std::to_string(kernel_vectors(equations, kernel.dims(), 1).size());
  }
  EXPECT_EQ(raw, row.raw);
  EXPECT_EQ(directions, row.directions + ";");
  const Counts counts = count(kernel, matrix_form, Orders::counted_once);
  EXPECT_EQ(counts.all, row.all);
  EXPECT_EQ(counts.in_default, row.in_default);
  EXPECT_EQ(counts.skew, row.skew);
  EXPECT_EQ(counts.split, row.split);
  EXPECT_EQ(counts.block, row.block);
  EXPECT_EQ(counts.has_virtual, row.has_virtual);
  EXPECT_EQ(counts.uncarried, 0);
  const Counts every = count(kernel, matrix_form, Orders::every_order);
  EXPECT_EQ(every.all, row.all_orders);
  EXPECT_EQ(every.in_default, row.default_orders);
}

std::string name_of(const ::testing::TestParamInfo<Known>& row) {
  std::string name;
  for (const char c : row.param.name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Kernels, Table, ::testing::ValuesIn(known_counts), name_of);

const Known& named(const std::string& name) {
  for (const Known& row : known_counts)
    if (row.name == name) return row;
  return known_counts[0];
}

std::string counts_on(const Nest& unit, const std::string& name) {
  const Counts counts = count(kernel_of(named(name)), unit, Orders::counted_once);
  return name + " " + std::to_string(counts.all) + "/" + std::to_string(counts.in_default);
}

TEST(OtherInstructions, Vector) {
  EXPECT_EQ(counts_on(vector_form, "conv1d"), "conv1d 8/7");
  EXPECT_EQ(counts_on(vector_form, "conv2d"), "conv2d 16/15");
}
TEST(OtherInstructions, Dot) {
  EXPECT_EQ(counts_on(dot_form, "gemm"), "gemm 8/3");
  EXPECT_EQ(counts_on(dot_form, "conv1d"), "conv1d 32/21");
  EXPECT_EQ(counts_on(dot_form, "conv2d"), "conv2d 128/105");
  EXPECT_EQ(counts_on(dot_form, "depthwise 2-D"), "depthwise 2-D 64/45");
}
TEST(OtherInstructions, OneInputWithoutTheVectorDim) {
  EXPECT_EQ(counts_on(broadcast_form, "gemm"), "gemm 8/1");
  EXPECT_EQ(counts_on(broadcast_form, "conv1d"), "conv1d 48/3");
  EXPECT_EQ(counts_on(broadcast_form, "conv2d"), "conv2d 288/7");
  EXPECT_EQ(counts_on(broadcast_form, "depthwise 2-D"), "depthwise 2-D 144/60");
}
TEST(OtherInstructions, JoinedDims) {
  EXPECT_EQ(counts_on(joined_form, "gemm"), "gemm 8/1");
  EXPECT_EQ(counts_on(joined_form, "conv1d"), "conv1d 72/9");
}

/// "C[i,j] += A[i,k] * B[k,j]" for the compiler's parser.
std::string text_of(const Nest& nest) {
  std::vector<std::string> operands;
  for (std::size_t t = 0; t < nest.operands.size(); ++t) {
    std::string list;
    for (const Row& row : nest.operands[t]) {
      std::string index;
      for (std::size_t d = 0; d < nest.dims(); ++d) {
        if (row.coefficients[d] == 0) continue;
        index += row.coefficients[d] < 0 ? " - " : index.empty() ? "" : " + ";
        index += std::to_string(std::abs(row.coefficients[d])) + "*" + nest.names[d];
      }
      list += (list.empty() ? "" : ",") + index + " + 60";
    }
    operands.push_back(std::string(1, "CAB"[t]) + "[" + list + "]");
  }
  return operands[0] + " += " + operands[1] + " * " + operands[2];
}

/// How many mappings the mapper lists: operands as written, no partial sums.
int listed(const Known& row, Rule rule) {
  const Nest nest = kernel_of(row);
  testing::Sizes sizes;
  for (std::size_t d = 0; d < nest.dims(); ++d) sizes[nest.names[d]] = nest.extents[d];
  Kernel kernel = testing::kernel_of(text_of(nest), sizes);
  if (!row.face.empty())
    kernel.statements[0].domain.faces = {AffineExpr::dim(nest.names[0]) - AffineExpr::dim(nest.names[1])};
  int count = 0;
  for (const isamap::Mapping& mapping : testing::map_one(kernel, testing::matrix_unit(4, 2, 4), rule).mappings)
    count += mapping.kinds.count(Kind::exchange) + mapping.kinds.count(Kind::partial) == 0 ? 1 : 0;
  return count;
}

TEST(TableOfTheMapper, SameCounts) {
  for (const Known& row : known_counts) {
    EXPECT_EQ(listed(row, Rule::all), row.all) << row.name;
    EXPECT_EQ(listed(row, Rule::full), row.in_default) << row.name;
  }
}

/// Members of the class as mappings: the definitions by points, and run on integers.
void expect_right(const Known& row, const Nest& unit, Orders orders, Int keep_one_in, std::uint64_t seed) {
  Random random(seed);
  Nest kernel = kernel_of(row);
  kernel.extents = {};
  for (std::size_t d = 0; d < kernel.names.size(); ++d) kernel.extents.push_back(random.between(2, 4));
  if (!kernel.faces.empty()) kernel.face_names = {"cut>=0"};
  for (const Member& member : all_members(kernel, unit, orders)) {
    if (random.between(1, keep_one_in) > 1) continue;
    Mapping mapping = realise(member, kernel, unit);
    const std::string shown = row.name + ": " + print(member, kernel, unit) + " seed " + std::to_string(seed);
    ASSERT_TRUE(add_loops(kernel, mapping)) << shown;
    ASSERT_TRUE(add_carriers(kernel, unit, mapping)) << shown;
    EXPECT_EQ(judge(kernel, unit, mapping).text(), "") << shown << "\n" << print(mapping, kernel, unit);
    EXPECT_EQ(execute(kernel, unit, mapping, seed).problem, "") << shown << "\n" << print(mapping, kernel, unit);
  }
}

TEST(TableByPoints, SomeOfEachKernel) {
  for (const Known& row : known_counts) expect_right(row, matrix_form, Orders::every_order, 1 + row.all_orders / 2, 1);
}
TEST(TableByPointsHeavy, AllOfEachKernel) {
  for (const Known& row : known_counts)
    expect_right(row, matrix_form, Orders::every_order, row.all_orders > 400 ? 4 : 1, 2);
}
TEST(TableByPointsHeavy, OtherInstructions) {
  for (const Nest& unit : {vector_form, dot_form, broadcast_form, joined_form})
    for (const char* name : {"gemm", "conv1d", "depthwise 1-D"})
      expect_right(named(name), unit, Orders::every_order, 1, 3);
}

}  // namespace
}  // namespace isamap::oracle
