// SPDX-License-Identifier: Apache-2.0
// Failures after the start: the code says whose fault it is, stdout says why in JSON.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

/// A variable of the environment, set for one test.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string old_;
};

std::vector<std::string> gemm_words(const std::string& verb, const std::string& target, const std::string& dims,
                                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{verb, "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", dims, "--target", target};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void fails(const Said& said, int code, const std::string& why) {
  EXPECT_EQ(said.code, code) << said.out << said.err;
  EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
  const auto json = parsed(said);
  ASSERT_TRUE(json.is_object()) << said.out;
  EXPECT_EQ(json.value("schema_version", 0), 1);
  EXPECT_EQ(json.value("exit", 0), code);
  ASSERT_TRUE(json.contains("reasons") && !json["reasons"].empty()) << said.out;
  EXPECT_NE(json["reasons"][0].get<std::string>().find(why), std::string::npos) << said.out;
}

TEST(Failures, TooManyPointsAreALimit) {
  fails(isamap(gemm_words("run", "scalar_c", "i=4096,j=4096,k=4096", {"--json"})), 4, "points; at most 2e+10");
}

TEST(Failures, TooManyCommandsAreALimit) {
  for (const std::string verb : {"run", "emit"}) {
    const Said said = isamap(gemm_words(verb, "a1", "i=512,j=512,k=512", {"--dtypes", "A=s16,B=s16,C=s16", "--json"}));
    fails(said, 4, "more than 20000000 commands");
  }
}

TEST(Failures, TheFolderForTemporaryFilesIsTheUsers) {
  const Setting setting("TMPDIR", "/no_such_folder");
  const std::string out = "/tmp/isamap_failure_" + std::to_string(::getpid()) + ".out", err = out + ".err";
  const int code = finish(start(gemm_words("run", "scalar_c", "i=4,j=4,k=4"), out, err));
  EXPECT_EQ(code, 1);
  EXPECT_NE(read_file(err).find("/no_such_folder"), std::string::npos) << read_file(err);
  fs::remove(out), fs::remove(err);
}

TEST(Failures, ACompilerThatDoesNotWorkIsMissing) {
  const Setting setting("CXX", "/bin/false");
  fails(isamap(gemm_words("run", "scalar_c", "i=4,j=4,k=4", {"--json"})), 77,
        "the compiler '/bin/false' does not work");
}

/// Works for `int main() {}` only: the target's flags are what it does not take.
std::string fussy_compiler(const Folder& folder, const std::string& test) {
  const std::string file = folder.write("fussy", "#!/bin/sh\n" + test + "exec g++ \"$@\"\n");
  ::chmod(file.c_str(), 0700);
  return file;
}

TEST(Failures, ABrokenCompilerIsShownWithItsCommandAndWhatItSaid) {
  const Folder folder;
  const std::string fussy =
      fussy_compiler(folder, "for w in \"$@\"; do [ \"$w\" = -fwrapv ] && { echo no such flag: $w; exit 1; }; done\n");
  const Setting setting("CXX", fussy);
  const Said said = isamap(gemm_words("run", "scalar_c", "i=4,j=4,k=4", {"--json"}));
  fails(said, 77, "the compiler '" + fussy + "' does not work");
  EXPECT_NE(said.err.find("the command was: " + fussy + " -std=c++17"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("it said: no such flag: -fwrapv"), std::string::npos) << said.err;
}

/// In a file system of 48 KiB; needs namespaces of users.
TEST(Failures, AFullDiskIsNoFaultOfTheCompiler) {
  const Folder folder;
  fs::create_directory(folder / "small");
  const std::string mounted = "unshare -rm sh -c 'mount -t tmpfs -o size=48k none " + folder / "small" + " && ";
  if (std::system((mounted + "true' 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no file system can be mounted here";
  const std::string run = "TMPDIR=" + folder / "small" + " ISAMAP_CACHE=" + folder / "small/cache" + " " +
                          ISAMAP_PROGRAM +
                          " run --compute \"C[i] += A[i,k]*B[k]\" --dims i=4,k=4 --target scalar_c 2>" + folder / "err";
  EXPECT_NE(std::system((mounted + run + " >/dev/null'").c_str()), 0);
  const std::string err = read_file(folder / "err");
  EXPECT_NE(err.find(" KiB are left in " + folder / "small" + ": free some, or set TMPDIR"), std::string::npos) << err;
}

TEST(Failures, AProgramThatDoesNotCompileIsWrong) {
  const Folder folder;
  const std::string fussy =
      fussy_compiler(folder, "for w in \"$@\"; do case $w in *kernel.cpp) echo I hate kernels; exit 1;; esac; done\n");
  const Setting setting("CXX", fussy);
  const Said said = isamap(gemm_words("run", "scalar_c", "i=4,j=4,k=4", {"--json"}));
  fails(said, 5, "the emitted program does not compile");
  EXPECT_NE(said.err.find("I hate kernels"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("the command was: " + fussy), std::string::npos) << said.err;
}

TEST(Failures, ProblemsOfAllSizesAreListedOnce) {
  const Folder folder;
  const std::string fussy =
      fussy_compiler(folder, "for w in \"$@\"; do case $w in *driver.cpp) echo no drivers; exit 1;; esac; done\n");
  const Setting setting("CXX", fussy);
  const Said said = isamap(gemm_words("run", "scalar_c", "i=1..16@8,j=4,k=4", {"--sizes", "i=3,5"}));
  EXPECT_EQ(said.code, 5);
  const std::size_t first = said.err.find("no drivers");
  ASSERT_NE(first, std::string::npos) << said.err;
  EXPECT_EQ(said.err.find("no drivers", first + 1), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("i = 5: the same\n"), std::string::npos) << said.err;
  EXPECT_NE(said.out.find("nothing was executed, 2 sizes"), std::string::npos) << said.out;
}

TEST(Failures, ALimitOfCompilersIsANumberAboveZero) {
  for (const char* const wrong : {"abc", "0", "-1", "3s", "inf"}) {
    const Setting limit("ISAMAP_COMPILE_SECONDS", wrong);
    const Said said = isamap(gemm_words("map", "scalar_c", "i=4,j=4,k=4"));
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.err.find("ISAMAP_COMPILE_SECONDS is '" + std::string(wrong)), std::string::npos) << said.err;
  }
}

TEST(Failures, ACompilerThatTakesTooLongIsALimit) {
  const Folder folder;
  const std::string slow =
      fussy_compiler(folder, "for w in \"$@\"; do case $w in *kernel.cpp) exec sleep 60;; esac; done\n");
  const Setting setting("CXX", slow), limit("ISAMAP_COMPILE_SECONDS", "1.5");
  const std::string says = "the compiler took more than 1.5 s for the emitted program; ISAMAP_COMPILE_SECONDS=N";
  fails(isamap(gemm_words("run", "scalar_c", "i=4,j=4,k=4", {"--json"})), 4, says);
  const Said said = isamap(gemm_words("run", "scalar_c", "i=1..16@8,j=4,k=4", {"--sizes", "i=3,5"}));
  EXPECT_EQ(said.code, 4) << said.err;
  EXPECT_NE(said.err.find(says), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("i = 5: the same\n"), std::string::npos) << said.err;
}

TEST(Failures, OptionsOfAStrategyAreUsage) {
  for (const auto& [text, says] : {std::pair<std::string, std::string>{"exhaustive:zz=1", "it has no options"},
                                   {"random:zz=1", "its options: redraws"},
                                   {"greedy:zz=1", "its options: starts, descents"}}) {
    const Said said = isamap(gemm_words("schedule", "scalar_c", "i=4,j=4,k=4", {"--strategy", text}));
    EXPECT_EQ(said.code, 2) << text << said.err;
    EXPECT_NE(said.err.find(says), std::string::npos) << said.err;
  }
}

TEST(Failures, AKernelMayHaveTheNameOfALibraryFunction) {
  const Folder folder;
  for (const std::string name : {"printf", "transfer", "y1"}) {
    const auto file = folder.write(name + ".yaml", "kernel: " + name + "\ntensors:\n  A: {shape: [8], dtype: f32}\n" +
                                                       "  B: {shape: [8], dtype: f32}\ncompute:\n  - B[i] = A[i]\n");
    const Said said = isamap({"run", file, "--target", "scalar_c"});
    EXPECT_EQ(said.code, 0) << name << said.err;
  }
}

/// Sums that the instruction does not divide are computed by another one, or by scalar code.
TEST(Failures, StrictFloatRefusesPaddingThatNeedsFiniteInputs) {
  const std::vector<std::string> bf16{"--dtypes", "A=bf16,B=bf16,C=f32", "--json"};
  const auto words = [&](const std::string& dims) {
    auto all = gemm_words("emit", "x86_avx512_bf16", dims, bf16);
    all[2] = "C[i,j] += f32(A[i,k])*f32(B[k,j])";
    return all;
  };
  auto padded = words("i=16,j=16,k=17"), even = words("i=16,j=16,k=16");
  EXPECT_EQ(isamap(padded).code, 0);
  padded.push_back("--strict-float"), even.push_back("--strict-float");
  // The border of an image is multiplied by its zeros, not left out.
  EXPECT_EQ(isamap({"run", example("conv2d_padded"), "--target", "scalar_c", "--strict-float"}).code, 0);
  const Said odd = isamap(padded);
  EXPECT_EQ(odd.code, 0) << odd.err;
  EXPECT_NE(odd.err.find("s0 is scalar code"), std::string::npos) << odd.err;
  EXPECT_NE(odd.err.find("--strict-float: padding along k is multiplied by 0"), std::string::npos) << odd.err;
  padded.insert(padded.end(), {"--instruction", "dpbf16"});
  fails(isamap(padded), 3, "--strict-float forbids what this program assumes: inputs are finite");
  EXPECT_EQ(isamap(even).code, 0);
}

TEST(Failures, EveryCodeHasReasons) {
  const auto json = parsed(isamap({"targets", "--best", "e4m3", "--json"}));
  EXPECT_EQ(json.value("exit", 0), 77) << json;
  const Said limited =
      isamap(gemm_words("schedule", "scalar_c", "i=8,j=8,k=8", {"--certify", "--budget", "evals=3", "--json"}));
  EXPECT_EQ(limited.code, 4);
  EXPECT_EQ(parsed(limited)["reasons"].size(), 1u) << limited.out;
  const Said missing = isamap({"map", "/nowhere/k.yaml", "--target", "scalar_c", "--json"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(parsed(missing)["problems"][0]["file"], "/nowhere/k.yaml") << missing.out;
}

TEST(Failures, OnlyAProofIsCodeThree) {
  const Folder folder;  // room for one operand of the multiply, not for two
  const std::string tight = folder.write("tight.yaml",
                                         "hardware: tight\nextends: npu16.yaml\nunits: [{name: host, scalar: false}]\n"
                                         "memories: [{name: spad, capacity: 400B}]\n");
  const std::vector<std::string> words{"schedule", "--compute",       "C[i,j] += s32(A[i,k]) * s32(B[k,j])",
                                       "--dtypes", "A=s8,B=s8,C=s32", "--target",
                                       tight,      "--json",          "--dims"};
  const auto of = [&](const std::string& dims) {
    auto all = words;
    all.push_back(dims);
    return isamap(all);
  };
  fails(of("i=16,j=16,k=16"), 3, "no legal schedule was found for statement s0 on tight");  // the whole space was seen
  fails(of("i=160,j=160,k=160"), 4, "no legal schedule was found for statement s0 on tight");
}

TEST(Failures, TheSummaryCountsTheChosenFactoring) {
  const Said said = isamap({"extract", example("depthwise_separable_fused"), "--target", "x86_avx512"});
  EXPECT_NE(said.out.find("\n2 layers, 2 mapped, 1 of them matrix multiplications;"), std::string::npos) << said.out;
}

TEST(Failures, ASignalLeavesNoTemporaryFolder) {
  const Folder folder, said;
  const Setting setting("TMPDIR", folder / "");
  const pid_t child = start(gemm_words("run", "scalar_c", "i=2048,j=1024,k=4096"), said / "out", said / "err");
  for (int i = 0; i < 500 && folder.names().empty(); ++i) ::usleep(10'000);
  EXPECT_FALSE(folder.names().empty()) << read_file(said / "err");
  ::kill(child, SIGTERM);
  EXPECT_EQ(finish(child), 1000 + SIGTERM);
  EXPECT_TRUE(folder.names().empty()) << folder.names()[0];
}

/// While a strategy of the user calls exit(), headers are compiled.
TEST(Failures, AnExitOfAStrategyLeavesNoTemporaryFolder) {
  const Folder folder, cache;
  const Setting setting("TMPDIR", folder / ""), empty("ISAMAP_CACHE", cache / "");
  const Said said = isamap({"tune", example("gemm"), "--target", "x86_avx512", "--jobs", "2", "--strategy",
                            std::string("extension:file=") + ISAMAP_FAILING_EXTENSION + ",how=exit"});
  EXPECT_EQ(said.code, 4) << said.err;
  EXPECT_TRUE(folder.names().empty()) << folder.names()[0];
}

/// Accounts of services have such homes.
TEST(Failures, AHomeThatIsNotThereIsNotMade) {
  const Folder folder;
  const Setting home("HOME", folder / "no/home"), own("ISAMAP_CACHE", ""), other("XDG_CACHE_HOME", "");
  const Said said = isamap({"run", example("dot"), "--target", "scalar_c", "--budget", "evals=2"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(folder.names().empty()) << folder.names()[0];
}

TEST(Failures, TwoProcessesShareAFolderOfCertificates) {
  const Folder folder;
  const auto words = gemm_words("map", "scalar_c", "i=4,j=4,k=4", {"--certificates", folder / "new/proofs"});
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) children.push_back(start(words, folder / std::to_string(i), folder / "err"));
  for (const pid_t child : children) EXPECT_EQ(finish(child), 0) << read_file(folder / "err");
}

TEST(Failures, WhatCannotBeIsSaidAtOnce) {
  const auto large = [](const std::string& target, const std::string& dims) {
    std::vector<std::string> words{"schedule", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims",
                                   dims,       "--dtypes",  "A=s16,B=s16,C=s16"};
    words.insert(words.end(), {"--target", target, "--json"});
    return isamap(words);
  };
  fails(large("a1", "i=1000000000000,j=1,k=1"), 3, "memory DRAM holds 1073741824 bytes");
  fails(large("scalar_c", "i=1000003,j=1000003,k=1000003"), 3, "the tensors of formula take");
  fails(isamap({"schedule", example("gemm"), "--target", "a1", "--strategy", "exact", "--json"}), 3, "no instruction");
  fails(isamap({"schedule", example("gemm"), "--target", "scalar_c", "--strategy", "external", "--json"}), 2,
        "needs the command");
  fails(isamap({"lab", "run", "small", "--strategies", "zz", "--json"}), 2, "there is no strategy 'zz'");
}

TEST(Failures, AnOutputThatIsNotInoutIsNotLoadedFirst) {
  const Folder folder;
  const std::string schedule = folder.write("load.yaml",
                                            "schedule: s\nkernel: gemm_s8\ntarget: npu16\nnest:\n"
                                            "  - stage C in acc first load\n  - stage A in spad\n  - stage B in spad\n"
                                            "  - for i by 16\n  - for j by 16\n  - for k by 16\n"
                                            "  - do s0 with mma(i=i, j=j, k=k)\n");
  fails(isamap({"evaluate", example("gemm_s8"), "--target", "npu16", "--schedule", schedule, "--json"}), 1,
        "first load: C is not inout");
}

using Words = std::vector<std::string>;

TEST(Failures, JsonIsOneDocumentWhereverItIsAskedFor) {
  const Folder folder;
  for (const Words& words :
       {Words{"targets", "--best", "f32"}, Words{"map", "--target"}, Words{"nothing"},
        Words{"schedule", example("gemm"), "--target", "scalar_c", "-o", (folder / "no" + "/where")},
        Words{"emit", example("gemm"), "--target", "scalar_c", "--program"}}) {
    Words with = words;
    with.push_back("--json");
    const Said said = isamap(with);
    const auto json = parsed(said);
    ASSERT_FALSE(json.is_discarded()) << words[0] << ": " << said.out;
    EXPECT_EQ(json.value("schema_version", 0), 1) << words[0];
  }
}

TEST(Failures, LongWorkSaysWhatItDoes) {
  const Folder folder;
  const std::string slow = folder.write("slow", "#!/bin/sh\nsleep 1.2\nexit 1\n");
  fs::permissions(slow, fs::perms::owner_all);
  const Setting setting("CXX", slow);
  const Said said = isamap(gemm_words("run", "scalar_c", "i=4,j=4,k=5"));
  EXPECT_EQ(said.code, 77);
  EXPECT_NE(said.err.find("compiling and running the emitted program ...\n"), std::string::npos)
      << said.out << said.err;
}

}  // namespace
}  // namespace isamap::cli_test
