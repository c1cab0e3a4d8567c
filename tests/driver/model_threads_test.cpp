// SPDX-License-Identifier: Apache-2.0
// Emitted models on a team of threads: every part against the interpreter, runs at the same time, and what is too small
// to be distributed.

#include <gtest/gtest.h>

#include <fstream>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_unit.h"
#include "driver/plan/plan_model.h"
#include "driver/run_model.h"
#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "tests/every.h"
#include "tests/models_of_text.h"
#include "tests/planner/attention.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

/// Odd sizes: a product with an activation whose constants are registers set ahead of the parallel loop, a sum over
/// rows, which is scalar code, and two writers of one tensor, which begins at zero.
Model odd_model() {
  return model_of(R"(kernel odd
tensor X: f32[37,29]
tensor W: f32[29,45] constant
tensor T: f32[37,45]
tensor R: f32[37,45]
tensor V: f32[45,29] constant
tensor U: f32[37,29]
tensor Z: f32[37,29]
tensor S: f32[37]
tensor Y: f32[74,29]
first: T[i,j] += X[i,k] * W[k,j] over i: 37, j: 45, k: 29
swish: R[i,j] = T[i,j] * min(max(T[i,j] + 3, 0), 6) * 0.25 over i: 37, j: 45
second: U[i,j] += R[i,k] * V[k,j] over i: 37, j: 29, k: 45
residual: Z[i,j] = U[i,j] + X[i,j] over i: 37, j: 29
rows: S[i] += Z[i,j] * X[i,j] over i: 37, j: 29
upper: Y[i,j] = Z[i,j] * S[i] over i: 37, j: 29
lower: Y[37 + i,j] = U[i,j] over i: 37, j: 29
)");
}

class ModelThreads : public testing::Test {
 protected:
  void units_link_to_one_program(Every every);
  void bands_on_a_team(const std::vector<int>& teams);
  void every_part_is_as_the_interpreter_says(Every every);
  /// The fastest machine of these that this processor is, with so many threads, and what it takes to start them.
  static HardwareModel machine(int threads, const std::string& start) {
    const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
    LoadOptions options;
    options.params = {{"cores", std::to_string(threads)}};
    for (const char* name : {"x86_avx512", "x86_avx2"}) {
      const std::string file = scratch("threads.yaml"), base = std::string(name) + ".yaml";
      std::filesystem::copy_file(folder + "/" + base, scratch(base), std::filesystem::copy_options::overwrite_existing);
      std::ofstream(file) << "hardware: threads\nextends: " << base
                          << "\nunits:\n  - {name: core, threads: {start: " << start << "}}\n";
      auto loaded = load_hardware(file, {folder}, options);
      EXPECT_TRUE(loaded) << render(loaded.diagnostics());
      if (loaded && availability(loaded->model).how == ExecutionMode::native) return loaded->model;
    }
    return {};
  }
  static CompiledModel compiled(const Model& model, const HardwareModel& on) {
    return compiled(model, on, chain_plan(model.kernel));
  }
  static CompiledModel compiled(const Model& model, const HardwareModel& on, const ModelPlan& plan) {
    PartStoreOptions options;
    options.compile.schedule.max_evaluations = 60;
    options.compile.schedule.objective = Objective::cycles;
    PartStore store(on, options);
    return compile_model(model, plan, store);
  }
  static std::string text_of(const Model& model, const HardwareModel& on, const std::vector<TensorData>& data) {
    const auto linked = link_model(model, compiled(model, on), data, on);
    EXPECT_TRUE(linked);
    const auto unit = print_model(*linked, on);
    EXPECT_TRUE(unit) << render(unit.diagnostics());
    return unit->text;
  }
  const Model model_ = odd_model();
  const std::vector<TensorData> data_ = random_data(model_.kernel, Fill::real, 3);
};

void ModelThreads::every_part_is_as_the_interpreter_says(Every every) {
  for (const int threads : {3, 2, 5}) {
    if (every.skips()) continue;
    const HardwareModel on = machine(threads, "0cycles");
    if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
    EXPECT_NE(text_of(model_, on, data_).find("team.number / team.members"), std::string::npos) << "no part is distributed";
    const ModelRun run = run_model(model_, compiled(model_, on), on, data_, {});
    ASSERT_EQ(run.code, Exit::ok) << threads << ": " << render(run.problems);
    EXPECT_TRUE(run.whole);
    std::vector<TensorData> expected = data_;
    interpret(model_.kernel, expected);
    for (std::int64_t i = 0; i < expected[8].count(); ++i)
      ASSERT_NEAR(run.data[8].get(i).real, expected[8].get(i).real, 1e-2) << i;
  }
}

TEST_F(ModelThreads, EveryPartIsAsTheInterpreterSays) { every_part_is_as_the_interpreter_says(Every(3)); }
TEST_F(ModelThreads, HeavyEveryPartIsAsTheInterpreterSays) { every_part_is_as_the_interpreter_says(Every(1)); }

/// What is compared is said to compute something else in two parts: the first of them is told, for any number of jobs.
TEST_F(ModelThreads, TheFirstWrongPartIsTold) {
  const HardwareModel on = machine(1, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  CompiledModel made = compiled(model_, on);
  ASSERT_GT(made.parts.size(), 2U);
  for (std::size_t p = 1; p < made.parts.size(); ++p) {
    ScalarExpr& body = made.parts[p].kernel.statements.back().body;
    body = binary(BinaryOp::add, body, body);
  }
  for (const int jobs : {1, 2, 7}) {
    const ModelRun run = run_model(model_, made, on, data_, {.jobs = jobs});
    EXPECT_EQ(run.code, Exit::wrong_result) << jobs;
    EXPECT_EQ(run.parts.size(), 2U) << jobs;
    ASSERT_FALSE(run.problems.empty()) << jobs;
    EXPECT_EQ(run.problems.front().message.find(made.parts[1].name + ": wrong: "), 0U) << run.problems.front().message;
  }
}

/// Units define every function once between them, and what one of them needs another one has.
void ModelThreads::units_link_to_one_program(Every every) {
  for (const int threads : {2, 1}) {
    if (every.skips()) continue;
    const HardwareModel on = machine(threads, "0cycles");
    if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
    const auto linked = link_model(model_, compiled(model_, on), data_, on);
    ASSERT_TRUE(linked);
    EXPECT_FALSE(print_model(*linked, on)->in_units) << "a small model is one unit";
    const auto unit = print_model(*linked, on, 0);
    ASSERT_TRUE(unit && unit->in_units);
    EXPECT_NE(unit->text.find("#error \"give both: -D" + unit->name + "_UNITS=N"), std::string::npos);
    const TemporaryDirectory folder;
    const auto write = [&](const std::string& name, const std::string& text) {
      const std::string file = (folder.path() / name).string();
      EXPECT_TRUE(write_file(file, text.data(), text.size()));
      return file;
    };
    write(unit->name + ".h", unit->header);
    const std::string source = write("model.cpp", unit->text);
    const auto make = [&](const std::vector<std::string>& sources, const std::vector<std::string>& more,
                          const std::string& name) {
      auto command = compile_command(on, sources, (folder.path() / name).string());
      command.insert(command.end(), more.begin(), more.end());
      command.emplace_back("-O0");  // nothing is run
      const ProcessResult made = run_process(command, {300, std::int64_t{8} << 30}, folder.path() / (name + ".log"));
      EXPECT_EQ(made.exit_code, 0) << made.output;
      return (folder.path() / name).string();
    };
    std::vector<std::string> objects;
    for (int u = 0; u < 3; ++u)
      objects.push_back(make(
          {source}, {"-c", "-fPIC", "-D" + unit->name + "_UNITS=3", "-D" + unit->name + "_UNIT=" + std::to_string(u)},
          "unit" + std::to_string(u) + ".o"));
    make(objects, {"-shared", "-Wl,--no-undefined"}, "model.so");
    // The same with each part in a file of its own.
    std::vector<std::string> flags = unit->flags_for_part_files;
    flags.insert(flags.end(), {"-c", "-fPIC"});
    objects = {make({source}, flags, "rest.o")};
    for (std::size_t f = 0; f < unit->part_files.size(); ++f) {
      const std::string part = "part" + std::to_string(f);
      objects.push_back(make({write(part + ".cpp", unit->part_files[f])}, {"-c", "-fPIC"}, part + ".o"));
    }
    EXPECT_EQ(unit->part_files.size(), linked->programs.size());
    make(objects, {"-shared", "-Wl,--no-undefined"}, "parts.so");
    make({source}, {"-c"}, "whole.o");
  }
}

TEST_F(ModelThreads, UnitsLinkToOneProgram) { units_link_to_one_program(Every(2)); }
TEST_F(ModelThreads, HeavyUnitsLinkToOneProgram) { units_link_to_one_program(Every(1)); }

/// Parts of a band are distributed like others: each waits for the rows of the one before, and nothing is computed or
/// moved twice.
void ModelThreads::bands_on_a_team(const std::vector<int>& teams) {
  const Model heads = model_of(attention_of_four_heads());
  const std::vector<TensorData> of_heads = random_data(heads.kernel, Fill::real, 3);
  int distributed = 0;  // programs with a distributed loop: a band of a few heads may be too small for one
  for (const int threads : teams) {
    const HardwareModel on = machine(threads, "0cycles");
    if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
    ModelPlan rows;
    rows.parts = {{{0, 1}}, {{2, 3}}, {{4}}, {{5}}, {{6}}};
    rows.bands = {{0, 3, 8}};
    ModelPlan by_head;
    by_head.parts = {{{0}}, {{1}}, {{2, 3}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}};
    by_head.bands = {{0, 8, 2, "h"}};
    struct Case {
      const Model* model;
      const std::vector<TensorData>* data;
      const ModelPlan* plan;
    };
    for (const auto& [model, data, plan] : {Case{&model_, &data_, &rows}, Case{&heads, &of_heads, &by_head}}) {
      ASSERT_TRUE(verify(*plan, model->kernel).empty());
      const CompiledModel made = compiled(*model, on, *plan);
      ASSERT_EQ(made.code, Exit::ok);
      const auto linked = link_model(*model, made, *data, on);
      ASSERT_TRUE(linked);
      const auto unit = print_model(*linked, on);
      ASSERT_TRUE(unit) << render(unit.diagnostics());
      distributed += unit->text.find("team.number / team.members") != std::string::npos ? 1 : 0;
      const ModelRun run = run_model(*model, made, on, *data, {});
      EXPECT_EQ(run.code, Exit::ok) << threads << ": " << render(run.problems);
      EXPECT_TRUE(run.whole);
    }
  }
  EXPECT_GE(distributed, static_cast<int>(teams.size()));
}

TEST_F(ModelThreads, BandsOnATeam) { bands_on_a_team({3}); }
TEST_F(ModelThreads, HeavyBandsOnATeam) { bands_on_a_team({2, 3}); }

TEST_F(ModelThreads, SmallPartsStayOnTheCallingThread) {
  const HardwareModel on = machine(2, "1000000cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  const std::string text = text_of(model_, on, data_);
  EXPECT_EQ(text.find("pthread"), std::string::npos);
  EXPECT_EQ(text.find("omp"), std::string::npos);
}

TEST_F(ModelThreads, TheTextWaitsAsTheMachineSays) {
  const HardwareModel on = machine(2, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  const std::string text = text_of(model_, on, data_);
  EXPECT_NE(text.find("    _mm_pause();\n"), std::string::npos);
  EXPECT_NE(text.find("-pthread"), std::string::npos);
  EXPECT_EQ(text.find("omp"), std::string::npos) << "models have threads of their own";
}

/// Rows that no writer writes begin at zero in every run, also where the first part is the one that all members join
/// at.
TEST_F(ModelThreads, TheFirstPartIsFilledBeforeTheOthersJoin) {
  const HardwareModel on = machine(2, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  const Model model = model_of(R"(kernel halves
tensor X: f32[64,32]
tensor P: f32[160,32]
tensor Y: f32[160,32]
upper: P[i,j] = X[i,j] * 2 over i: 64, j: 32
lower: P[96 + i,j] = X[i,j] * 3 over i: 64, j: 32
out: Y[i,j] = P[i,j] + 1 over i: 160, j: 32
)");
  const std::vector<TensorData> data = random_data(model.kernel, Fill::real, 3);
  const std::string text = text_of(model, on, data);
  const std::size_t fill = text.find("std::memset(arena"), parts = text.find("switch (from) {");
  ASSERT_NE(fill, std::string::npos);
  ASSERT_NE(parts, std::string::npos);
  EXPECT_NE(text.find("isamap_join(team, given, 0,"), std::string::npos) << "the first part is not distributed";
  EXPECT_LT(fill, parts);
  EXPECT_EQ(run_model(model, compiled(model, on), on, data, {}).code, Exit::ok);
}

/// Parts that assign every element, each before it is read, leave nothing of what was there: nothing is filled.
TEST_F(ModelThreads, WhatPartsOverwriteIsNotFilled) {
  const HardwareModel on = machine(1, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  const auto fills = [&](const std::string& first, const std::string& step) {
    const Model model = model_of("kernel totals\ntensor X: f32[9,7] outside 0\ntensor Y: f32[9,7]\n" + first +
                                 "repeat i: 8 of 1 statements\n" + step + " over i: 8, j: 7\n");
    const std::vector<TensorData> data = random_data(model.kernel, Fill::real, 3);
    EXPECT_EQ(run_model(model, compiled(model, on), on, data, {}).code, Exit::ok);
    return text_of(model, on, data).find("std::memset(") != std::string::npos;
  };
  const std::string first = "first: Y[0,j] = X[0,j] over j: 7\n";
  EXPECT_FALSE(fills(first, "next: Y[i + 1,j] = Y[i,j] + X[i + 1,j]"));
  EXPECT_TRUE(fills("first: Y[0,j] = X[0,j] over j: 6\n", "next: Y[i + 1,j] = Y[i,j] + X[i + 1,j]"));
}

/// Masks of odd sizes are registers that are set ahead of the loops: each thread has its own.
TEST_F(ModelThreads, RegistersOfParallelLoopsAreSetByAllMembers) {
  const HardwareModel on = machine(2, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  const std::string text = text_of(model_, on, data_);
  EXPECT_NE(text.find("mask"), std::string::npos);
  EXPECT_EQ(text.find("if (team.number == 0) {\n    mask"), std::string::npos);
}

/// Two threads run one model in arenas of their own, again and again: one of them has the team, the other is alone.
TEST_F(ModelThreads, RunsAtTheSameTimeAgree) {
  const HardwareModel on = machine(2, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  const auto linked = link_model(model_, compiled(model_, on), data_, on);
  ASSERT_TRUE(linked);
  const auto unit = print_model(*linked, on);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  const std::string folder = scratch("concurrent/");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "odd.h") << unit->header;
  std::ofstream(folder + "odd.cpp") << unit->text;
  std::ofstream(folder + "odd.weights") << weights_file(*linked);
  std::ofstream(folder + "main.cpp") << R"(#include "odd.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
namespace {
odd* model;
bool again(int seed) {
  static thread_local float x[odd_INPUT_0_BYTES / 4], y[odd_OUTPUT_0_BYTES / 4], first[odd_OUTPUT_0_BYTES / 4];
  for (int i = 0; i < int(odd_INPUT_0_BYTES / 4); ++i) x[i] = float((i * 7 + seed) % 11) - 5;
  const void* in[] = {x};
  void *out[] = {first}, *arena = nullptr;
  if (posix_memalign(&arena, odd_ARENA_ALIGN, odd_arena_bytes(model, nullptr) + odd_ARENA_ALIGN) != 0) return false;
  bool same = odd_run(model, nullptr, in, out, arena) == odd_ok;
  out[0] = y;
  for (int i = 0; i < 500 && same; ++i) {
    std::memset(y, 0xff, sizeof y);
    same = odd_run(model, nullptr, in, out, arena) == odd_ok && std::memcmp(y, first, sizeof y) == 0;
  }
  std::free(arena);
  return same;
}
}
int main() {
  for (int times = 0; times < 5; ++times) {  // threads are started and ended each time
    if (odd_open(&model, "odd.weights") != odd_ok) return 1;
    bool one = false, other = false;
    std::thread a([&] { one = again(1); }), b([&] { other = again(4); });
    a.join();
    b.join();
    if (!one || !other) return 2;
    odd_close(model);
  }
  std::puts("agree");
}
)";
  auto command = compile_command(on, {folder + "main.cpp", folder + "odd.cpp"}, folder + "main");
  command.emplace_back("-pthread");
  const auto made = run_process(command, {120, 0, 0}, folder + "log");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const auto ran = run_process({"/bin/sh", "-c", "cd '" + folder + "' && ./main"}, {60, 0, 0}, folder + "log");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, "agree\n");
}

/// A member that fell asleep while a run computed what is not distributed takes its share of what is.
TEST_F(ModelThreads, SleepingMembersAreWokenWhereAPartIsDistributed) {
  const HardwareModel on = machine(2, "0cycles");
  if (on.name.empty()) GTEST_SKIP() << "no machine with threads runs on this processor";
  std::string team = team_text(on);
  for (std::size_t at = 0; (at = team.find("NAME", at)) != std::string::npos;) team.replace(at, 4, "waking");
  const std::string folder = scratch("waking/");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "main.cpp") << R"(#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
)" << team << R"(
namespace {
std::atomic<int> shares[2];
void execute(const void*, isamap_member member, int) {
  shares[member.number].fetch_add(1);
  isamap_wait_for_all(member);
}
void wait_until_asleep(const isamap_team& team) {
  while (team.asleep.load() == 0) usleep(1000);
}
}
int main() {
  static isamap_team team;
  team.execute = execute;
  isamap_thread threads[1];
  isamap_start(&team, threads, 1);
  for (int run = 0; run < 3; ++run) {
    wait_until_asleep(team);
    isamap_member member = isamap_take(&team);
    usleep(20000);  // longer than the other waits actively
    wait_until_asleep(team);
    isamap_join(member, nullptr, 0, 1e-6, 2e-6);  // takes less than to begin it
    if (member.members != 1) return 1;
    for (const double end = isamap_clock() + 10; member.members < 2 && isamap_clock() < end;) {  // a part after another
      member.patience = 100e-6;
      isamap_join(member, nullptr, 0, 100e-6, 2e-6);
    }
    execute(nullptr, member, 0);
    isamap_release(member);
  }
  isamap_end(&team, threads);
  std::printf("%d %d\n", shares[0].load(), shares[1].load());
}
)";
  auto command = compile_command(on, {folder + "main.cpp"}, folder + "main");
  command.emplace_back("-pthread");
  const auto made = run_process(command, {120, 0, 0}, folder + "log");
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const auto ran = run_process({folder + "main"}, {60, 0, 0}, folder + "log");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, "3 3\n") << "shares of the caller and of the other";
}

TEST_F(ModelThreads, TunedSchedulesAreTaken) {
  const char* const before = std::getenv("ISAMAP_CACHE");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("ISAMAP_CACHE", scratch("cache").c_str(), 1);
  const HardwareModel on = load_hardware("scalar_c", {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model;
  PartStoreOptions options;
  options.compile.schedule.max_evaluations = 20;
  options.compiled_as = "as compiled";
  options.tuned_as = "as tuned";
  const Kernel part = compiled(model_, on).parts.front().kernel;
  PartStore first(on, options);
  first.add({part});
  EXPECT_EQ(first.searched, 1u);
  Schedule other = first.find(part)->scheduled->schedule;
  options.compile.schedule.seed = 5;
  options.compile.schedule.max_evaluations = 3;
  options.compiled_as = "otherwise";
  PartStore different(on, options);
  different.add({part});
  other = different.find(part)->scheduled->schedule;
  ASSERT_NE(other.nests, first.find(part)->scheduled->schedule.nests);
  first.keep_tuned(part, other);
  options.compiled_as = "as compiled";
  PartStore second(on, options);
  second.add({part});
  EXPECT_EQ(second.searched, 0u);
  EXPECT_EQ(second.find(part)->scheduled->schedule.nests, other.nests);
  options.tuned_as.clear();  // as while plans are compared
  PartStore third(on, options);
  third.add({part});
  EXPECT_EQ(third.find(part)->scheduled->schedule.nests, first.find(part)->scheduled->schedule.nests);
  if (before == nullptr)
    ::unsetenv("ISAMAP_CACHE");
  else
    ::setenv("ISAMAP_CACHE", kept.c_str(), 1);
}

}  // namespace
}  // namespace isamap
