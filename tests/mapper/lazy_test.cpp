// SPDX-License-Identifier: Apache-2.0
// Streamed mappings: equal to lists, stopped early, counted without storage; and proofs of single ones.

#include <gtest/gtest.h>

#include <algorithm>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/mapper.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

HardwareModel machine() {
  auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/bench/data/mma.yaml", {});
  if (!loaded) ADD_FAILURE() << render(loaded.diagnostics());
  return loaded ? std::move(loaded->model) : HardwareModel{};
}

Kernel example(const std::string& name) {
  auto kernel = load_kernel(ISAMAP_SOURCE_DIR "/examples/" + name + ".yaml");
  if (!kernel) ADD_FAILURE() << render(kernel.diagnostics());
  return kernel ? std::move(*kernel) : Kernel{};
}

Kernel formula(const std::string& text, const std::string& dims) {
  auto kernel = kernel_from_formula(text, dims, "");
  if (!kernel) ADD_FAILURE() << render(kernel.diagnostics());
  return kernel ? std::move(*kernel) : Kernel{};
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(Lazy, TheSameMappingsAsInLists) {
  const HardwareModel model = machine();
  for (const char* name : {"gemm", "conv2d", "depthwise", "mean", "scan", "variance", "gemv", "max_pool"})
    for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
      const Kernel kernel = example(name);
      MapOptions options;
      options.rule = rule;
      const auto list = enumerate_mappings(kernel, model, options);
      ASSERT_TRUE(list);
      std::vector<std::string> listed, visited;
      for (const Mapping& m : list->mappings) listed.push_back(print(m, kernel, model));
      const auto summary = for_each_mapping(kernel, model, options, [&](const Mapping& m) {
        EXPECT_EQ(m.id, static_cast<int>(visited.size()));
        EXPECT_EQ(m.proof, Proof::proved);
        visited.push_back(print(m, kernel, model));
        return true;
      });
      ASSERT_TRUE(summary);
      EXPECT_EQ(sorted(visited), sorted(listed)) << name;
      EXPECT_EQ(summary->mappings, static_cast<std::int64_t>(listed.size()));
      EXPECT_EQ(summary->limit_reached, list->limit_reached);
      EXPECT_FALSE(summary->stopped);
      ASSERT_EQ(summary->rejected.size(), list->rejected.size()) << name;
      for (std::size_t r = 0; r < list->rejected.size(); ++r)
        EXPECT_EQ(summary->rejected[r].reasons, list->rejected[r].reasons);
    }
}

TEST(Lazy, EndsWhenToldTo) {
  int visits = 0;
  MapOptions options;
  options.rule = Rule::all;
  const auto summary =
      for_each_mapping(example("conv3d"), machine(), options, [&](const Mapping&) { return ++visits < 7; });
  ASSERT_TRUE(summary);
  EXPECT_EQ(visits, 7);
  EXPECT_EQ(summary->mappings, 7);
  EXPECT_TRUE(summary->stopped);
  EXPECT_FALSE(summary->limit_reached);
  EXPECT_TRUE(summary->rejected.empty());
}

/// The list ends at its limit, and is a prefix of the search's results: reproducible.
TEST(Lazy, ListsEndWhenToldTo) {
  const Kernel kernel = example("conv3d");
  const HardwareModel model = machine();
  const auto texts = [&](std::int64_t most, bool use_z3, std::int64_t* asked) {
    MapOptions options;
    options.rule = Rule::all;
    options.use_z3 = use_z3;
    std::int64_t calls = 0, before = 0;
    options.progress = [&](std::int64_t mappings) {
      EXPECT_GE(mappings, before);
      before = mappings;
      return ++calls <= most;
    };
    const auto list = enumerate_mappings(kernel, model, options);
    EXPECT_TRUE(list && list->stopped && !list->limit_reached);
    EXPECT_TRUE(list->rejected.empty());  // unvisited ones are not refused
    *asked = calls;
    std::vector<std::string> all;
    for (const Mapping& m : list->mappings) all.push_back(print(m, kernel, model));
    return all;
  };
  for (const bool use_z3 : {false, true}) {
    std::int64_t asked = 0;
    EXPECT_TRUE(texts(0, use_z3, &asked).empty());
    EXPECT_EQ(asked, 1);
    const auto some = texts(9, use_z3, &asked);
    EXPECT_EQ(asked, 10);
    EXPECT_EQ(some, texts(9, use_z3, &asked));
    EXPECT_EQ(some.empty(), use_z3);
  }
  MapOptions whole;
  std::int64_t seen = 0;
  whole.progress = [&](std::int64_t mappings) { return seen = mappings, true; };
  const auto list = enumerate_mappings(kernel, model, whole), plain = enumerate_mappings(kernel, model, {});
  ASSERT_TRUE(list && plain);
  EXPECT_FALSE(list->stopped);
  EXPECT_EQ(list->mappings.size(), plain->mappings.size());
  EXPECT_LE(seen, static_cast<std::int64_t>(list->mappings.size()));
  EXPECT_GT(seen, 0);
}

TEST(Lazy, CertificatesEndWhenToldTo) {
  MapOptions options;
  options.certificates = scratch("few_certificates");
  options.certificate_progress = [](std::size_t written, std::size_t) { return written < 1; };
  const auto list = enumerate_mappings(example("gemm"), machine(), options);
  ASSERT_TRUE(list) << render(list.diagnostics());
  EXPECT_TRUE(list->stopped);
  EXPECT_GT(list->mappings.size(), 1u);
  EXPECT_EQ(list->certificate_files.size(), 1u);
}

/// Every non-empty set of the four dims of each class: 15^3, in two orders of the operands.
TEST(Lazy, CountsBeyondTheLimitOfLists) {
  const Kernel kernel = formula("C[a,b,c,d,e,f,g,h] += A[a,b,c,d,i,j,k,l] * B[i,j,k,l,e,f,g,h]",
                                "a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2,i=2,j=2,k=2,l=2");
  MapOptions options;
  options.rule = Rule::access;
  options.instruction = "mma_16x16x16";
  const auto count = [&] { return for_each_mapping(kernel, machine(), options, [](const Mapping&) { return true; }); };
  options.max_mappings = 100'000;
  EXPECT_EQ(count()->mappings, 2 * 15 * 15 * 15);
  EXPECT_FALSE(count()->limit_reached);
  options.max_mappings = 4096;
  EXPECT_EQ(count()->mappings, 4096);
  EXPECT_TRUE(count()->limit_reached);
}

/// A dim of 2^31 steps, of which an instruction holds three: trying each of them takes minutes a placement.
TEST(Lazy, StepsBeyondAnInstructionAreNotTried) {
  auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/hardware_models/conv3x3.yaml", {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const auto listed = [&](const std::string& extent) {
    const Kernel kernel =
        formula("O[n,g,k,p,q] += I[n,g,c,p+r,q+s]*F[g,k,c,r,s]", "n=1,g=3,k=10,p=12,q=13,c=6,s=3,r=" + extent);
    std::vector<std::string> mappings;
    const auto all = enumerate_mappings(kernel, loaded->model, {});
    EXPECT_TRUE(all);
    for (const Mapping& m : all->mappings) mappings.push_back(print(m, kernel, loaded->model));
    return mappings;
  };
  EXPECT_EQ(listed("2147483648"), listed("1000"));
}

TEST(Lazy, AnInstructionThatIsNotThereIsNamed) {
  MapOptions options;
  options.instruction = "mma_16x16";
  const auto summary = for_each_mapping(example("gemm"), machine(), options, [](const Mapping&) { return true; });
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.diagnostics().front().message, "'mma_16x16' is no compute instruction of mma");
}

TEST(Lazy, AMappingIsProvedAloneAndAChangedOneIsRefuted) {
  const HardwareModel model = machine();
  const Kernel kernel = example("gemm");
  MapOptions options;
  options.rule = Rule::access;
  const auto list = enumerate_mappings(kernel, model, options);
  ASSERT_TRUE(list);
  Mapping mapping = list->mappings.front();
  const Verdict good = prove(kernel, model, mapping);
  EXPECT_EQ(good.proof, Proof::proved);
  EXPECT_EQ(good.failed, "");
  EXPECT_NE(good.certificate.find("(check-sat)"), std::string::npos);
  EXPECT_NE(good.certificate.find("; mapping " + print(mapping, kernel, model)), std::string::npos) << good.certificate;
  std::swap(mapping.dims[0], mapping.dims[2]);  // rows of C on the summed dim
  const Verdict bad = prove(kernel, model, mapping);
  EXPECT_EQ(bad.proof, Proof::unproved);
  EXPECT_FALSE(bad.failed.empty());
}

}  // namespace
}  // namespace isamap
