// SPDX-License-Identifier: Apache-2.0
// Streaming (non-temporal) stores: every core ends with the fence that makes them visible, and values do not depend on
// the alignment of the output.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/cpp/translation_unit.h"
#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "tests/lowering/support.h"
#include "tests/scratch.h"
#include "tests/searched.h"

namespace isamap {
namespace {

HardwareModel cores(const char* name, const std::string& number) {
  LoadOptions options;
  options.params = {{"cores", number}};
  auto loaded = load_hardware(name, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"}, options);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

const std::vector<std::string> a_sum{"for i by 4",
                                     "for j by 16",
                                     "stage C in vec via pass_f32.store_f32_masked",
                                     "for i by 1 unroll",
                                     "stage A in vec",
                                     "stage B in vec",
                                     "do s0 with add_f32(j=j)"};

std::string text_of(const Program& program, const HardwareModel& model) {
  const auto unit = print_cpp(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  return unit ? unit->text : "";
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(StreamingStores, ChangeNoValue) {
  for (const std::string dims : {"i=8,j=64", "i=7,j=33", "i=1,j=1", "i=0,j=16", "i=5,j=16"})
    expect_right(formula("C[i,j] = A[i,j] + B[i,j]", dims), machine("x86_avx512"), a_sum);
}

TEST(StreamingStores, EachCoreEndsWithOneFence) {
  const HardwareModel one = machine("x86_avx512"), two = cores("x86_avx512", "2");
  const Kernel kernel = formula("C[i,j] = A[i,j] + B[i,j]", "i=8,j=64");
  auto lines = a_sum;
  const auto serial = lower(schedule_of(lines), kernel, one);
  ASSERT_TRUE(serial) << render(serial.diagnostics());
  const std::string text = text_of(*serial, one);
  EXPECT_EQ(count(text, "_mm_sfence();"), 1u) << text;
  EXPECT_GT(text.find("_mm_sfence();"), text.rfind("_mm512_stream_ps(")) << text;

  lines.insert(lines.begin(), "for i by 4 on core");
  const auto shared = lower(schedule_of(lines), kernel, two);
  ASSERT_TRUE(shared) << render(shared.diagnostics());
  const Loop* loop = nullptr;
  for (const Node& node : shared->body)
    if (const auto* found = std::get_if<Loop>(&node.is)) loop = found;
  ASSERT_TRUE(loop != nullptr && loop->unit == "core") << print(*shared, two);
  const auto* last = std::get_if<Sync>(&loop->body.back().is);
  ASSERT_NE(last, nullptr) << print(*shared, two);
  EXPECT_EQ(last->object, "streaming");
  EXPECT_EQ(count(text_of(*shared, two), "_mm_sfence();"), 1u);

  lines[3] = "stage C in vec";  // normal stores need none
  const auto usual = lower(schedule_of(lines), kernel, two);
  ASSERT_TRUE(usual) << render(usual.diagnostics());
  EXPECT_EQ(count(text_of(*usual, two), "_mm_sfence();"), 0u);
}

TEST(StreamingStores, WhereverTheOutputLies) {
  const HardwareModel model = cores("x86_avx512", "2");
  if (const Availability here = availability(model); here.how != ExecutionMode::native) GTEST_SKIP() << here.why;
  const Kernel kernel = formula("C[i,j] = A[i,j] + B[i,j]", "i=9,j=80");
  auto lines = a_sum;
  lines.insert(lines.begin(), "for i by 5 on core");
  const auto program = lower(schedule_of(lines), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  auto loaded = load_program(*program, model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> a(720), b(720), room(720 + 64, -1);
  for (int e = 0; e < 720; ++e)
    a[static_cast<std::size_t>(e)] = static_cast<float>(e), b[static_cast<std::size_t>(e)] = 3;
  for (std::size_t off = 0; off < 17; ++off) {
    float* const c = room.data() + off;
    std::fill(room.begin(), room.end(), -1.0F);
    const auto problem =
        loaded->call({{a.data(), DType::f32, {9, 80}}, {b.data(), DType::f32, {9, 80}}, {c, DType::f32, {9, 80}}});
    ASSERT_FALSE(problem) << render({*problem});
    for (std::size_t e = 0; e < room.size(); ++e)
      ASSERT_EQ(room[e], e >= off && e < off + 720 ? static_cast<float>(e - off) + 3 : -1.0F) << off << " " << e;
  }
}

/// x86_avx512 with another completion object for the streaming stores.
HardwareModel completing(const std::string& object, const std::string& number = "1") {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  std::ifstream file(folder + "/x86_avx512.yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find("  - {name: streaming"), end = text.find('\n', begin);
  EXPECT_LT(begin, end);
  text.replace(begin, end - begin, "  - " + object);
  const std::string path = scratch("streaming.yaml");
  std::ofstream(path) << text;
  LoadOptions options;
  options.params = {{"cores", number}};
  auto loaded = load_hardware(path, {folder}, options);
  std::filesystem::remove(path);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel();
}

TEST(StreamingStores, StoresThatNothingAwaitsAreRefused) {
  const HardwareModel groups =
      completing("{name: streaming, kind: groups, per: core, commit: \"a();\", wait: \"_mm_sfence(); // {pending}\"}");
  auto lines = a_sum;
  const auto program = lower(schedule_of(lines), formula("C[i,j] = A[i,j] + B[i,j]", "i=8,j=64"), groups);
  ASSERT_FALSE(program) << text_of(*program, groups);
  const Diagnostic& said = program.diagnostics()[0];
  EXPECT_NE(said.message.find("stage C in vec: no move transfers C_vec from vec to ram"), std::string::npos)
      << said.message;
  ASSERT_EQ(said.notes.size(), 1u);
  EXPECT_EQ(said.notes[0],
            "pass_f32 is asynchronous, completed by 'streaming', and stores are followed by fences only");
  EXPECT_EQ(said.hint, "write 'via store_f32_masked'");
}

TEST(StreamingStores, EveryThreadFencesWhatItStores) {
  auto lines = a_sum;
  lines.insert(lines.begin(), "for i by 4 on core");
  for (const std::string per : {"per: core, ", "per: host, ", ""}) {
    const HardwareModel two = completing("{name: streaming, kind: fence, " + per + "emit: \"_mm_sfence();\"}", "2");
    const auto program = lower(schedule_of(lines), formula("C[i,j] = A[i,j] + B[i,j]", "i=8,j=64"), two);
    ASSERT_TRUE(program) << render(program.diagnostics());
    const std::string text = text_of(*program, two);
    EXPECT_EQ(count(text, "_mm_sfence();"), 1u) << per;
    for (const Node& node : program->body) {
      const auto* loop = std::get_if<Loop>(&node.is);
      if (loop == nullptr || loop->unit != "core") continue;
      EXPECT_TRUE(std::holds_alternative<Sync>(loop->body.back().is)) << per << print(*program, two);
    }
    EXPECT_FALSE(std::holds_alternative<Sync>(program->body.back().is)) << per << print(*program, two);
  }
}

TEST(StreamingStores, AFenceMayBeAnAssemblyLine) {
  const HardwareModel model = completing("{name: streaming, kind: fence, per: core, emit: {asm: \"sfence\"}}");
  const Kernel kernel = formula("C[i,j] = A[i,j] + B[i,j]", "i=3,j=33");
  const auto program = lower(schedule_of(a_sum), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_EQ(count(text_of(*program, model), "asm volatile (\"sfence\" : : : \"memory\");"), 1u);
  if (const Availability here = availability(model); here.how != ExecutionMode::native) GTEST_SKIP() << here.why;
  auto loaded = load_program(*program, model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<float> a(99, 2), b(99, 3), c(99, -1);
  const auto problem =
      loaded->call({{a.data(), DType::f32, {3, 33}}, {b.data(), DType::f32, {3, 33}}, {c.data(), DType::f32, {3, 33}}});
  ASSERT_FALSE(problem) << render({*problem});
  EXPECT_EQ(c, std::vector<float>(99, 5));
}

std::string chosen(const Kernel& kernel) { return searched(kernel, machine("x86_avx512"), 300).schedule_text; }

TEST(StreamingStores, AreForResultsLargerThanTheCachesOfACore) {
  const auto sum = [](const char* dims) { return chosen(formula("C[i,j] = A[i,j] + B[i,j]", dims)); };
  EXPECT_NE(sum("i=2000,j=1024").find("via pass_f32"), std::string::npos) << sum("i=2000,j=1024");
  EXPECT_EQ(sum("i=100,j=256").find("pass_f32"), std::string::npos);  // small enough for the caches, for later reads
  Kernel part = formula("C[i,j] = A[i,j] + B[i,j]", "i=2000,j=1024");
  part.tensors[part.statements[0].write.tensor.index()].output =
      true;  // another part reads it, and the last-level cache holds it
  EXPECT_EQ(chosen(part).find("pass_f32"), std::string::npos);
  EXPECT_EQ(sum("i=2000,j=1000").find("pass_f32"), std::string::npos);  // rows are not whole cache lines
  const auto read_again = parse_kernel_yaml(
      "kernel: two\ndims: {I: 2000, J: 1024}\ntensors:\n  A: {shape: [I, J], dtype: f32}\n"
      "  C: {shape: [I, J], dtype: f32}\n  D: {shape: [J, I], dtype: f32}\ncompute:\n  - C[i,j] = A[i,j] + A[i,j]\n"
      "  - D[j,i] = C[i,j] * A[i,j]\n",
      "two");
  ASSERT_TRUE(read_again) << render(read_again.diagnostics());
  EXPECT_EQ(chosen(*read_again).find("stage C in vec via"), std::string::npos) << chosen(*read_again);
}

}  // namespace
}  // namespace isamap
