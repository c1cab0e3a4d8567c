// A model whose features this processor lacks runs under an emulator, or says which package is missing.

#include <gtest/gtest.h>

#include <fstream>

#include "backends/process.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

HardwareModel beyond_this_machine(const std::string& emulator) {
  const std::string path = testing::TempDir() + "/isamap_emulated.yaml";
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
  EXPECT_EQ(here.how, "unavailable");
  EXPECT_EQ(here.why,
            "this processor does not report no_such_feature, and the emulator 'qemu-nothing' is missing (Debian: "
            "apt-get install qemu-user)");
}

TEST(Emulated, RunsUnderTheEmulator) {
#ifndef __x86_64__
  GTEST_SKIP() << "the compiler of this machine makes no programs for qemu-x86_64";
#endif
  if (!command_exists("qemu-x86_64")) GTEST_SKIP() << "qemu-x86_64 is missing (Debian: apt-get install qemu-user)";
  const auto model = beyond_this_machine("qemu-x86_64 -cpu max");
  EXPECT_EQ(availability(model).how, "emulated");
  const auto p = program(model, scaled);
  expect_same(p, model);
  auto data = inputs(p, 1);
  const auto outcome = make_runner(model)->run(p, data, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  EXPECT_EQ(outcome->executed, "emulated");
}

}  // namespace
}  // namespace isamap
