// SPDX-License-Identifier: Apache-2.0
// Any bytes into a loader: a value or diagnostics, never a crash, in bounded time.
//
// Real files are damaged at random (the seed is shown): bytes flipped, pieces cut, doubled or moved, numbers made huge.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/scheduler.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

const std::string models_folder = ISAMAP_SOURCE_DIR "/hardware_models";
const std::string examples_folder = ISAMAP_SOURCE_DIR "/examples";

std::vector<std::string> files_of(const std::string& folder, const std::string& extension) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t place(const std::string& text, Random& random) {
  return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size())));
}

std::string piece(const std::string& text, Random& random) {
  return text.substr(place(text, random), static_cast<std::size_t>(random.between(0, 40)));
}

/// One wound.
void damage(std::string& text, Random& random) {
  static const char* const words[] = {"-1",
                                      "0",
                                      "99999999999999999999",
                                      "4611686018427387904",
                                      "{",
                                      "}",
                                      "[",
                                      "*a",
                                      "&a",
                                      "${x}",
                                      "\xff\xfe",
                                      ": ",
                                      "\n",
                                      "\t",
                                      "%",
                                      "/0",
                                      "[[",
                                      "i",
                                      "nan",
                                      "1e999",
                                      "\"",
                                      "<<"};
  switch (random.between(0, 4)) {
    case 0:
      if (!text.empty()) text[place(text, random) % text.size()] = static_cast<char>(random.between(0, 255));
      break;
    case 1:
      text.erase(std::min(place(text, random), text.size()), static_cast<std::size_t>(random.between(1, 30)));
      break;
    case 2:
      text.insert(place(text, random), piece(text, random));
      break;
    case 3:
      text.insert(place(text, random), words[random.between(0, std::ssize(words) - 1)]);
      break;
    default: {
      const auto digit = text.find_first_of("0123456789", place(text, random));
      if (digit != std::string::npos) text.replace(digit, 1, words[random.between(0, 3)]);
    }
  }
}

std::string damaged(std::string text, std::uint64_t seed) {
  Random random(seed);
  for (std::int64_t wounds = random.between(1, 4); wounds > 0; --wounds) damage(text, random);
  return text;
}

/// `read` on many damaged copies of every file; the time is that of a slow machine under a sanitizer.
template <class Read>
void attack(const std::vector<std::string>& files, int copies, Read read) {
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    const std::string whole = read_file(file);
    for (int copy = 0; copy < copies; ++copy) {
      const std::uint64_t seed = static_cast<std::uint64_t>(copy) * 1000003 + std::size(file);
      SCOPED_TRACE(file + " seed " + std::to_string(seed));
      const auto begin = std::chrono::steady_clock::now();
      read(damaged(whole, seed));
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    }
  }
}

std::string write_temporary(const std::string& name, const std::string& text) {
  const std::string path = (fs::temp_directory_path() / (std::to_string(::getpid()) + name)).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

template <class T>
void is_value_or_diagnostics(const Result<T>& result) {
  EXPECT_TRUE(result || has_errors(result.diagnostics()));
}

TEST(FuzzLoaders, Kernels) {
  attack(files_of(examples_folder, ".yaml"), 30,
         [](const std::string& text) { is_value_or_diagnostics(parse_kernel_yaml(text, "damaged.yaml")); });
}

void attack_hardware(int copies) {
  attack(files_of(models_folder, ".yaml"), copies, [](const std::string& text) {
    const std::string path = write_temporary("damaged.yaml", text);
    is_value_or_diagnostics(load_hardware(path, {models_folder}));
    fs::remove(path);
  });
}

TEST(FuzzLoaders, Hardware) { attack_hardware(10); }
TEST(HeavyFuzzLoaders, Hardware) { attack_hardware(40); }

TEST(FuzzLoaders, Models) {
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  attack(files_of(examples_folder, ".onnx"), 60, [](const std::string& text) {
    const std::string path = write_temporary("damaged.onnx", text);
    is_value_or_diagnostics(load_onnx(path));
    fs::remove(path);
  });
}

TEST(FuzzLoaders, Formulas) {
  const std::string formula = "O[n,k,p,q] += f32(I[n,c,2*p+r,q+s]) * max(F[k,c,r,s], 0.5) - select(A[k], 1, exp(B[k]))";
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    is_value_or_diagnostics(kernel_from_formula(damaged(formula, seed), "n=1,k=2,p=3,q=4,c=5,r=2,s=2", "I=s8"));
    is_value_or_diagnostics(kernel_from_formula("C[i] = A[i]", damaged("i=12,j=3", seed), damaged("A=s8,C=s32", seed)));
  }
}

TEST(FuzzLoaders, Schedules) {
  const auto kernel = load_kernel(examples_folder + "/gemm.yaml");
  const auto model = load_hardware(models_folder + "/scalar_c.yaml", {models_folder});
  ASSERT_TRUE(kernel && model);
  const std::string text =
      "schedule: s\nkernel: gemm\ntarget: scalar_c\nnest:\n  - for j by 16, i by 4\n  - stage C in r\n  - for k by 1 "
      "unroll\n"
      "  - do s0 with fma i=i\n";
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const auto read = parse_schedule(damaged(text, seed), "damaged.yaml", *kernel, model->model);
    is_value_or_diagnostics(read);
    if (read) verify(*read, *kernel, model->model);
  }
}

}  // namespace
}  // namespace isamap
