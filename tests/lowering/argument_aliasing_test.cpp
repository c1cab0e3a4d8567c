// SPDX-License-Identifier: Apache-2.0
// Programs that may write a result into the storage of an argument, and those that read an element too late.

#include "program/argument_aliasing.h"

#include <gtest/gtest.h>

#include "ir/text/parse.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

/// Y[to] = E[from] over 8 elements of each.
Node copy(const std::string& to, const std::string& from) {
  Element element;
  element.write = {make_id<BufferId>(1), {*parse_affine(to)}};
  element.reads = {{make_id<BufferId>(0), {*parse_affine(from)}}};
  element.body = read(0, DType::f32);
  return {element};
}

Node loop(const std::string& variable, std::int64_t trip, std::vector<Node> body, const std::string& unit = "") {
  Loop made;
  made.variable = variable;
  made.trip = trip;
  made.unit = unit;
  made.body = std::move(body);
  return {made};
}

bool may(std::vector<Node> body) {
  Program program;
  for (const char* name : {"E", "Y"}) {
    Buffer buffer;
    buffer.name = name;
    buffer.extents = {8};
    buffer.strides = {1};
    buffer.role = BufferRole::argument;
    program.buffers.push_back(buffer);
  }
  program.body = std::move(body);
  return reads_before_overwriting(program, machine("scalar_c"), make_id<BufferId>(0), make_id<BufferId>(1));
}

TEST(Overwriting, IsAllowedWhereEachElementIsReadFirst) {
  EXPECT_TRUE(may({loop("i", 8, {copy("i", "i")})}));
  EXPECT_TRUE(may({loop("i", 2, {loop("j", 4, {copy("4*i + j", "4*i + j")})})})) << "tiles";
  EXPECT_TRUE(may({loop("i", 7, {copy("i", "i + 1")})})) << "what is read was written by no earlier iteration";
  EXPECT_FALSE(may({loop("i", 7, {copy("i + 1", "i")})})) << "element 1 is read when it has been written";
  EXPECT_TRUE(may({loop("i", 7, {copy("7 - i", "6 - i")})})) << "the same from the end";
  EXPECT_FALSE(may({loop("i", 8, {copy("i", "7 - i")})})) << "reversed";
}

TEST(Overwriting, IsRefusedWhereElementsAreComputedAgain) {
  EXPECT_FALSE(may({loop("k", 2, {loop("i", 8, {copy("i", "i")})})})) << "twice";
  EXPECT_FALSE(may({loop("i", 3, {loop("j", 4, {copy("2*i + j", "2*i + j")})})})) << "tiles that overlap";
  EXPECT_FALSE(may({loop("z", 8, {copy("z", "0")}), loop("i", 8, {copy("i", "i")})})) << "begun at a value first";
}

TEST(Overwriting, IterationsOverInstancesRunInAnyOrder) {
  EXPECT_TRUE(may({loop("i", 8, {copy("i", "i")}, "core")}));
  EXPECT_FALSE(may({loop("i", 7, {copy("i", "i + 1")}, "core")})) << "iteration 1 may have been before 0";
  EXPECT_TRUE(may({loop("i", 2, {loop("j", 3, {copy("4*i + j", "4*i + j + 1")})}, "core")}));
  EXPECT_FALSE(may({loop("i", 2, {loop("j", 3, {copy("3*i + j", "3*i + j + 1")})}, "core")}))
      << "the last read of iteration 0 is what iteration 1 writes first";
}

TEST(Overwriting, IsRefusedWhereOffsetsAreNotKnown) {
  EXPECT_FALSE(may({loop("i", 8, {copy("i", computed_name(0))})}));
  EXPECT_FALSE(may({loop("i", 9, {copy("i", "i")})})) << "beyond both";
}

}  // namespace
}  // namespace isamap
