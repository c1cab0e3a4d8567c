// SPDX-License-Identifier: Apache-2.0
// -o writes whole files or none; two runs do not disturb each other; pictures and texts hold what they should.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

std::vector<std::string> emit_to(const std::string& file) {
  return {"emit", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8", "--target", "scalar_c", "-o", file};
}

TEST(Output, GoesToTheFileOnly) {
  const Folder folder;
  const Said said = isamap(emit_to(folder / "gemm.cpp"));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "");
  EXPECT_NE(read_file(folder / "gemm.cpp").find("extern \"C\""), std::string::npos);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"gemm.cpp"});
}

/// As of other programs: no file of this name.
TEST(Output, ADashIsTheStandardOutput) {
  const Folder folder;
  const std::string here = fs::current_path().string();
  fs::current_path(folder / "");
  const Said plain = isamap(emit_to("gemm.cpp")), dash = isamap(emit_to("-"));
  const Said report = isamap({"schedule", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8", "--target",
                              "scalar_c", "--trace", "-"});
  fs::current_path(here);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(dash.code, 0) << dash.err;
  EXPECT_EQ(dash.out, read_file(folder / "gemm.cpp"));
  EXPECT_EQ(report.code, 1);
  EXPECT_NE(report.err.find("-: is no file name\n  hint: /dev/stdout"), std::string::npos) << report.err;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"gemm.cpp"});
}

TEST(Output, AFailureLeavesTheOldFile) {
  const Folder folder;
  folder.write("out.json", "old");
  const Said said = isamap({"map", "no/such.yaml", "--target", "scalar_c", "-o", folder / "out.json"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(read_file(folder / "out.json"), "old");
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(Output, AFolderThatDoesNotExistIsNamed) {
  const Folder folder;
  const Said said = isamap(emit_to(folder / "no/such/gemm.cpp"));
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find(folder / "no/such/gemm.cpp:"), std::string::npos) << said.err;
  EXPECT_TRUE(folder.names().empty());
}

/// One file is written, so a folder is no place for it; several files want one.
TEST(Output, AFolderIsForSeveralFiles) {
  const Folder folder;
  fs::create_directory(folder / "out");
  for (const std::string& place : {folder / "out", folder / "out/"}) {
    const Said said = isamap(emit_to(place));
    EXPECT_EQ(said.code, 1) << place;
    EXPECT_NE(said.err.find(": is a folder"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("name a file in it"), std::string::npos) << said.err;
  }
  EXPECT_TRUE(fs::is_empty(folder / "out"));
  EXPECT_NE(isamap({"schedule", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8", "--target", "scalar_c",
                    "-o", folder / "out"})
                .err.find(": is a folder"),
            std::string::npos);
  const std::vector<std::string> several{"emit", example("gemm_bf16"), "--target", "nvidia_sm80", "-o"};
  auto words = several;
  words.push_back(folder / "out");
  EXPECT_EQ(isamap(words).code, 0);
  EXPECT_GT(std::distance(fs::directory_iterator(folder / "out"), fs::directory_iterator()), 1);
  words = several;
  words.push_back(folder.write("file", "old"));
  EXPECT_EQ(isamap(words).code, 1);
  EXPECT_EQ(read_file(folder / "file"), "old");
}

TEST(Output, ALinkIsWrittenThrough) {
  const Folder folder;
  folder.write("real.cpp", "old");
  fs::create_symlink(folder / "real.cpp", folder / "link.cpp");
  EXPECT_EQ(isamap(emit_to(folder / "link.cpp")).code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.cpp"));
  EXPECT_NE(read_file(folder / "real.cpp"), "old");
}

TEST(Output, TwoRunsAtOnceBothSucceed) {
  const Folder folder;
  const std::vector<std::string> words{"run",      "--compute",   "C[i,j] += A[i,k]*B[k,j]",
                                       "--dims",   "i=8,j=8,k=8", "--target",
                                       "scalar_c", "-o",          folder / "same.txt"};
  const pid_t a = start(words, folder / "out_a", folder / "err_a"),
              b = start(words, folder / "out_b", folder / "err_b");
  EXPECT_EQ(finish(a), 0) << read_file(folder / "err_a");
  EXPECT_EQ(finish(b), 0) << read_file(folder / "err_b");
  EXPECT_NE(read_file(folder / "same.txt").find("correct"), std::string::npos);
  EXPECT_EQ(folder.names().size(), 5u);  // no temporary files are left
}

TEST(Output, TheReportIsOneFileThatEscapesNames) {
  const Folder folder;
  folder.write("k.yaml",
               "kernel: k\ndims: {N: 8}\ntensors:\n  A: {shape: [N, N], dtype: f32}\n  B: {shape: [N, N], dtype: f32}\n"
               "  C: {shape: [N, N], dtype: f32}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n");
  const Said said =
      isamap({"extract", folder / "k.yaml", "--target", "scalar_c", "--run", "--report", folder / "r.html"});
  EXPECT_EQ(said.code, 0) << said.err;
  const std::string html = read_file(folder / "r.html");
  EXPECT_EQ(html.rfind("<!doctype html>", 0), 0u);
  for (const std::string needed : {"<svg", "Machine", "Layers", "Tiles and traffic", "</html>"})
    EXPECT_NE(html.find(needed), std::string::npos) << needed;
  for (const std::string outside : {"<script", "src=", "@import", "<link"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

TEST(Output, HardwareFilesStartFromOneThatPasses) {
  const Folder folder;
  EXPECT_EQ(isamap({"hw", "new", "mine", "-o", folder / "mine.yaml"}).code, 0);
  const Said said = isamap({"hw", "check", folder / "mine.yaml"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out.rfind("mine: 2 units, 3 memories, 2 links, 4 instructions", 0), 0u) << said.out;
  EXPECT_EQ(isamap({"map", "--compute", "C[i,j] += s32(A[i,k])*s32(B[k,j])", "--dims", "i=8,j=8,k=8", "--dtypes",
                    "A=s8,B=s8,C=s32", "--target", folder / "mine.yaml"})
                .code,
            0);
}

TEST(Output, GraphsInBothFormats) {
  EXPECT_EQ(isamap({"hw", "graph", "scalar_c"}).out.rfind("digraph", 0), 0u);
  EXPECT_EQ(isamap({"hw", "graph", "scalar_c", "--format", "svg"}).out.rfind("<svg", 0), 0u);
}

TEST(Output, ExplainSpeaksOfEveryInstruction) {
  const Said said =
      isamap({"explain", "--compute", "C[i] = tan(A[i])", "--dims", "i=8", "--target", "x86_avx512_vnni"});
  EXPECT_EQ(said.code, 3);
  EXPECT_NE(said.out.find(" not map"), std::string::npos) << said.out;
}

}  // namespace
}  // namespace isamap::cli_test
