// SPDX-License-Identifier: Apache-2.0
// A model whose features this processor lacks runs under an emulator, or says which package is missing.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "tests/backends/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

HardwareModel beyond_this_machine(const std::string& emulator) {
  const std::string path = scratch("emulated.yaml");
  std::ofstream(path) << "hardware: beyond\nextends: scalar_c.yaml\nrequires: {cpu: [no_such_feature]}\n"
                         "program: {run: {emulated: \""
                      << emulator << " {exe}\"}}\n";
  auto loaded = load_hardware(path, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

const char* const scaled = R"(program scaled
kernel
  kernel scaled
  tensor A: f32[5]
  tensor O: f32[5]
  s0: O[i] = A[i] + A[i] over i: 5
buffers
  A: f32[5] in ram strides [1] align 64 at 0 of A argument
  O: f32[5] in ram strides [1] align 64 at 64 of O argument
schedule
body
  for i in 5
    O[i] = A[i] + A[i] on core
)";

TEST(Emulated, NamesTheMissingEmulator) {
  const Availability here = availability(beyond_this_machine("qemu-nothing"));
  EXPECT_EQ(here.how, ExecutionMode::unavailable);
  EXPECT_EQ(here.why,
            "this processor does not report no_such_feature, and the emulator 'qemu-nothing' is missing (Debian: "
            "apt-get install qemu-user)");
}

/// The model of another machine, with these candidates for its compiler.
HardwareModel of_another_machine(const std::vector<std::string>& compilers) {
  auto model = machine("scalar_c");
  model.needed.machine = {"no_such_machine"};
  model.program.compilers = compilers;
  model.program.packages = {"cross-compiler", "emulator"};
  return model;
}

TEST(Emulated, NamesTheMissingCompiler) {
  EXPECT_EQ(availability(of_another_machine({"no-such-g++", "no-such-clang++ --target=x"})).why,
            "no compiler for it: 'no-such-g++' is missing, 'no-such-clang++' is missing (Debian: apt-get install "
            "cross-compiler emulator)");
}

TEST(Emulated, ACompilerAloneMakesNothingNative) {
  const auto model = of_another_machine({system_compiler()[0]});
  EXPECT_EQ(availability(model).how, ExecutionMode::unavailable);
  EXPECT_NE(availability(model).why.find(", not no_such_machine"), std::string::npos) << availability(model).why;
}

/// A compiler that lacks one of the headers is passed over; what it does not make is not remembered as made.
TEST(Emulated, TheFirstCompilerThatWorksIsTaken) {
  const std::string system = system_compiler()[0];
  auto model = of_another_machine({system + " -nostdinc", system});
  model.needed.machine = {};
  EXPECT_EQ(compiler_for(model).command, std::vector<std::string>{system});
  EXPECT_EQ(availability(model).how, ExecutionMode::native);
  model.program.include.push_back("no_such_header.h");
  EXPECT_TRUE(compiler_for(model).command.empty());
  EXPECT_EQ(availability(model).how, ExecutionMode::unavailable);
  EXPECT_EQ(compiler_for(model).why, "no compiler for it: '" + system +
                                         " -nostdinc' makes no program with the target's headers and flags, '" +
                                         system +
                                         "' makes no program with the target's headers and flags (Debian: apt-get "
                                         "install cross-compiler emulator)");
}

/// Visible where a package is missing; elsewhere the conformance tests run these models.
TEST(Emulated, CompilersForOtherMachinesAreHere) {
  std::string missing;
  for (const auto& file : std::filesystem::directory_iterator(std::string(ISAMAP_SOURCE_DIR) + "/hardware_models")) {
    if (file.path().extension() != ".yaml") continue;
    const auto model = machine(file.path().stem().string());
    if (model.program.language == "c++" && compiler_for(model).command.empty())
      missing += model.name + ": " + compiler_for(model).why + "\n";
  }
  if (!missing.empty()) GTEST_SKIP() << missing;
}

TEST(Emulated, RunsUnderTheEmulator) {
#ifndef __x86_64__
  GTEST_SKIP() << "the compiler of this machine makes no programs for qemu-x86_64";
#endif
  if (!command_exists("qemu-x86_64")) GTEST_SKIP() << "qemu-x86_64 is missing (Debian: apt-get install qemu-user)";
  const auto model = beyond_this_machine("qemu-x86_64 -cpu max");
  EXPECT_EQ(availability(model).how, ExecutionMode::emulated);
  const auto p = program(model, scaled);
  expect_same(p, model);
  auto data = inputs(p, 1);
  const auto outcome = make_runner(model)->run(p, data, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  EXPECT_EQ(outcome->executed, ExecutionMode::emulated);
}

}  // namespace
}  // namespace isamap
