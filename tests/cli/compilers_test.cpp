// SPDX-License-Identifier: Apache-2.0
// Which compiler makes a program: found by tune, taken by what comes later, told by what runs.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

/// A compiler in a folder of PATH: the machine's own, with a name and a delay in what it makes.
void add_compiler(const Folder& bin, const std::string& name, const std::string& flags) {
  const std::string file = bin.write(name, "#!/bin/sh\n[ \"$1\" = --version ] && { echo " + name +
                                               " 1.2; exit; }\nexec /usr/bin/g++ \"$@\" " + flags + "\n");
  ::chmod(file.c_str(), 0700);
}

/// The environment of a test: an own cache, PATH with an own folder first, no $CXX.
class OwnCompilers : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"ISAMAP_CACHE", "PATH", "CXX"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
    }
    ::setenv("ISAMAP_CACHE", (home_ / "cache").c_str(), 1);
    ::setenv("PATH", ((bin_ / ".:") + *before_[1].second).c_str(), 1);
    ::unsetenv("CXX");
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  Said said(const std::string& verb, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{
        verb, "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", "i=40,j=40,k=40", "--target", "scalar_c", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words);
  }
  const Folder home_, bin_;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

TEST_F(OwnCompilers, TheFasterOneIsFoundRecordedAndTaken) {
  add_compiler(bin_, "g++", "-O0");  // the last flag counts
  add_compiler(bin_, "clang++", "-O3");
  const std::string store = home_ / "trials.db", best = home_ / "best.yaml";
  const Said tuned = said("tune", {"--store", store, "--measured", "1", "--budget", "evals=20"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const auto json = parsed(tuned);
  EXPECT_EQ(json["compiler"], "clang++") << tuned.out;
  ASSERT_EQ(json["compilers"].size(), 2u) << tuned.out;
  EXPECT_EQ(json["compilers"][0]["command"], "g++");
  EXPECT_EQ(json["compilers"][0]["version"], "g++ 1.2");
  EXPECT_GT(json["compilers"][0]["seconds"].get<double>(), json["compilers"][1]["seconds"].get<double>());
  const Said replayed = isamap({"replay", store});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(replayed.out, tuned.out);
  // The same program is made by it from now on, another one is not.
  home_.write("best.yaml", json["best"]["schedule"].get<std::string>());
  const auto compiler = [&](const std::vector<std::string>& more) {
    const Said ran = said("run", more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return parsed(ran)["compiler"];
  };
  EXPECT_EQ(compiler({"--schedule", best}), "clang++");
  EXPECT_EQ(parsed(isamap(
                {"run", "--compute", "C[i] = A[i]", "--dims", "i=9", "--target", "scalar_c", "--json"}))["compiler"],
            "g++");
  ::setenv("CXX", "g++", 1);
  EXPECT_EQ(compiler({"--schedule", best}), "g++") << "the user has chosen";
  ::unsetenv("CXX");
  bin_.write("clang++", "#!/bin/sh\nexit 1\n");
  EXPECT_EQ(compiler({"--schedule", best}), "g++") << "it makes no programs any more";
}

/// Where it builds the fastest candidate beside the last ones, in whose rounds its build is timed.
TEST_F(OwnCompilers, TheFasterOneIsFoundAmongCandidates) {
  add_compiler(bin_, "g++", "-O0");
  add_compiler(bin_, "clang++", "-O3");
  const std::string store = home_ / "trials.db";
  const Said tuned = said("tune", {"--store", store, "--measured", "4", "--budget", "evals=60", "--jobs", "2"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const auto json = parsed(tuned);
  ASSERT_EQ(json["compilers"].size(), 2u) << tuned.out;
  EXPECT_EQ(json["compilers"][0]["command"], "g++");
  EXPECT_EQ(json["compilers"][1]["version"], "clang++ 1.2");
  EXPECT_EQ(json["compiler"], "clang++") << tuned.out;
  EXPECT_EQ(isamap({"replay", store}).out, tuned.out);
  // Again, and then with the choices that are remembered by now: each program by the compiler that its row names.
  for (const char* jobs : {"2", "1"}) {
    const auto again = parsed(said("tune", {"--measured", "4", "--budget", "evals=60", "--jobs", jobs}));
    EXPECT_EQ(again["compiler"], "clang++") << again;
    const double slow = again["compilers"][0]["seconds"].get<double>();
    EXPECT_GT(slow, again["compilers"][1]["seconds"].get<double>()) << again;
    for (const auto& row : again["candidates"]) EXPECT_GT(row["measured"].get<double>(), slow / 2) << again;
  }
}

TEST_F(OwnCompilers, TheUsersIsTheOnlyOne) {
  add_compiler(bin_, "clang++", "-O3");
  ::setenv("CXX", "/usr/bin/g++", 1);
  const auto json = parsed(said("tune", {"--measured", "1", "--budget", "evals=5"}));
  ASSERT_EQ(json["compilers"].size(), 1u);
  EXPECT_EQ(json["compiler"], "/usr/bin/g++");
}

TEST_F(OwnCompilers, ExtractNamesIt) {
  const auto json = parsed(said("extract", {"--run"}));
  EXPECT_EQ(json["layers"][0]["compiler"], "g++");
}

/// The compiler notes that another one runs: not with --jobs 1, where also the sources of one program take turns. With
/// two it waits for the other one, up to five seconds: a busy machine may start that late.
TEST_F(OwnCompilers, RunOneAtATimeWithOneJob) {
  const std::string runs = home_ / "runs", two = home_ / "two", waits = home_ / "waits";
  const std::string script = bin_.write(
      "g++", "#!/bin/sh\n[ \"$1\" = --version ] && { echo g++ 1.2; exit; }\nmkdir " + runs +
                 " 2>/dev/null && own=1 || echo again >> " + two +
                 "\n/usr/bin/g++ \"$@\"\ncode=$?\nsleep 0.02\nn=0\nwhile [ -n \"$own\" -a -e " + waits + " -a ! -e " +
                 two + " -a $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done\n[ -n \"$own\" ] && rmdir " + runs +
                 "\nexit $code\n");
  ::chmod(script.c_str(), 0700);
  bin_.write("clang++", "#!/bin/sh\nexit 1\n");
  const auto tuned = [&](const std::string& jobs) {
    const Said said = this->said("tune", {"--measured", "2", "--budget", "evals=20", "--jobs", jobs});
    EXPECT_EQ(said.code, 0) << said.err;
    std::filesystem::remove_all(home_ / "cache");
    return std::filesystem::exists(two);
  };
  EXPECT_FALSE(tuned("1"));
  std::ofstream(waits).close();
  EXPECT_TRUE(tuned("2"));
}

}  // namespace
}  // namespace isamap::cli_test
