// SPDX-License-Identifier: Apache-2.0
// The folder that measures a GPU, run where the GPU is emulated: phases, what was stopped and goes on, kernels with
// faults in them, and the way back into the store of trials.

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/common/process.h"
#include "bench/gpu/place/values.h"
#include "bench/gpu/ranks.h"
#include "lab/trial_store.h"
#include "tests/cuda/support.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;
const std::string gpu_library = ISAMAP_EMULATED_GPU_LIBRARY;

struct Ended {
  int code = -1;
  std::string said;
};

class Bench : public ::testing::Test {
 protected:
  TemporaryDirectory folder;
  fs::path place = folder.path() / "bundle";

  Ended with(const std::vector<std::string>& variables, const std::vector<std::string>& words) {
    std::vector<std::string> command{"env",
                                     "ISAMAP_EMULATED_GPU_CACHE=" ISAMAP_BINARY_DIR "/emulated_gpu/libraries",
                                     "ISAMAP_CUDA_DRIVER=" + gpu_library,
                                     "ISAMAP_NVRTC=" + gpu_library,
                                     "BENCH_PEERS=0",
                                     "BENCH_SECONDS=0.001"};
    command.insert(command.end(), variables.begin(), variables.end());
    command.insert(command.end(), words.begin(), words.end());
    const auto ran = run_process(command, {120, 0, 0}, folder.path() / "log");
    return {ran.exit_code, ran.output};
  }
  Ended bench(std::vector<std::string> words) {
    words.insert(words.begin(), ISAMAP_BENCH_GPU);
    words.insert(words.end(), {"--isamap", ISAMAP_PROGRAM});
    return with({}, words);
  }
  void make(const std::string& family, const std::string& instruction = "mma_s8") {
    const Ended made = bench({"--bundle", place.string(), "--target", "nvidia_sm80", "--small", "--no-code", "--family",
                              family, "--instruction", instruction});
    ASSERT_EQ(made.code, 0) << made.said;
    // The runner is the same in every bundle: compiled once, and known by its text.
    std::string text;
    for (const char* file : {"runner.cpp", "case.h", "reference.h", "values.h", "peers.h", "isamap_device.h"})
      text += text_of(std::string("place/") + file);
    kept_runner =
        fs::path(ISAMAP_BINARY_DIR) / "emulated_gpu" / (std::to_string(std::hash<std::string>{}(text)) + ".o");
    std::error_code none;
    fs::copy_file(kept_runner, place / "place/runner.o", none);
  }
  void TearDown() override {
    std::error_code none;
    if (kept_runner.empty() || fs::exists(kept_runner)) return;
    const fs::path beside = kept_runner.string() + std::to_string(getpid());
    if (fs::copy_file(place / "place/runner.o", beside, none)) fs::rename(beside, kept_runner, none);
  }
  fs::path kept_runner;
  Ended run(std::vector<std::string> variables = {}, const std::vector<std::string>& phases = {}) {
    variables.insert(variables.begin(), {"CXX=" ISAMAP_SOURCE_DIR "/tests/cuda/kept_compiler.sh",
                                         "KEPT_PROGRAMS=" ISAMAP_BINARY_DIR "/emulated_gpu/programs"});
    std::vector<std::string> words{"bash", (place / "run.sh").string()};
    words.insert(words.end(), phases.begin(), phases.end());
    return with(variables, words);
  }
  std::string text_of(const std::string& file) { return isamap::read_file(place / file, std::size_t{1} << 24); }
  nlohmann::json result(const std::string& file) {
    return nlohmann::json::parse(text_of("results/" + file), nullptr, false);
  }
  /// Changes a kernel of the bundle; what was measured of it is forgotten.
  void plant(const std::string& name, const std::string& from, const std::string& to) {
    const fs::path file = place / "cases" / name / "kernel.cu";
    const std::string text = changed(isamap::read_file(file, 1 << 20), from, to);
    write_file(file, text.data(), text.size());
    fs::remove(place / "cases" / name / "kernel.cubin");
    for (const char* phase : {"check", "time"}) fs::remove(place / "results" / phase / name);
  }
};

/// What no nest isolates is in the bundle as well, and its record is replayed.
TEST_F(Bench, HeavyInstructionsByHandComeBack) {
  make("elementwise", "ldmatrix_x2");
  const Ended ran = run({}, {"probe", "build", "instructions"});
  ASSERT_EQ(ran.code, 0) << ran.said;
  const std::string record = (folder.path() / "vectors.jsonl").string();
  const Ended back = bench({"--import", place.string(), "--record", record, "--instruction", "ldmatrix_x2"});
  EXPECT_NE(back.said.find("1 of 1 instructions executed (native), 1 equal, 0 wrong"), std::string::npos) << back.said;
  const Ended replayed =
      with({}, {ISAMAP_PROGRAM, "hw", "verify", "nvidia_sm80", "--instruction", "ldmatrix_x2", "--replay", record});
  EXPECT_EQ(replayed.code, 0) << replayed.said;
}

TEST_F(Bench, EveryPhaseAndTheWayBack) {
  make("product_bf16");
  const Ended ran = run();
  ASSERT_EQ(ran.code, 0) << ran.said;
  EXPECT_EQ(result("probe.json").value("name", ""), "emulated GPU");
  const auto all = result("results.json");
  ASSERT_TRUE(all.is_object()) << text_of("results/results.json");
  EXPECT_EQ(all["schema_version"], 1);
  int timed = 0;
  for (const auto& row : all["rows"]) {
    EXPECT_EQ(row.value("status", ""), "ok") << row;
    if (row.value("phase", "") != "time") continue;
    ++timed;
    EXPECT_GT(row.value("seconds", 0.0), 0.0);
    EXPECT_LE(row.value("seconds_min", 1.0), row.value("seconds", 0.0));
    EXPECT_EQ(row.value("what", ""), "cuBLASLt is not installed");
  }
  EXPECT_EQ(timed, 3);
  const std::string csv = text_of("results/results.csv");
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  std::istringstream lines(csv);
  std::string head;
  std::getline(lines, head);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(commas(line), commas(head)) << line;
  EXPECT_NE(text_of("results/summary.txt").find("bf16_32x24x48t"), std::string::npos);

  const std::string store = (folder.path() / "trials.db").string(), record = (folder.path() / "vectors.jsonl").string();
  const Ended back =
      bench({"--import", place.string(), "--store", store, "--record", record, "--instruction", "mma_s8"});
  ASSERT_EQ(back.code, 0) << back.said;
  EXPECT_NE(back.said.find("Spearman"), std::string::npos) << back.said;
  EXPECT_NE(back.said.find("1 of 1 instructions executed (native), 1 equal, 0 wrong"), std::string::npos) << back.said;
  ASSERT_EQ(bench({"--import", place.string(), "--store", store, "--instruction", "mma_s8"}).code,
            0);  // no time counts twice
  EXPECT_NE(isamap::read_file(record, 1000)
                .find("\"target\":\"nvidia_sm80\",\"executed\":\"native\",\"machine\":\"on emulated GPU\""),
            std::string::npos);
  const auto trials = lab::TrialStore::open(store, false);
  ASSERT_TRUE(trials);
  const auto known = trials->trials(trials->run(0)->id);
  ASSERT_TRUE(known);
  ASSERT_EQ(known->size(), 3U);
  EXPECT_EQ((*known)[0].measured, result("time/bf16_32x24x48t_s0").value("seconds", 0.0));
  const auto run_of = trials->run(0);
  EXPECT_EQ(trials->measured_on(run_of->target_hash)->size(), 3U);  // what a model of the cost learns from
  // What came back is a record that the emulation agrees with.
  const Ended replayed =
      with({}, {ISAMAP_PROGRAM, "hw", "verify", "nvidia_sm80", "--instruction", "mma_s8", "--replay", record});
  EXPECT_EQ(replayed.code, 0) << replayed.said;
  const Ended learned =
      with({"ISAMAP_EMULATION=late"},
           {ISAMAP_PROGRAM, "schedule", std::string(ISAMAP_SOURCE_DIR) + "/examples/gemm_bf16.yaml", "--target",
            "nvidia_sm80", "--cost", "learned", "--store", store, "--budget", "evals=20"});
  EXPECT_EQ(learned.code, 0) << learned.said;
  const Ended listed = with({}, {ISAMAP_PROGRAM, "lab", "csv", store, "--run", "1", "--features"});
  EXPECT_EQ(listed.code, 0) << listed.said;
  EXPECT_NE(listed.said.find("log2 cycles"), std::string::npos) << listed.said;
  // A search of the same machine learns from what came back, and nothing can be replayed that was not searched here.
  const Ended replay = with({}, {ISAMAP_PROGRAM, "replay", store, "--run", "1"});
  EXPECT_EQ(replay.code, 1) << replay.said;
  EXPECT_NE(replay.said.find("imported"), std::string::npos) << replay.said;
}

TEST_F(Bench, WhatThereIsNotIsNamedAndNothingIsWritten) {
  const auto asked = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--bundle", place.string(), "--target", "nvidia_sm80", "--small", "--no-code"};
    words.insert(words.end(), more.begin(), more.end());
    return bench(words);
  };
  const Ended family = asked({"--family", "nosuch"});
  EXPECT_EQ(family.code, 1) << family.said;
  EXPECT_NE(family.said.find("no family of kernels begins with 'nosuch'"), std::string::npos) << family.said;
  EXPECT_NE(family.said.find("product_bf16"), std::string::npos) << family.said;
  const Ended instruction = asked({"--family", "elementwise", "--instruction", "nosuch"});
  EXPECT_EQ(instruction.code, 2) << instruction.said;
  EXPECT_NE(instruction.said.find("'nvidia_sm80' has no instruction 'nosuch'"), std::string::npos) << instruction.said;
  EXPECT_FALSE(fs::exists(place / "cases"));
  const Ended folder = bench({"--import", (place / "nosuch").string()});
  EXPECT_EQ(folder.code, 1) << folder.said;
  EXPECT_NE(folder.said.find("there is no folder"), std::string::npos) << folder.said;
}

TEST_F(Bench, ABundleHoldsNothingOfAnEarlierOne) {
  make("elementwise");
  EXPECT_TRUE(fs::exists(place / "cases/elementwise_bf16_12x40_s0"));
  make("product_bf16");
  EXPECT_FALSE(fs::exists(place / "cases/elementwise_bf16_12x40_s0"));
  EXPECT_FALSE(fs::is_empty(place / "cases"));
}

TEST_F(Bench, WhatWasMeasuredStaysOnlyWithItsTexts) {
  make("elementwise");
  const std::string name = "elementwise_bf16_12x40_s0";
  const auto leave = [&](const std::string& file) {
    std::error_code none;
    fs::create_directories((place / file).parent_path(), none);
    write_file(place / file, "old", 3);
  };
  const std::vector<std::string> made{"cases/" + name + "/program", "cases/" + name + "/kernel.cubin",
                                      "results/check/" + name, "results/time/" + name, "results/time/" + name + ".csv"};
  for (const std::string& file : made) leave(file);
  leave("results/summary.txt");
  leave("notes.txt");
  make("elementwise");  // the same again
  for (const std::string& file : made) EXPECT_TRUE(fs::exists(place / file)) << file;
  EXPECT_FALSE(fs::exists(place / "results/summary.txt"));
  const std::string other = text_of("cases/" + name + "/program.cpp") + "// another schedule\n";
  write_file(place / "cases" / name / "program.cpp", other.data(), other.size());
  make("elementwise");
  for (const std::string& file : made) EXPECT_FALSE(fs::exists(place / file)) << file;
  EXPECT_TRUE(fs::exists(place / "notes.txt"));
}

TEST_F(Bench, AFolderOfOthersIsLeftAlone) {
  fs::create_directories(place / "cases/mine");
  write_file(place / "cases/mine/thesis.txt", "x", 1);
  const Ended refused = bench({"--bundle", place.string(), "--target", "nvidia_sm80", "--small", "--no-code"});
  EXPECT_EQ(refused.code, 1) << refused.said;
  EXPECT_NE(refused.said.find("holds files and is no bundle: nothing is written there"), std::string::npos)
      << refused.said;
  EXPECT_TRUE(fs::exists(place / "cases/mine/thesis.txt"));
  EXPECT_FALSE(fs::exists(place / "run.sh"));
}

// A library that refuses all it is asked for, and one whose default refuses and whose other way computes nothing.
TEST_F(Bench, HeavyALibraryThatIsWrongIsNoPeer) {
  make("product_s8");
  const auto with_library = [&](const std::string& body) {
    const std::string text =
        "#include \"peers.h\"\nnamespace bench {\nint peer_ways(const PeerProduct&, std::string&) { return 2; }\n"
        "int peer_run(int way, const void*, const void*, void*, void*) { " +
        body + " }\n}\n";
    write_file(place / "place/stub.cpp", text.data(), text.size());
    const auto made = run_process(
        {"c++", "-std=c++20", "-c", (place / "place/stub.cpp").string(), "-o", (place / "place/peers.o").string()},
        {60, 0, 0}, folder.path() / "log");
    EXPECT_EQ(made.exit_code, 0) << made.output;
    write_file(place / "place/peers.link", "\n", 1);
    fs::remove_all(place / "results");
    const Ended ran = run();
    EXPECT_EQ(ran.code, 0) << ran.said;
    return result("time/s8_17x9x40t_s0");
  };
  const auto refusing = with_library("return 1;");
  EXPECT_EQ(refusing.value("what", ""), "the library refuses all of its 2 ways");
  EXPECT_FALSE(refusing.contains("peer_default_seconds"));
  const auto idle = with_library("return way == 0 ? 1 : 0;");
  EXPECT_NE(idle.value("what", "").find("way 1 of the library is wrong: element 0: "), std::string::npos) << idle;
  EXPECT_FALSE(idle.contains("peer_best_seconds"));
  EXPECT_GT(idle.value("seconds", 0.0), 0.0);
}

TEST_F(Bench, HeavyOtherSumsAndTypesAreRight) {
  make("sum_");
  EXPECT_EQ(run().code, 0);
  for (const char* name : {"convolution_16_s0", "batched_16_s0", "epilogue_16_s0", "transposed_a_16_s0"})
    EXPECT_EQ(result(std::string("check/") + name).value("status", ""), "ok") << result(std::string("check/") + name);
}

TEST_F(Bench, HeavyMemoryBoundKernelsAreMeasuredByACopy) {
  make("");
  const std::string manifest = text_of("manifest.jsonl");
  EXPECT_NE(manifest.find("\"family\":\"product_u8\""), std::string::npos);
  EXPECT_EQ(manifest.find("product_e4m3"), std::string::npos);  // this machine has none
  for (const auto& one : fs::directory_iterator(place / "cases")) {
    const std::string name = one.path().filename().string();
    if (!name.starts_with("copy") && !name.starts_with("elementwise")) fs::remove_all(one.path());
  }
  ASSERT_EQ(run({}, {"probe", "build", "check", "time", "summary"}).code, 0);
  const std::string summary = text_of("results/summary.txt");
  EXPECT_NE(summary.find(" 100.0% of the copy's GB/s"), std::string::npos) << summary;
  EXPECT_NE(summary.find("of 1 kernels reach 85% of the copy's GB/s"), std::string::npos) << summary;
}

TEST_F(Bench, HeavyWhatWasStoppedGoesOn) {
  make("elementwise");
  const std::string name = "elementwise_bf16_12x40_s0";
  EXPECT_EQ(run({"LIMIT_check=0"}).code, 4);  // no time for it: there is nothing, and nothing after it
  EXPECT_FALSE(fs::exists(place / "results/check" / name));
  EXPECT_FALSE(fs::exists(place / "results/time" / name));
  EXPECT_EQ(run({}, {"check"}).code, 0);
  const auto before = fs::last_write_time(place / "results/check" / name);
  EXPECT_EQ(run().code, 0);
  EXPECT_EQ(fs::last_write_time(place / "results/check" / name), before);  // not done again
  EXPECT_EQ(result("time/" + name).value("status", ""), "ok");
}

TEST_F(Bench, HeavyFaultyKernelsAreSeenAndHaveNoTime) {
  make("elementwise");
  const std::string name = "elementwise_bf16_12x40_s0";
  ASSERT_EQ(run({}, {"probe", "build"}).code, 0);
  const std::string text = text_of("cases/" + name + "/kernel.cu");
  const std::size_t store = text.find("  put_16_b16(Y");  // the store of eight elements
  ASSERT_NE(store, std::string::npos) << text;
  const std::size_t begin = text.rfind('\n', store + 1) + 1;
  const std::string statement = text.substr(begin, text.find('\n', store) - begin);
  const auto expect_wrong = [&](const std::string& by, const std::string& words) {
    plant(name, statement, by);
    EXPECT_EQ(run({}, {"check", "time"}).code, 5) << words;
    EXPECT_EQ(result("check/" + name).value("status", ""), "wrong");
    EXPECT_NE(result("check/" + name).value("what", "").find(words), std::string::npos) << result("check/" + name);
    EXPECT_FALSE(fs::exists(place / "results/time" / name));
    plant(name, by, statement);
  };
  expect_wrong("if (threadIdx.x != 3) " + statement, "nan instead of");  // what is not written is poison
  expect_wrong(statement + " if (threadIdx.x == 0 && blockIdx.x == 0) Y[480] = 0;", "it wrote outside Y");
  expect_wrong(
      statement +
          " if (threadIdx.x == 0 && blockIdx.x == 0) const_cast<uint16_t*>(static_cast<const uint16_t*>(X))[7] = 0;",
      "it changed its input X");
  plant(name, statement, "for (volatile int i = 0;; ++i) {}");
  EXPECT_EQ(run({"STEP_check=1"}, {"check"}).code, 5);
  EXPECT_EQ(result("check/" + name).value("status", ""), "timeout");
  plant(name, "for (volatile int i = 0;; ++i) {}", statement);
  EXPECT_EQ(run({"ISAMAP_EMULATED_GPU=memory=2000"}, {"check"}).code, 77);
  EXPECT_EQ(result("check/" + name).value("status", ""), "skipped") << result("check/" + name);
  EXPECT_EQ(run({}, {"check"}).code, 0);  // what was skipped is tried again
  EXPECT_EQ(result("check/" + name).value("status", ""), "ok") << result("check/" + name);
}

TEST_F(Bench, WithoutAGpuTheFolderIsThereAndSaysSo) {
  const Ended ended =
      with({"ISAMAP_EMULATED_GPU=no-device"}, {ISAMAP_BENCH_GPU, "--folder", place.string(), "--target", "nvidia_sm80",
                                               "--small", "--no-code", "--family", "elementwise"});
  EXPECT_EQ(ended.code, 77) << ended.said;
  EXPECT_NE(ended.said.find("not measured here: the driver is there, and no GPU"), std::string::npos) << ended.said;
  EXPECT_NE(ended.said.find("--import"), std::string::npos);
  EXPECT_EQ(run({"ISAMAP_EMULATED_GPU=no-device"}).code, 77);
  const Ended back = bench({"--import", place.string()});
  EXPECT_EQ(back.code, 1) << back.said;
  EXPECT_NE(back.said.find("no case was timed there"), std::string::npos) << back.said;
}

TEST_F(Bench, CodeIsMadeWhereTheCompilerIs) {
  if (!command_exists("nvcc") && !command_exists("/usr/local/cuda/bin/nvcc")) GTEST_SKIP() << "nvcc is not installed";
  const Ended made = with(
      {}, {ISAMAP_BENCH_GPU, "--bundle", place.string(), "--target", "nvidia_sm90a", "--small", "--family", "softmax"});
  EXPECT_EQ(made.code, 0) << made.said;
  EXPECT_EQ(text_of("cases/softmax_12x40_s0/kernel.cubin").substr(1, 3), "ELF");
}

TEST(Ranks, CountOrderAndTies) {
  EXPECT_DOUBLE_EQ(bench::spearman({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_DOUBLE_EQ(bench::kendall({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(bench::kendall({1, 2, 3}, {1, 3, 2}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(bench::spearman({1, 2, 3}, {1, 3, 2}), 0.5);
  EXPECT_DOUBLE_EQ(bench::kendall({1, 1, 2}, {1, 2, 3}), 2 / std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(bench::spearman({1, 1, 1}, {1, 2, 3}), 0);
}

// What the folder takes a number's bytes for is what the interpreter does.
TEST(Values, AreThoseOfTheTypes) {
  const std::pair<::bench::Type, DType> types[] = {
      {::bench::Type::f64, DType::f64},   {::bench::Type::f32, DType::f32}, {::bench::Type::tf32, DType::tf32},
      {::bench::Type::bf16, DType::bf16}, {::bench::Type::f16, DType::f16}, {::bench::Type::s32, DType::s32},
      {::bench::Type::s8, DType::s8},     {::bench::Type::u8, DType::u8},   {::bench::Type::e4m3, DType::e4m3},
      {::bench::Type::e5m2, DType::e5m2}};
  for (const auto& [type, dtype] : types)
    for (const bool whole : {true, false}) {
      const auto values = ::bench::random_values(type, 500, whole, 3);
      TensorData data{dtype, {500}, {values.bytes.begin(), values.bytes.end()}};
      for (std::int64_t i = 0; i < 500; ++i) {
        const double number = values.numbers[static_cast<std::size_t>(i)];
        const Scalar found = data.get(i);
        EXPECT_EQ(is_float(dtype) ? found.real : static_cast<double>(found.integer), number) << name(dtype);
        EXPECT_EQ(::bench::decode(type, &values.bytes[static_cast<std::size_t>(i) * ::bench::size_of(type)]), number);
      }
    }
}

}  // namespace
}  // namespace isamap
