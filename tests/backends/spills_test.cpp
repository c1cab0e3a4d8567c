// What compilers make of emitted loops: nothing goes to the stack and no register is copied where the work is done.
// Seen in the machine code, so it holds on a busy machine too.

#include <regex>

#include "backends/cpp/compiler.h"
#include "backends/process.h"
#include "frontends/frontends.h"
#include "mapper/mapper.h"
#include "scheduler/lower.h"
#include "scheduler/scheduler.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

struct Line {
  std::uint64_t address = 0, target = 0;  ///< target: of a jump, else 0
  std::string text;
};

std::vector<Line> lines_of(const std::string& listing) {
  static const std::regex shape("^ *([0-9a-f]+):\t[^\t]*\t(.*)$"), jump("^j[a-z]+ +([0-9a-f]+)");
  std::vector<Line> lines;
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = std::min(listing.find('\n', at), listing.size());
    const std::string text = listing.substr(at, end - at);
    at = end + 1;
    std::smatch m, to;
    if (!std::regex_match(text, m, shape)) continue;
    Line line{std::stoull(m[1], nullptr, 16), 0, m[2]};
    if (std::regex_search(line.text, to, jump)) line.target = std::stoull(to[1], nullptr, 16);
    lines.push_back(line);
  }
  return lines;
}

const std::regex multiply_adds("^v(fmadd|dpbf16|pdp)[a-z0-9]* ");

/// Lines of every loop that has none inside and works on vectors by what `multiplies`.
std::vector<std::vector<Line>> innermost_loops(const std::vector<Line>& lines, const std::regex& multiplies) {
  std::vector<std::vector<Line>> loops;
  for (std::size_t end = 0; end < lines.size(); ++end) {
    if (lines[end].target == 0 || lines[end].target > lines[end].address) continue;
    std::vector<Line> body;
    bool innermost = true;
    for (std::size_t i = 0; i <= end; ++i) {
      if (lines[i].address < lines[end].target) continue;
      body.push_back(lines[i]);
      innermost &= i == end || lines[i].target == 0 || lines[i].target > lines[i].address;
    }
    const auto products =
        std::count_if(body.begin(), body.end(), [&](const Line& l) { return std::regex_search(l.text, multiplies); });
    if (innermost && products >= 4) loops.push_back(std::move(body));
  }
  return loops;
}

std::string spilled(const std::vector<Line>& loop) {
  static const std::regex stack("%[xyz]mm.*\\(%r[sb]p|\\(%r[sb]p.*%[xyz]mm"),
      copy("^vmov[a-z0-9]+ +%[xyz]mm[0-9]+,%[xyz]mm[0-9]+$");
  for (const Line& line : loop)
    if (std::regex_search(line.text, stack) || std::regex_search(line.text, copy)) return line.text;
  return "";
}

/// The machine code of a kernel with the schedule of the default search; empty: this machine cannot make it.
std::string machine_code(const Kernel& kernel, const HardwareModel& model, const std::filesystem::path& folder) {
  const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
  const auto scheduled = schedule(kernel, *mapped, model, ScheduleOptions{});
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  const auto program = lower(scheduled->schedule, kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  const std::string text = emit(*program, model)->front().text;
  const auto source = folder / "kernel.cpp", object = folder / "kernel.o";
  EXPECT_TRUE(write_file(source, text.data(), text.size()));
  auto command = compile_command(model, {source.string()}, object.string());
  command.push_back("-c");
  const auto compiled = run_process(command, {120, 0, 0}, folder / "log");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.output;
  const auto shell = std::vector<std::string>{"sh", "-c",
                                              "objdump -d --no-show-raw-insn '" + object.string() +
                                                  "' | sed 's/:\t/:\t\t/' > '" + (folder / "listing").string() + "'"};
  EXPECT_EQ(run_process(shell, {60, 0, 0}, folder / "log").exit_code, 0);
  return read_file(folder / "listing", 64 << 20);
}

struct Emitted {
  const char *name, *model, *kernel;
};

constexpr Emitted cases[] = {
    {"f32", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j], constant: true}\n  C: "
     "{shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"f32_plain", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j]}\n  C: {shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"f32_transposed", "x86_avx512",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [k, i]}\n  B: {shape: [j, k]}\n  C: {shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[k,i] * B[j,k]\n"},
    {"f32_avx2", "x86_avx2",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k]}\n  B: {shape: [k, j], constant: true}\n  C: "
     "{shape: [i, j]}\n"
     "compute:\n  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"bf16", "x86_avx512_bf16",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k], dtype: bf16}\n"
     "  B: {shape: [k, j], dtype: bf16, constant: true}\n  C: {shape: [i, j]}\ncompute:\n  - C[i,j] += A[i,k] * "
     "B[k,j]\n"},
    {"u8s8", "x86_avx512_vnni",
     "dims: {i: 193, j: 250, k: 130}\ntensors:\n  A: {shape: [i, k], dtype: u8}\n"
     "  B: {shape: [k, j], dtype: s8, constant: true}\n  C: {shape: [i, j], dtype: s32}\ncompute:\n"
     "  - C[i,j] += A[i,k] * B[k,j]\n"},
    {"convolution", "x86_avx512",
     "dims: {C: 64, K: 128, H: 28, R: 3}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n"
     "  F: {shape: [R, R, C, K], constant: true}\n  O: {shape: [H, H, K]}\ncompute:\n"
     "  - O[p,q,k] += I[p+r-1,q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: R, s: R}\n"},
};

/// Empty: the machine code for the model can be made and seen here.
std::string why_not_seen(const HardwareModel& model) {
#ifndef __x86_64__
  return "this machine's compiler makes other code";
#endif
  if (!command_exists("objdump")) return "objdump is missing (Debian: binutils)";
  if (needs_emulator(model) || compiler_for(model).command.empty()) return compiler_for(model).why + " ";
  return "";
}

class Spills : public testing::TestWithParam<Emitted> {};

TEST_P(Spills, InnermostLoopsStayInRegisters) {
  const auto& [name, model_name, kernel] = GetParam();
  const HardwareModel model = machine(model_name);
  if (const std::string why = why_not_seen(model); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory folder;
  const std::string listing = machine_code(
      *parse_kernel_yaml("kernel: " + std::string(name) + "\n" + kernel, "case.yaml"), model, folder.path());
  const auto loops = innermost_loops(lines_of(listing), multiply_adds);
  EXPECT_FALSE(loops.empty()) << listing.substr(0, 2000);
  for (const auto& loop : loops) {
    std::string text;
    for (const Line& line : loop) text += line.text + "\n";
    EXPECT_EQ(spilled(loop), "") << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Spills, testing::ValuesIn(cases),
                         [](const auto& one) { return std::string(one.param.name); });

/// What the compiler makes of an element statement with a function: one loop over vectors, and nothing is called.
class VectorCode : public testing::TestWithParam<const char*> {};

TEST_P(VectorCode, OfFunctions) {
  const HardwareModel model = machine("x86_avx512");
  if (const std::string why = why_not_seen(model); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory folder;
  const std::string listing =
      machine_code(*kernel_from_formula(std::string("O[i] = ") + GetParam(), "i=4096", ""), model, folder.path());
  const auto lines = lines_of(listing);
  EXPECT_EQ(innermost_loops(lines, std::regex("^vmulps .*%zmm")).size(), 1U) << listing;
  for (const Line& line : lines) EXPECT_FALSE(line.text.starts_with("call")) << line.text;
}

INSTANTIATE_TEST_SUITE_P(Kernels, VectorCode,
                         testing::Values("exp(X[i])", "tanh(X[i] + Y[i])", "sigmoid(X[i]) * Y[i]",
                                         "0.5 * X[i] * (1 + erf(0.7 * X[i]))"),
                         [](const auto& one) { return "case" + std::to_string(one.index); });

}  // namespace
}  // namespace isamap
