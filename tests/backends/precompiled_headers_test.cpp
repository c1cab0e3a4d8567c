// SPDX-License-Identifier: Apache-2.0
// Headers of emitted files are parsed once: when, and that programs are right whatever lies in the cache.

#include "backends/cpp/compile/precompiled_headers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/driver.h"
#include "tests/backends/support.h"
#include "tests/every.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

TEST(LeadingIncludes, EndAtTheFirstLineOfCode) {
  EXPECT_EQ(
      leading_includes("// a\n\n#include <cstdint>\n#if __has_include(<x.h>)\n#include <x.h>\n#endif\n\nint f();\n"
                       "#include <cmath>\n"),
      "#include <cstdint>\n#if __has_include(<x.h>)\n#include <x.h>\n#endif\n");
  EXPECT_EQ(leading_includes("#include <a>\n#if defined(B)\n#include <b>\n#define C\n#endif\n"), "#include <a>\n")
      << "a condition is taken whole or not";
  EXPECT_EQ(leading_includes("int f();\n"), "");
  EXPECT_EQ(leading_includes("#define net_PROFILE\n#include <a>\n"), "#include <a>\n");
  for (const char* const definition : {"#define NDEBUG\n", "#define _gnu\n", "#define a 1\n"})
    EXPECT_EQ(leading_includes(definition + std::string("#include <a>\n")), "") << "what the header may ask for";
}

const char* const own_text = "#pragma once\n#include <stddef.h>\ninline size_t own() { return 1; }\n";
const char* const long_text = "#pragma once\n#include <vector>\ninline std::vector<int> longer() { return {1}; }\n";

/// A compiler that notes its commands, and a cache, both of one test.
class PrecompiledHeaders : public testing::Test {
 protected:
  void that_are_damaged_cost_time_only(Every every);
  void SetUp() override {
    for (const char* name : {"ISAMAP_CACHE", "CXX"}) before_.emplace_back(name, std::getenv(name));
    const std::string script = "#!/bin/sh\necho \"$@\" >> " + log().string() + "\nexec g++ \"$@\"\n";
    write_file(compiler(), script.data(), script.size());
    fs::permissions(compiler(), fs::perms::owner_all);
    setenv("ISAMAP_CACHE", (folder_.path() / "cache").c_str(), 1);
    setenv("CXX", compiler().c_str(), 1);
    if (!command_exists("g++")) GTEST_SKIP() << "there is no g++";
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }

  /// What a program that returns the number of its text gives.
  int returned(int number, const std::string& headers = "#include <vector>\n",
               const HardwareModel& model = machine("scalar_c")) const {
    return returned_by(fmt::format("static_cast<int>(std::vector<int>({}).size())", number), headers, model);
  }
  int returned_by(const std::string& value, const std::string& headers,
                  const HardwareModel& model = machine("scalar_c")) const {
    const TemporaryDirectory made;
    const std::string kernel = headers + "int answer() { return " + value + "; }\n";
    const auto compiled = compile(model, kernel, "int answer();\nint main() { return answer(); }\n",
                                  {{"own.h", own_text}, {"long.h", long_text}}, made.path() / "program");
    EXPECT_TRUE(compiled) << render(compiled.diagnostics());
    return run_process({(made.path() / "program").string()}, {60, 0, 0}, made.path() / "log").exit_code;
  }
  /// A kernel that writes the number, with the driver of kernels.
  void expect_written(int number, const std::string& headers) const {
    const HardwareModel model = machine("scalar_c");
    const TemporaryDirectory made;
    const std::string kernel =
        headers + fmt::format("extern \"C\" void fill(void* out) {{ *static_cast<int*>(out) = {}; }}\n", number);
    const auto compiled =
        compile(model, kernel, driver_text({{4, 64, false, true}}, {}, {"fill", {0}}), {}, made.path() / "program");
    ASSERT_TRUE(compiled) << render(compiled.diagnostics());
    const auto ran =
        run_process({(made.path() / "program").string(), made.path().string(), "0"}, {60, 0, 0}, made.path() / "log");
    ASSERT_EQ(ran.exit_code, 0) << ran.output;
    EXPECT_EQ(read_file(made.path() / "0.out", 100), std::string({static_cast<char>(number), 0, 0, 0}));
  }
  int commands_with(const std::string& part) const {
    std::ifstream file(log());
    int found = 0;
    for (std::string line; std::getline(file, line);) found += line.find(part) != std::string::npos ? 1 : 0;
    return found;
  }
  std::vector<fs::path> large_entries() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "cache"))
      if (fs::file_size(entry.path() / "program") > 1 << 20) found.push_back(entry.path());
    return found;
  }
  fs::path log() const { return folder_.path() / "commands"; }
  fs::path compiler() const { return folder_.path() / "noting-g++"; }

 private:
  struct Variable : std::pair<const char*, std::optional<std::string>> {
    Variable(const char* name, const char* value) {
      first = name;
      if (value != nullptr) second = value;
    }
  };
  TemporaryDirectory folder_;
  std::vector<Variable> before_;
};

/// Candidates of a kernel differ in its text only.
TEST_F(PrecompiledHeaders, AnEqualDriverIsCompiledOnce) {
  for (const int number : {3, 4, 5}) expect_written(number, "#include <vector>\n");
  EXPECT_EQ(commands_with("kernel.cpp"), 3);
  EXPECT_EQ(commands_with("driver.cpp"), 1);
}

TEST_F(PrecompiledHeaders, AreMadeAtTheSecondUseAndThenRead) {
  const std::string headers = "#include <vector>\n#include \"own.h\"\n";
  EXPECT_EQ(returned(3, headers), 3);
  EXPECT_EQ(commands_with("headers.hpp"), 0);
  EXPECT_EQ(returned(4, headers), 4);
  EXPECT_EQ(commands_with("headers.hpp -o"), 1) << "made";
  EXPECT_EQ(commands_with("-include"), 1) << "and read";
  EXPECT_EQ(returned(5, headers), 5);
  EXPECT_EQ(commands_with("headers.hpp -o"), 1);
  EXPECT_EQ(commands_with("-include"), 2);
  EXPECT_EQ(large_entries().size(), 1U);
}

/// Clang refuses them once the file that they were made of is gone, so theirs are made of none.
TEST_F(PrecompiledHeaders, AreReadByClangToo) {
  if (!command_exists("clang++")) GTEST_SKIP() << "there is no clang++";
  const fs::path clang = compiler().parent_path() / "noting-clang++";
  const std::string script = "#!/bin/sh\necho \"$@\" >> " + log().string() + "\nexec clang++ \"$@\"\n";
  write_file(clang, script.data(), script.size());
  fs::permissions(clang, fs::perms::owner_all);
  setenv("CXX", clang.c_str(), 1);
  for (const int number : {3, 4, 5}) EXPECT_EQ(returned(number), number);
  EXPECT_EQ(commands_with("-x c++-header"), 1) << "made at the second use";
  EXPECT_EQ(commands_with("-include-pch"), 2) << "and read";
}

TEST_F(PrecompiledHeaders, HeavyAreSharedByListsThatDifferInShortOnes) {
  const std::string conditional = "#if defined(A)\n#include <set>\n#else\n#include \"long.h\"\n#endif\n";
  returned(1, "#include \"own.h\"\n#include <cstdint>\n#include <vector>\n");
  EXPECT_EQ(returned(2, "#include <vector>\n#include <limits>\n"), 2);
  EXPECT_EQ(commands_with("headers.hpp -o"), 1) << "the interface of a program is short";
  EXPECT_EQ(returned(3, "#include <cstring>\n#include \"own.h\"\n#include <vector>\n"), 3);
  EXPECT_EQ(commands_with("headers.hpp -o"), 1);
  EXPECT_EQ(commands_with("-include"), 2);
  returned(4, "#include <vector>\n#include <map>\n");
  EXPECT_EQ(commands_with("-include"), 2) << "another list";

  returned(5, "#include <set>\n" + conditional + "#include <map>\n");
  EXPECT_EQ(returned(6, "#include <set>\n" + conditional), 6) << "the same up to the long header beside the file";
  EXPECT_EQ(commands_with("headers.hpp -o"), 2);
  EXPECT_EQ(large_entries().size(), 2U);
}

TEST_F(PrecompiledHeaders, AreNotMadeOfShortOnes) {
  for (int number = 1; number < 4; ++number)
    EXPECT_EQ(returned_by(std::to_string(number), "#include <stdint.h>\n#include \"own.h\"\n"), number);
  EXPECT_EQ(commands_with("headers.hpp"), 0);
}

TEST_F(PrecompiledHeaders, TheDriverOfKernelsIsCompiledOnce) {
  for (const int number : {3, 4}) expect_written(number, "");
  EXPECT_EQ(commands_with("isamap_driver.h.cpp"), 1);
  EXPECT_EQ(commands_with("isamap_driver.h.o"), 3) << "made by one command, linked by two";
}

TEST_F(PrecompiledHeaders, HeavyAreTheSameForEveryDriver) {
  returned(1), returned(2);  // with a driver of their own
  expect_written(3, "#include <vector>\n");
  EXPECT_EQ(commands_with("headers.hpp -o"), 1);
  EXPECT_EQ(commands_with("-include"), 2);
}

TEST_F(PrecompiledHeaders, HoldTheShimOfAMachine) {
  const HardwareModel model = machine("intel_amx");
  if (!needs_shim(model) || availability(model).how == ExecutionMode::unavailable)
    GTEST_SKIP() << "intel_amx does not run here with a shim";
  for (int number = 3; number < 6; ++number) EXPECT_EQ(returned(number, "#include <vector>\n", model), number);
  EXPECT_EQ(commands_with("headers.hpp -o"), 1);
  EXPECT_EQ(commands_with("headers.hpp -std"), 2) << "before the shim";
}

void PrecompiledHeaders::that_are_damaged_cost_time_only(Every every) {
  returned(1), returned(2);
  ASSERT_EQ(large_entries().size(), 1U);
  const fs::path program = large_entries()[0] / "program";
  const auto size = fs::file_size(program);
  for (const std::uintmax_t left : {size / 2, std::uintmax_t{0}, std::uintmax_t{100}}) {
    if (every.skips()) continue;
    fs::resize_file(program, left);
    EXPECT_EQ(returned(10 + static_cast<int>(left % 7)), 10 + static_cast<int>(left % 7)) << left;
    fs::resize_file(program, size);  // its size is right again, its content is not
    EXPECT_EQ(returned(20 + static_cast<int>(left % 7)), 20 + static_cast<int>(left % 7)) << left;
  }
}

TEST_F(PrecompiledHeaders, ThatAreDamagedCostTimeOnly) { that_are_damaged_cost_time_only(Every(3)); }
TEST_F(PrecompiledHeaders, HeavyThatAreDamagedCostTimeOnly) { that_are_damaged_cost_time_only(Every(1)); }

/// True if this holds in each of three processes that run at once.
bool side_by_side(const std::function<bool(int child)>& holds) {
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child) {
    const pid_t pid = fork();
    if (pid == 0) _exit(holds(child) ? 0 : 1);
    children.push_back(pid);
  }
  bool all = true;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    all = all && status == 0;
  }
  return all;
}

TEST_F(PrecompiledHeaders, AreMadeByOneOfProcessesSideBySide) {
  returned(1);
  EXPECT_TRUE(side_by_side([&](int child) { return returned(10 + child) == 10 + child; }));
  EXPECT_EQ(large_entries().size(), 1U);
  EXPECT_EQ(commands_with("headers.hpp -o"), 1) << "by the first one, while the others wait";
  EXPECT_EQ(commands_with("-include"), 3);
}

TEST_F(PrecompiledHeaders, TheDriverOfKernelsIsCompiledByOneOfProcessesSideBySide) {
  EXPECT_TRUE(side_by_side([&](int child) {
    expect_written(3 + child, "");
    return !HasFailure();
  }));
  EXPECT_EQ(commands_with("isamap_driver.h.cpp"), 1);
}

}  // namespace
}  // namespace isamap
