// SPDX-License-Identifier: Apache-2.0
// Printed C++ against the program interpreter.

#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/common/process.h"
#include "backends/cpp/text/names.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {
const char* const gemm_text = R"(program gemm
kernel
  kernel gemm
  tensor A: f32[2,37]
  tensor B: f32[37,29]
  tensor C: f32[2,29]
  s0: C[i,j] += A[i,k] * B[k,j] over i: 2, j: 29, k: 37
buffers
  A: f32[2,37] in ram strides [37,1] align 64 at 0 of A argument
  B: f32[37,29] in ram strides [29,1] align 64 at 0 of B argument
  C: f32[2,29] in ram strides [29,1] align 64 at 0 of C argument
  c: f32[2,2,16] in vec slots 2 registers 1 align 64 at 0 of C
  b: f32[2,16] in vec slots 1 registers 1 align 64 at 256 of B
  m: b1[16] in mask slots 0 registers 1 align 8 at 0
assume
  inputs are finite
schedule
  for k by 1 \
body
  for i in 2 unroll
    for j in 2 unroll
      call zero_f32(c[i, j, $j]) extents [16]
  call first_16(m[$j]) extents [13]
  for k in 37
    call load_f32(b[0, $j], B[k, $j]) extents [16]
    call load_f32_masked(b[1, $j], B[k, 16 + $j]) extents [13] masks(m[$j])
    for i in 2 unroll
      for j in 2 unroll
        call fma_f32_bcast(c[i, j, $j], A[i, k], b[j, $j]) extents [16]
  for i in 2 unroll
    call store_f32(C[i, $j], c[i, 0, $j]) extents [16]
    call store_f32_masked(C[i, 16 + $j], c[i, 1, $j]) extents [13] masks(m[$j])
)";

TEST(Cpp, RegisterTileWithMaskedEdge) {
  const auto model = machine("x86_avx512");
  const auto p = program(model, gemm_text);
  expect_same(p, model);
}

struct ElementCase {
  std::string a, b, o, statement;
};

/// Statements over one loop each, executed element by element; tensors A, B and O of case n are An, Bn and On.
Program element_program(const std::vector<ElementCase>& cases) {
  std::string tensors, statements, buffers, body;
  int address = 0;
  for (std::size_t n = 0; n < cases.size(); ++n) {
    std::string statement;
    for (const char c : cases[n].statement)
      statement += (c == 'A' || c == 'B' || c == 'O') ? c + std::to_string(n) : std::string(1, c);
    for (const auto& [letter, type] :
         {std::pair("A", cases[n].a), std::pair("B", cases[n].b), std::pair("O", cases[n].o)}) {
      const std::string tensor = letter + std::to_string(n);
      tensors += "  tensor " + tensor + ": " + type + "[700]" + (letter[0] == 'O' ? " inout\n" : "\n");
      buffers += "  " + tensor + ": " + type + "[700] in ram strides [1] align 64 at " + std::to_string(address) +
                 " of " + tensor + " argument\n";
      address += 8192;
    }
    statements += "  s" + std::to_string(n) + ": " + statement + " over x: 700\n";
    body += "  for x in 700\n    " + statement + " on core\n";
  }
  Program p = program(machine("scalar_c"), "program elements\nkernel\n  kernel elements\n" + tensors + statements +
                                               "buffers\n" + buffers + "schedule\nbody\n" + body);
  std::vector<Buffer> sorted;  // in the order of arguments
  std::vector<BufferId> place(p.buffers.size());
  for (const TensorId tensor : arguments(p.kernel))
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].tensor == tensor) {
        place[b] = make_id<BufferId>(sorted.size());
        sorted.push_back(p.buffers[b]);
      }
  p.buffers = sorted;
  for (Node& loop : p.body) {
    Element& element = std::get<Element>(std::get<Loop>(loop.is).body[0].is);
    element.write.buffer = place[element.write.buffer.index()];
    for (Ref& ref : element.reads) ref.buffer = place[ref.buffer.index()];
  }
  return p;
}

TEST(Elements, AreExactInEveryFormat) {
  const std::vector<ElementCase> cases = {
      {"f32", "f32", "f32", "O[x] = A[x] * B[x] + A[x] / B[x]"},
      {"f64", "f64", "f64", "O[x] += A[x] * B[x] - 0.1"},
      {"bf16", "bf16", "bf16", "O[x] = A[x] * B[x] + A[x]"},
      {"f16", "f16", "f16", "O[x] += A[x] * B[x] - B[x] / A[x]"},
      {"tf32", "tf32", "tf32", "O[x] = A[x] + B[x]"},
      {"e4m3", "e4m3", "e4m3", "O[x] = A[x] * B[x]"},
      {"e5m2", "e5m2", "e5m2", "O[x] += A[x] * B[x]"},
      {"f32", "f32", "e4m3", "O[x] = sat_e4m3(A[x] * 1e-30) + e4m3(B[x])"},
      {"f32", "f64", "bf16", "O[x] = bf16(A[x]) + bf16(B[x])"},
      {"f32", "f32", "bf16", "O[x] = bf16(A[x])"},
      {"f32", "f32", "f16", "O[x] = f16(max(A[x], B[x]))"},
      {"s8", "u8", "s32", "O[x] += s32(A[x]) * s32(B[x])"},
      {"s32", "s32", "s32", "O[x] = A[x] * B[x] - abs(A[x]) + A[x] / B[x]"},
      {"u16", "u16", "u16", "O[x] = A[x] * B[x] + A[x] / B[x]"},
      {"s64", "s64", "s64", "O[x] max= min(A[x] * B[x], -A[x])"},
      {"s64", "s64", "f32", "O[x] = f32(A[x]) + f32(B[x])"},
      {"u64", "u64", "u64", "O[x] max= A[x] / B[x] - min(A[x], B[x])"},
      {"u64", "u64", "u64", "O[x] min= A[x] - B[x]"},
      {"s64", "s64", "bf16", "O[x] = bf16(A[x])*bf16(B[x])"},
      {"f32", "f64", "s8", "O[x] = sat_s8(round(A[x])) + s8(B[x])"},
      {"f32", "f64", "s32", "O[x] = sat_s32(A[x]) - s32(B[x])"},
      {"s32", "s32", "u8", "O[x] = sat_u8(A[x]) + u8(B[x])"},
      {"f32", "f32", "f32", "O[x] = sigmoid(A[x]) + tanh(B[x]) * sqrt(abs(A[x])) + select(B[x], exp(A[x]), erf(B[x]))"},
  };
  const auto model = machine("scalar_c");
  Program p = element_program(cases);
  p.library_functions = true;  // our own differ in the last digits: Functions.* compares those
  Random random(5);
  std::vector<TensorData> start;  // bit patterns of every kind: subnormals, infinities, NaN, extremes
  for (const Tensor& tensor : p.kernel.tensors) {
    start.push_back(make_data(tensor));
    for (std::uint8_t& byte : start.back().bytes) byte = static_cast<std::uint8_t>(random.next() >> 40);
    for (std::size_t i = 0; i < start.back().bytes.size(); i += 7) start.back().bytes[i] = (i % 2) != 0 ? 0xff : 0;
    if (tensor.dtype != DType::f32) continue;
    for (std::size_t i = 0; i < start.back().bytes.size(); i += 12)
      start.back().bytes[i] = 0, start.back().bytes[i + 1] = 0x80;  // ties of bf16
  }
  auto expected = start, found = start;
  ASSERT_TRUE(interpret(p, model, expected));
  auto outcome = make_runner(model)->run(p, found, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
  for (std::size_t t = 2; t < found.size(); t += 3)
    for (std::int64_t i = 0; i < 700; ++i) {
      const Scalar e = expected[t].get(i), f = found[t].get(i), a = start[t - 2].get(i), b = start[t - 1].get(i);
      const bool both_nan = e.real != e.real && f.real != f.real;
      EXPECT_TRUE(e == f || both_nan) << cases[t / 3].statement << " at " << i << " gives " << f.real << " "
                                      << f.integer << " instead of " << e.real << " " << e.integer << " for A "
                                      << a.real << " " << a.integer << ", B " << b.real << " " << b.integer;
      if (e != f && !both_nan) break;
    }
}

// A panel that is packed ahead of time, a large scratch array, a guard that splits rows, a copy at a computed index.
const char* const packed_text = R"(program packed
kernel
  kernel packed
  tensor A: f32[30,50]
  tensor O: f32[50,30]
  s0: O[j,i] = A[i,j] over j: 50, i: 30
buffers
  A: f32[30,50] in ram strides [50,1] align 64 at 0 of A argument
  O: f32[50,30] in ram strides [30,1] align 64 at 8192 of O argument
  P: f32[4,50,8] in ram strides [400,8,1] align 64 at 16384 of A argument aot as [i/8, j, i%8]
  S: f32[100,50] in ram strides [50,1] align 64 at 32768 of A
schedule
prepack
  for i in 30
    for j in 50
      P[i/8, j, i%8] = A[i, j] on core
body
  for i in 30
    for j in 50
      S[i, j] = P[i/8, j, i%8] on core
  for j in 50
    for i in 15
      if 7 - i >= 0
        O[j, i] = S[i, j] on core
      else
        O[j, i] = P[i/8, j, i - 8*(i/8)] on core
    for i in 15 unroll
      O[j, 15 + i] = S[15 + i, j] on core
)";

TEST(Cpp, PacksAheadOfTimeAndUsesScratch) {
  const auto model = machine("scalar_c");
  expect_same(program(model, packed_text), model);
  const auto files = emit(program(model, packed_text), model);
  ASSERT_TRUE(files);
  EXPECT_EQ((*files)[0].name, "packed.cpp");
  EXPECT_NE((*files)[0].text.find("extern \"C\" void packed_pack(const float* __restrict A, float* __restrict P)"),
            std::string::npos);
  EXPECT_NE((*files)[0].text.find(
                "extern \"C\" void packed(const float* __restrict A, float* __restrict O, const float* __restrict P)"),
            std::string::npos);
}

/// Each word that is turned is written to a place of floats, and read as one.
const char* const turned_text = R"(program turned
kernel
  kernel turned
  tensor A: f32[6,8]
  tensor C: f32[6,8]
  s0: C[i,j] = A[i,j] over i: 6, j: 8
buffers
  A: f32[6,8] in ram strides [8,1] align 4 at 0 of A argument
  C: f32[6,8] in ram strides [8,1] align 4 at 192 of C argument
  P: f32[8,8] in ram strides [8,1] align 64 at 384 of A
schedule
body
  for i in 8
    for j in 8
      P[i, j] = 0 on core
  for i in 6
    for j in 8
      C[i, j] = 0 on core
  for i in 6
    for j in 8
      call across_b32(P[j/4 + $k, $j], A[i + $j, j + $k]) extents [1,1]
      C[i, j] = P[i/3, 0] on core
)";

TEST(Cpp, WordsThatAreTurnedAreReadAsFloats) {
  const auto model = machine("x86_avx2");
  expect_same(program(model, turned_text), model);
}

TEST(Cpp, PrintsTheGoldenFile) {
  const auto model = machine("x86_avx512");
  const auto files = emit(program(model, gemm_text), model);
  ASSERT_TRUE(files) << render(files.diagnostics());
  const std::string path = std::string(ISAMAP_SOURCE_DIR) + "/tests/golden/gemm_2x29x37.cpp.txt";
  if (std::getenv("ISAMAP_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, (*files)[0].text.data(), (*files)[0].text.size()));
  }
  EXPECT_EQ((*files)[0].text, read_file(path, 1 << 20)) << "ISAMAP_UPDATE_GOLDEN=1 rewrites it";
}

TEST(Cpp, SaysWhatItNeeds) {
  const auto model = machine("x86_avx512");
  const auto files = emit(program(model, gemm_text), model);
  ASSERT_TRUE(files) << render(files.diagnostics());
  EXPECT_NE((*files)[0].text.find("\n// needs C++17: -std=c++17 -O3 -ffp-contract=off -fno-math-errno "
                                  "-fno-trapping-math -mavx512f -mavx512bw -mfma; g++ also: -fno-predictive-commoning "
                                  "-mprefer-vector-width=512\n//\n"),
            std::string::npos)
      << (*files)[0].text.substr(0, 500);
}

// Without `emit`, the assembly line is wrapped: constraints from the memories, the multiplier straight from memory.
TEST(Cpp, WrapsAssemblyLines) {
  auto model = machine("x86_avx512");
  auto instructions = model.instructions();
  const auto fma = model.find_instruction("fma_f32_bcast");
  ASSERT_TRUE(fma);
  instructions[fma->index()].emit = {};
  instructions[fma->index()].assembly = *parse_template("vfmadd231ps {A}{{1to16}}, {B}, {C}");
  model.finish({model.units(), model.memories(), model.links(), instructions, model.states(), model.formats(),
                model.barriers(), model.async_objects(), model.symbols()});
  const auto p = program(model, gemm_text);
  const auto files = emit(p, model);
  ASSERT_TRUE(files) << render(files.diagnostics());
  EXPECT_NE((*files)[0].text.find(
                R"(asm ("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(c_0_0) : "m"(*(const float (*)[1])A_k), "v"(b_0));)"),
            std::string::npos)
      << (*files)[0].text;
  expect_same(p, model);
}

/// The model of portable C with a text of ours in its programs.
HardwareModel with_helpers(const std::string& helpers) {
  auto model = machine("scalar_c");
  model.program.helpers = helpers;
  return model;
}

std::string outcome_of(const HardwareModel& model, double seconds = 20) {
  const auto p = element_program({{"s32", "s32", "s32", "O[x] = A[x] + B[x]"}});
  auto data = inputs(p, 1);
  RunLimits limits;
  limits.seconds = seconds;
  const auto outcome = make_runner(model)->run(p, data, limits, 0);
  return outcome ? std::string(name(outcome->executed)) + ": " + outcome->missing + outcome->limit
                 : render(outcome.diagnostics());
}

TEST(Runner, SaysWhatWentWrong) {
  const auto early = [&](const std::string& code) {
    return with_helpers("struct Early { Early() { " + code + " } }; static Early early;\n");
  };
  EXPECT_NE(outcome_of(with_helpers("this is no C++\n")).find("the emitted program does not compile"),
            std::string::npos);
  EXPECT_NE(outcome_of(with_helpers("this is no C++\n")).find("the command was: "), std::string::npos);
  EXPECT_NE(outcome_of(early("*(volatile int*)8 = 1;")).find("touched memory outside its tensors"), std::string::npos);
  EXPECT_NE(outcome_of(early("for (volatile int i = 0;; i = i + 1) {}"), 0.3).find("ran longer than 0.3 s"),
            std::string::npos);
  EXPECT_EQ(outcome_of(with_helpers(
                "#include <signal.h>\nstruct Early { Early() { raise(SIGILL); } }; static Early early;\n")),
            "unavailable: this machine does not execute the instructions of 'scalar_c'");
}

TEST(Runner, CatchesWritesBehindATensor) {
  const auto model = machine("scalar_c");
  auto p = element_program({{"s32", "s32", "s32", "O[x] = A[x] + B[x]"}});
  std::get<Loop>(p.body[0].is).trip = 701;
  auto data = inputs(p, 1);
  const auto outcome = make_runner(model)->run(p, data, RunLimits{}, 0);
  ASSERT_FALSE(outcome);
  EXPECT_NE(render(outcome.diagnostics()).find("wrote behind the end of an array"), std::string::npos);
}

TEST(Runner, LimitsMemory) {
  const auto model = machine("scalar_c");
  const auto p = element_program({{"s32", "s32", "s32", "O[x] = A[x] + B[x]"}});
  auto data = inputs(p, 1);
  RunLimits limits;
  limits.memory_bytes = 1 << 20;
  EXPECT_FALSE(make_runner(model)->run(p, data, limits, 0));
}

TEST(Runner, Measures) {
  const auto model = machine("scalar_c");
  const auto p = element_program({{"s32", "s32", "s32", "O[x] = A[x] + B[x]"}});
  auto data = inputs(p, 1);
  const auto outcome = make_runner(model)->run(p, data, RunLimits{}, 0.01);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  EXPECT_GT(outcome->seconds, 1e-9);
  EXPECT_LT(outcome->seconds, 1e-2);
}

TEST(Availability, ComparesNormalisedNames) {
  auto model = machine("scalar_c");
  EXPECT_EQ(availability(model).how, ExecutionMode::native);
  model.needed.cpu = {"no_such_feature"};
  EXPECT_EQ(availability(model).how, ExecutionMode::unavailable);
  EXPECT_EQ(availability(model).why, "this processor does not report no_such_feature");
  model.program.run_emulated = "no-such-emulator {exe}";
  EXPECT_EQ(availability(model).why,
            "this processor does not report no_such_feature, and the emulator 'no-such-emulator' is missing (Debian: "
            "apt-get install qemu-user)");
  model.program.language = "cuda";
  EXPECT_EQ(availability(model).how, ExecutionMode::emulated);  // by our own execution model
}

TEST(Names, AreIdentifiers) {
  EXPECT_EQ(identifier("a.b-c"), "a_b_c");
  EXPECT_EQ(identifier("1x"), "x1x");
  EXPECT_EQ(identifier("__"), "x");
  EXPECT_EQ(identifier("\xc3\xa4"), "x");
  for (const std::string owned : {"exp", "expf", "printf", "y1", "int8_t", "transfer", "for"})
    EXPECT_EQ(entry_name(owned), owned + "_kernel");
  EXPECT_EQ(entry_name("conv2d"), "conv2d");
  for (const std::string owned : {"model", "arena", "weights"}) EXPECT_EQ(model_name(owned), owned + "_model");
  EXPECT_EQ(model_name("int"), "int_kernel");
  EXPECT_EQ(model_name("mobilenet"), "mobilenet");
  Names names;
  EXPECT_EQ(names.unique("C"), "C");
  EXPECT_EQ(names.unique("C"), "C_2");
  EXPECT_EQ(names.unique("for"), "for_2");
  for (const std::string macro : {"NULL", "errno", "EOF", "INFINITY", "NAN", "INT32_MAX", "M_PI", "MAP_SHARED"})
    EXPECT_EQ(names.unique(macro), "x_" + macro);
  for (const std::string plain : {"M_A", "INT_A", "MAPPED", "memcpy", "printf"}) EXPECT_EQ(names.unique(plain), plain);
}

}  // namespace
}  // namespace isamap
