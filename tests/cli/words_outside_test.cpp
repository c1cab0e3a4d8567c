// SPDX-License-Identifier: Apache-2.0
// systolic16 against a simulator that knows nothing of its file: the words mean there what the real array's functional
// model says (tests/cli/simulator/array_of_words.cpp).

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// The file with the other simulator, whose memory begins at `base`.
std::string file_text(const std::string& base = "0x90000000") {
  const std::string text =
      replaced(read_file(ISAMAP_SOURCE_DIR "/hardware_models/systolic16.yaml"), "base: 0x90000000", "base: " + base);
  return replaced(text, "program: {language: asm,",
                  "program: {run: {simulator: array of words, command: \"" ISAMAP_ARRAY_OF_WORDS
                  " {program} {folder} " +
                      base + "\", seconds: 30}, language: asm,");
}

Said run_of(const std::string& file, const std::string& sizes) {
  return isamap({"run", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", sizes, "--dtypes", "A=s8,B=s8,C=s32",
                 "--target", file, "--budget", "evals=30", "--json"});
}

TEST(WordsOutside, ProductsConvolutionsAndScaledOutputsAreRight) {
  const Folder folder;
  const std::string file = folder.write("theirs.yaml", file_text());
  for (const char* sizes : {"i=16,j=16,k=16", "i=37,j=52,k=70", "i=1,j=1,k=1", "i=64,j=64,k=64"}) {
    const Said said = run_of(file, sizes);
    EXPECT_EQ(said.code, 0) << sizes << said.out << said.err;
    EXPECT_EQ(parsed(said).value("simulator", ""), "array of words");
  }
  for (const char* name : {"conv2d_s8", "linear_s8", "requantise"}) {
    const Said said = isamap({"run", example(name), "--target", file, "--json"});
    EXPECT_EQ(said.code, 0) << name << said.out << said.err;
    EXPECT_EQ(parsed(said).value("correct", false), true) << name;
  }
}

/// The weights that a `preload` names are fetched by the product behind it: the list scheduler puts no move that
/// overwrites them in between, though the file says that they have left the scratchpad.
TEST(WordsOutside, WeightsStayUntilTheProductThatTakesThem) {
  const Folder folder;
  const std::string file = folder.write("theirs.yaml", file_text());
  for (const char* sizes : {"i=60,j=34,k=4", "i=58,j=34,k=3", "i=33,j=40,k=20", "i=48,j=49,k=1"}) {
    const Said said = run_of(file, sizes);
    EXPECT_EQ(said.code, 0) << sizes << said.out << said.err;
  }
}

TEST(WordsOutside, EachInstructionThatCanBeIsolatedIsEqual) {
  const Folder folder;
  const Said said = isamap({"hw", "verify", folder.write("theirs.yaml", file_text()), "--json"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(parsed(said).value("wrong", -1), 0) << said.out;
  EXPECT_GE(parsed(said).value("equal", 0), 5) << said.out;
}

/// What our own simulator cannot see, since it executes the file: each of these was in the file once.
TEST(WordsOutside, WhatOnlyTheOtherMeaningShows) {
  const Folder folder;
  const auto wrong = [&](const std::string& text, const std::string& instead_of_wrong) {
    const Said said = run_of(folder.write("planted.yaml", text), "i=32,j=16,k=16");
    EXPECT_EQ(said.code, 5) << instead_of_wrong << said.out << said.err;
  };
  wrong(replaced(file_text(), "a_stride: 1, ", ""), "rows of A fall on one row");
  wrong(replaced(file_text(), ", c_stride: 1", ""), "rows of the result fall on one row");
  wrong(file_text("0"), "a move from address 0 brings zeros");
}

}  // namespace
}  // namespace isamap::cli_test
