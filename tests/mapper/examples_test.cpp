// SPDX-License-Identifier: Apache-2.0
// Every example on every machine, by default options: complete, proved; certificates of a few, read from disk.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/mapper.h"
#include "tests/cost.h"
#include "tests/every.h"

namespace isamap {
namespace {

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ISAMAP_SOURCE_DIR) + "/" + folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Wrong mappings are found by enumeration of some calls.
TEST(Examples, WrongCallsOfAConvolutionEngineNeedNoSolver) {
  const auto machine = load_hardware("conv3x3", {ISAMAP_SOURCE_DIR "/hardware_models"});
  const auto kernel = load_kernel(ISAMAP_SOURCE_DIR "/examples/conv2d_capsule.yaml");
  ASSERT_TRUE(machine && kernel);
  const auto result = enumerate_mappings(*kernel, machine->model, {});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->mappings.empty());
  EXPECT_EQ(result->solver.queries, 0);
}

/// In the turns of three rules, so that each of them maps on every machine. A bound for what does not end: how fast
/// mapping is, `bench map` measures.
void map_on_every_machine(Every every) {
  int mapped = 0;
  for (const std::string& hardware : yaml_files("hardware_models")) {
    const auto machine = load_hardware(hardware, {}, {});
    ASSERT_TRUE(machine) << render(machine.diagnostics());
    for (const std::string& file : yaml_files("examples")) {
      const auto kernel = load_kernel(file);
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
        if (every.skips()) continue;
        MapOptions options;
        options.rule = rule;
        const double start = cost::processor_seconds();
        const auto result = enumerate_mappings(*kernel, machine->model, options);
        ASSERT_TRUE(result);
        EXPECT_LT(cost::processor_seconds() - start, cost::allowed(5)) << hardware << " " << file;
        if (rule == Rule::access) {
          EXPECT_FALSE(result->limit_reached) << hardware << " " << file;
        }
        for (const Mapping& mapping : result->mappings) EXPECT_EQ(mapping.proof, Proof::proved);
        for (const Rejection& rejection : result->rejected)
          EXPECT_FALSE(rejection.reasons.empty()) << hardware << " " << file;
        mapped += result->mappings.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(mapped, every.share(100));
}

TEST(Examples, MapOnEveryMachine) { map_on_every_machine(Every(4)); }
TEST(HeavyExamples, MapOnEveryMachine) { map_on_every_machine(Every(1)); }

void certificates_on_disk_are_proofs(Every every) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("isamap_certificates_" + std::to_string(::getpid()));
  const std::string root = std::string(ISAMAP_SOURCE_DIR);
  const auto machine = load_hardware(root + "/hardware_models/x86_avx512.yaml", {}, {});
  const auto kernel = load_kernel(root + "/examples/conv2d_strided.yaml");
  ASSERT_TRUE(machine && kernel);
  MapOptions options;
  options.certificates = folder.string();
  const auto result = enumerate_mappings(*kernel, machine->model, options);
  ASSERT_TRUE(result) << render(result.diagnostics());
  ASSERT_EQ(result->certificate_files.size(), result->mappings.size());
  EXPECT_GT(result->solver.queries, 0);
  EXPECT_EQ(result->solver.unknown, 0);
  if (std::system("z3 -version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no z3 program (Debian: z3)";
  for (const std::string& file : result->certificate_files) {
    if (every.skips()) continue;
    const std::string command = "z3 -T:5 " + (folder / file).string() + " | sort -u | tr '\\n' ' ' | grep -qx 'unsat '";
    EXPECT_EQ(std::system(command.c_str()), 0) << file;
  }
  std::filesystem::remove_all(folder);
}

TEST(Examples, CertificatesOnDiskAreProofs) { certificates_on_disk_are_proofs(Every(4)); }
TEST(HeavyExamples, CertificatesOnDiskAreProofs) { certificates_on_disk_are_proofs(Every(1)); }

TEST(Examples, AnInstructionThatIsNotThereIsNamed) {
  const std::string root = std::string(ISAMAP_SOURCE_DIR);
  const auto machine = load_hardware(root + "/hardware_models/a1.yaml", {}, {});
  const auto kernel = load_kernel(root + "/examples/gemm_s16.yaml");
  ASSERT_TRUE(machine && kernel);
  MapOptions options;
  options.instruction = "mak";
  const auto result = enumerate_mappings(*kernel, machine->model, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.diagnostics().front().message, "'mak' is no compute instruction of a1");
  EXPECT_EQ(result.diagnostics().front().hint, "did you mean 'mac'?");
}

}  // namespace
}  // namespace isamap
