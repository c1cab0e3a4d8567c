// SPDX-License-Identifier: Apache-2.0
// What `emit` prints is what somebody else compiles: without warnings, in the places that -o names, with a header, a
// test and memory of the caller's where these are asked for.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

/// The exit code of a command, and what it said.
Said command(const std::string& words) {
  const Folder folder;
  const int code = std::system((words + " >" + (folder / "out") + " 2>&1").c_str());
  return {WIFEXITED(code) ? WEXITSTATUS(code) : -1, "", read_file(folder / "out")};
}
bool is_here(const std::string& compiler) { return command("command -v " + compiler).code == 0; }

const char* const strict = " -Wall -Wextra -Werror -fsyntax-only ";

/// The flags of the line `// needs`, for GCC.
std::string needed(const std::string& file) {
  const std::string text = read_file(file), mark = "// needs C++17: ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  std::string line = text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
  return line.substr(0, line.find(';'));
}

std::string kernel(const Folder& folder, const std::string& body = "A[i,k] * B[k,j]", const std::string& more = "") {
  return folder.write("k.yaml", "kernel: gemm\ndims: {M: 37, N: 29, K: 19" + more +
                                    "}\ntensors:\n  A: {shape: [M, K]}\n  B: {shape: [K, N], constant: true}\n"
                                    "  C: {shape: [M, N]}\ncompute: \"C[i,j] += " +
                                    body + "\"\n");
}

std::vector<std::string> emit(const std::string& file, const std::string& target, std::vector<std::string> more) {
  std::vector<std::string> words{"emit", file, "--target", target, "--budget", "evals=30"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Emit, PrintsNoFunctionThatNothingUses) {
  const Folder folder;
  for (const std::string target : {"x86_avx2", "x86_avx512_vnni"}) {
    const std::string file = folder / (target + ".cpp");
    ASSERT_EQ(isamap(emit(kernel(folder), target, {"-o", file})).code, 0);
    const std::string text = read_file(file);
    EXPECT_EQ(text.find("load4"), std::string::npos) << target;
    EXPECT_EQ(text.find("std::bit_cast"), std::string::npos) << target;
    for (const std::string compiler : {"g++", "clang++"}) {
      if (!is_here(compiler)) continue;
      const Said said = command(compiler + strict + needed(file) + " " + file);
      EXPECT_EQ(said.code, 0) << compiler << ", " << target << ": " << said.err;
    }
  }
}

/// On the standard output and in FILE.cu one file, which any compiler takes; in a folder the header of the emulation is
/// a file of its own.
TEST(Emit, OfSeveralFilesMakesOneOrAFolder) {
  const Folder folder;
  const std::string file = example("gemm_f16");
  const Said printed = isamap(emit(file, "nvidia_sm80", {}));
  ASSERT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out.find("#include \"isamap_emulation.h\""), std::string::npos);
  const Said compiled = command("g++ -x c++ -std=c++20" + std::string(strict) + folder.write("one.cu", printed.out));
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  ASSERT_EQ(isamap(emit(file, "nvidia_sm80", {"-o", folder / "k.cu"})).code, 0);
  EXPECT_TRUE(fs::is_regular_file(folder / "k.cu"));
  EXPECT_EQ(read_file(folder / "k.cu"), printed.out);
  ASSERT_EQ(isamap(emit(file, "nvidia_sm80", {"-o", folder / "new/"})).code, 0);
  EXPECT_TRUE(fs::is_regular_file(folder / "new/isamap_emulation.h"));
  for (const std::string other : {"k.cpp", "k.txt"}) {
    const Said refused = isamap(emit(file, "nvidia_sm80", {"-o", folder / other}));
    EXPECT_EQ(refused.code, 2) << other;
    EXPECT_NE(refused.err.find("give -o FOLDER, or -o FILE.cu"), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(folder / other));
  }
  EXPECT_NE(isamap({"emit", "--help"}).out.find("FOLDER"), std::string::npos);
}

TEST(Emit, AHeaderAndATestStandBesideTheProgram) {
  const Folder folder;
  const std::string file = kernel(folder);
  EXPECT_EQ(isamap(emit(file, "scalar_c", {"--header"})).code, 2);
  EXPECT_EQ(isamap(emit(file, "nvidia_sm80", {"--test", "-o", folder / "x"})).code, 2);
  const Said said = isamap(emit(file, "x86_avx2", {"--header", "--test", "--workspace", "-o", folder / "my.cpp"}));
  ASSERT_EQ(said.code, 0) << said.err;
  const std::string header = read_file(folder / "my.h");
  for (const std::string said_of : {"#define GEMM_A_BYTES 2812\n", "#define GEMM_WORKSPACE_BYTES ", "_ALIGN ",
                                    "Threads: ", "const float* A", "void* workspace);"})
    EXPECT_NE(header.find(said_of), std::string::npos) << said_of << " in\n" << header;
  const std::string use = folder.write("use.c", "#include \"my.h\"\nchar workspace[GEMM_WORKSPACE_BYTES + 1];\n");
  for (const std::string language : {"c", "c++"})
    EXPECT_EQ(command("gcc -x " + language + strict + use).code, 0) << header;
  EXPECT_EQ(read_file(folder / "my.cpp").find("thread_local"), std::string::npos);
}

/// Rows that a transposition fills up with zeros are nowhere: no address is formed for them.
TEST(Emit, AddressesStayInTheirArrays) {
  if (!is_here("g++")) GTEST_SKIP() << "no g++";
  const Folder folder;
  const std::string softmax = folder.write(
      "s.yaml",
      "kernel: softmax\ndims: {M: 4, N: 40}\n"
      "tensors: {X: {shape: [M, N]}, H: {shape: [M]}, E: {shape: [M, N]}, L: {shape: [M]}, Y: {shape: [M, N]}}\n"
      "compute:\n  - H[i] max= X[i,j]\n  - E[i,j] = exp(X[i,j] - H[i])\n  - L[i] += E[i,j]\n"
      "  - Y[i,j] = E[i,j] / L[i]\n");
  const std::string file = folder / "s.cpp";
  ASSERT_EQ(isamap({"emit", softmax, "--target", "x86_avx512", "-o", file}).code, 0);
  ASSERT_NE(read_file(file).find("words_across("), std::string::npos);
  const Said said = command("g++ -Werror=array-bounds " + needed(file) + " -S -o " + (folder / "s.s") + " " + file);
  EXPECT_EQ(said.code, 0) << said.err;
}

/// The test is right about a right program, and about one that computes something else.
TEST(Emit, TheTestTellsRightFromWrong) {
  const Folder folder;
  const auto run = [&](const std::string& test, const std::string& program) {
    const std::string built = folder / "program";
    const Said made = command("g++ -O1 " + needed(folder / program).substr(0, 10) + " -Wall -Wextra -Werror " +
                              (folder / test) + " " + (folder / program) + " -o " + built);
    EXPECT_EQ(made.code, 0) << made.err;
    return command(built);
  };
  ASSERT_EQ(isamap(emit(kernel(folder), "scalar_c", {"--test", "-o", folder / "right.cpp"})).code, 0);
  ASSERT_EQ(isamap(emit(kernel(folder, "A[i,k] * B[k,j] * 2"), "scalar_c", {"-o", folder / "wrong.cpp"})).code, 0);
  const Said right = run("right_test.cpp", "right.cpp");
  EXPECT_EQ(right.code, 0) << right.err;
  const Said wrong = run("right_test.cpp", "wrong.cpp");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("C: element "), std::string::npos) << wrong.err;
}

std::string strided(const Folder& folder, const std::string& sizes) {
  return folder.write("s.yaml", "kernel: gemm\ndims: {" + sizes +
                                    ", LD: N + 5}\ntensors:\n"
                                    "  A: {shape: [M, K], strides: [2*K + 1, 1]}\n  B: {shape: [K, N]}\n"
                                    "  C: {shape: [M, N], strides: [LD, 1], inout: true}\n"
                                    "compute: \"C[i,j] += A[i,k] * B[k,j]\"\n");
}

TEST(Emit, RowsApartAreObeyed) {
  const Folder folder;
  for (const std::string sizes : {"M: 37, N: 29, K: 19", "M: 1, N: 1, K: 1", "M: 3, N: 0, K: 2"}) {
    const Said said = isamap({"run", strided(folder, sizes), "--target", "x86_avx2", "--budget", "evals=30"});
    EXPECT_TRUE(said.code == 0 || said.code == 77) << sizes << ": " << said.out << said.err;
  }
  const Said simulated = isamap({"run", strided(folder, "M: 9, N: 5, K: 6"), "--target", "npu16"});
  EXPECT_EQ(simulated.code, 0) << simulated.out << simulated.err;
  ASSERT_EQ(isamap(emit(strided(folder, "M: 6, N: 7, K: 5"), "scalar_c", {"--header", "-o", folder / "s.cpp"})).code,
            0);
  EXPECT_NE(read_file(folder / "s.h").find("#define GEMM_C_BYTES 268\n"), std::string::npos);  // (5*12 + 7) * 4
  EXPECT_NE(read_file(folder / "s.h").find("strides [12,1]"), std::string::npos);
}

/// 2 x 4 x 16 instances: predicted side by side, executed by a simulator of one stream.
TEST(Run, SaysHowManyInstancesRanInTurn) {
  const Folder folder;
  const std::string schedule = folder.write("mesh.yaml", R"(schedule: mesh
nest:
  - stage C in GLB
  - stage A in GLB
  - stage B in GLB
  - for i by 8 on mac.x
  - for j by 4 on mac.x
  - for k by 1 on mac.y
  - stage C in RF
  - stage A in RF
  - stage B in RF
  - for i by 1
  - for j by 1
  - do s0 with mac()
)");
  std::vector<std::string> words{"run",
                                 "--compute",
                                 "C[i,j] += A[i,k] * B[k,j]",
                                 "--dims",
                                 "i=16,j=16,k=16",
                                 "--dtypes",
                                 "A=s16,B=s16,C=s16",
                                 "--target",
                                 "a1",
                                 "--schedule",
                                 schedule};
  const Said text = isamap(words);
  EXPECT_NE(text.out.find("cycles of 128 instances one after another;"), std::string::npos) << text.out << text.err;
  words.emplace_back("--json");
  EXPECT_EQ(parsed(isamap(words)).at("instances_in_turn"), 128);
  words[4] = "i=15,j=13,k=16";  // 2 x 4 x 16, the last ones short
  EXPECT_EQ(parsed(isamap(words)).at("instances_in_turn"), 128);
}

TEST(EmitHeavy, RowsApartAreObeyedOnEveryTarget) {
  const Folder folder;
  for (const std::string sizes : {"M: 37, N: 29, K: 19", "M: 1, N: 1, K: 1", "M: 3, N: 0, K: 2", "M: 64, N: 48, K: 32"})
    for (const std::string target : {"scalar_c", "x86_avx512", "x86_zen4", "arm_neon", "riscv_v", "nvidia_sm80"}) {
      const Said said = isamap({"run", strided(folder, sizes), "--target", target, "--budget", "evals=30"});
      EXPECT_TRUE(said.code == 0 || said.code == 77) << target << ", " << sizes << ": " << said.out << said.err;
    }
}

/// Every example, target and compiler that is here.
TEST(EmitHeavy, EveryExampleCompilesWithoutWarnings) {
  const Folder folder;
  for (const auto& entry : fs::directory_iterator(ISAMAP_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    for (const std::string target :
         {"scalar_c", "x86_avx2", "x86_avx512", "x86_avx512_vnni", "x86_avx512_bf16", "x86_avx_vnni", "x86_zen4",
          "x86_zen5", "intel_amx", "nvidia_sm80", "nvidia_sm90a"}) {
      const bool cuda = target.rfind("nvidia", 0) == 0;
      const std::string file = folder / (cuda ? "k.cu" : "k.cpp");
      fs::remove(file);
      const Said said = isamap(emit(entry.path().string(), target, {"-o", file}));
      EXPECT_TRUE(said.code == 0 || said.code == 3 || said.code == 4) << entry.path() << ", " << target << said.err;
      for (const std::string compiler : {"g++", "g++-12", "clang++-14", "clang++-19"}) {
        if (said.code != 0 || !is_here(compiler)) continue;
        const std::string flags = cuda ? "-x c++ -std=c++20" : needed(file);
        const Said made = command(compiler + strict + flags + " " + file);
        EXPECT_EQ(made.code, 0) << entry.path() << ", " << target << ", " << compiler << ": " << made.err;
      }
    }
  }
}

}  // namespace
}  // namespace isamap::cli_test
