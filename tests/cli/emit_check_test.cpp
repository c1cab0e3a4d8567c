// SPDX-License-Identifier: Apache-2.0
// isamap emit --check: what is printed has been run before.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::vector<std::string> product{"emit",     "--compute", "C[i] = A[i] * B[i]", "--dims", "i=7",
                                       "--target", "scalar_c"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(EmitCheck, WhatIsRightIsPrintedAsWithout) {
  const Said without = isamap(product), checked = isamap(with(product, {"--check"}));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, without.out);
  const Folder folder;
  const Said written = isamap(with(product, {"--check", "-o", folder / "c.cpp"}));
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(read_file(folder / "c.cpp"), without.out);
}

TEST(EmitCheck, CommandsAreSimulated) {
  std::vector<std::string> words{"emit",   "--compute",   "C[i,j] += A[i,k] * B[k,j]",
                                 "--dims", "i=5,j=7,k=9", "--target",
                                 "npu16",  "--dtypes",    "A=s8,B=s8,C=s32"};
  const Said without = isamap(words), checked = isamap(with(words, {"--check"}));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, without.out);
}

TEST(EmitCheckHeavy, KernelsOfAGpuAreEmulated) {
  std::vector<std::string> words{"emit",        "--compute",      "C[i,j] += A[i,k] * B[k,j]",
                                 "--dims",      "i=17,j=16,k=16", "--target",
                                 "nvidia_sm80", "--dtypes",       "A=f16,B=f16,C=f32"};
  const Folder folder;
  const Said checked = isamap(with(words, {"--check", "-o", folder / "out"}));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_TRUE(fs::is_directory(folder / "out"));
}

/// A compiler that makes sums of the kernel's products.
TEST(EmitCheck, WhatIsWrongIsNotPrinted) {
  const Folder bin;
  const std::string compiler =
      bin.write("adds",
                "#!/bin/sh\nfor f in \"$@\"; do case \"$f\" in */kernel.cpp) sed -i 's/\\(A\\[.*\\]\\) \\* B/\\1 + B/' "
                "\"$f\";; esac; done\nexec g++ \"$@\"\n");
  ::chmod(compiler.c_str(), 0700);
  const WithCompiler chosen(compiler);
  for (const bool to_file : {false, true}) {
    const Said said = isamap(with(product, to_file ? std::vector<std::string>{"--check", "-o", bin / "c.cpp"}
                                                   : std::vector<std::string>{"--check"}));
    EXPECT_EQ(said.code, 5) << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_FALSE(fs::exists(bin / "c.cpp"));
    EXPECT_NE(said.err.find("the printed program computes a wrong result: C["), std::string::npos) << said.err;
  }
  EXPECT_EQ(isamap(product).code, 0) << "nobody looked";
}

TEST(EmitCheck, WhatCannotRunHereIsToldAndPrinted) {
  const std::string text = isamap(product).out;
  const WithCompiler none("/no/such/compiler");
  const Said said = isamap(with(product, {"--check"}));
  EXPECT_EQ(said.code, 77) << said.err;
  EXPECT_EQ(said.out, text);
  EXPECT_NE(said.err.find("not checked: the compiler '/no/such/compiler' is missing"), std::string::npos) << said.err;
}

/// Its large local arrays lie in memory of the caller's, of which there is not a byte more than the header says.
TEST(EmitCheck, WithTheWorkspaceOfTheCaller) {
  const Folder folder;
  const std::string schedule = folder.write("s.yaml", R"(schedule: formula
kernel: formula
target: scalar_c
nest:
  - for i by 1
  - stage A in ram
  - stage B in ram
  - for j by 1
  - for k by 1
  - do s0 with scalar
)");
  const std::vector<std::string> words{"emit",       "--compute",      "C[i,j] += A[i,k] * B[k,j]",
                                       "--dims",     "i=3,j=65,k=700", "--target",
                                       "scalar_c",   "--schedule",     schedule,
                                       "--workspace"};
  const Said without = isamap(words), checked = isamap(with(words, {"--check"}));
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, without.out);
  EXPECT_NE(checked.out.find("static_cast<char*>(workspace)"), std::string::npos) << checked.out;
}

TEST(EmitCheck, AProgramThatIsNoTargetTextIsNotChecked) {
  EXPECT_EQ(isamap(with(product, {"--check", "--program"})).code, 2);
}

/// GCC 12 made masked loads of `M[i] != 0 ? S[i] : x` in rows of 13, and mixed up the masks.
TEST(EmitCheck, ASelectOfALoad) {
  for (const char* target : {"x86_avx2", "x86_avx512"}) {
    const Said said = isamap({"emit", "--compute", "Y[i,j] = select(M[i,j], S[i,j], -3.4e38)", "--dims", "i=13,j=13",
                              "--target", target, "--check"});
    EXPECT_TRUE(said.code == 0 || said.code == 77) << target << ": " << said.err;
  }
}

}  // namespace
}  // namespace isamap::cli_test
