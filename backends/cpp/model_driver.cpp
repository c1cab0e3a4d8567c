// SPDX-License-Identifier: Apache-2.0
// The main of a traced and timed run of an emitted model.

#include <fmt/format.h>

#include "backends/cpp/model_unit.h"

namespace isamap {
namespace {

const char* const driver = R"(
namespace {

constexpr long page = 4096;
struct Array { long bytes; char* at; };
struct Traced { int part, kind; long at, bytes; };

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(3);
}

long up(long a, long b) { return (a + b - 1) / b * b; }

// Ends, up to `align`, at a page that nobody may touch.
char* guarded(long bytes, long align) {
  const long length = up(bytes + align, page), all = length + 2 * page;
  void* block = mmap(nullptr, static_cast<std::size_t>(all), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) fail("not enough memory");
  char* first = static_cast<char*>(block) + page;
  if (mprotect(first, static_cast<std::size_t>(length), PROT_READ | PROT_WRITE) != 0) fail("not enough memory");
  std::memset(first, 0xff, static_cast<std::size_t>(length));
  return first + length - up(bytes, align);
}

void transfer(const Array& a, long number, const char* kind, bool in) {
  char name[64];
  std::snprintf(name, sizeof name, "%ld.%s", number, kind);
  std::FILE* file = std::fopen(name, in ? "rb" : "wb");
  if (file == nullptr) fail("cannot open a data file");
  const std::size_t n = static_cast<std::size_t>(a.bytes);
  const std::size_t done = in ? std::fread(a.at, 1, n, file) : std::fwrite(a.at, 1, n, file);
  if (std::fclose(file) != 0 || done != n) fail(in ? "a data file is too short" : "cannot write a data file");
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

int ascending(const void* a, const void* b) {
  const double x = *static_cast<const double*>(a), y = *static_cast<const double*>(b);
  return (x > y) - (x < y);
}

std::FILE* trace_file = nullptr;
char* outputs_at[OUTPUTS + 1];

void after(void*, int part, const void* arena) {
  for (std::size_t i = 0; traced[i].part >= 0; ++i) {
    if (traced[i].part != part) continue;
    const char* from = traced[i].kind == 0 ? static_cast<const char*>(arena) + traced[i].at : outputs_at[traced[i].at];
    const std::size_t n = static_cast<std::size_t>(traced[i].bytes);
    if (std::fwrite(from, 1, n, trace_file) != n) fail("cannot write the trace");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) fail("usage: driver DIRECTORY MIN_SECONDS");
  const double min_seconds = std::atof(argv[2]);
  NAME* model = nullptr;
  if (NAME_open(&model, "weights") != NAME_ok) fail("the weights cannot be opened");
  const void* in[INPUTS + 1] = {};
  void* out[OUTPUTS + 1] = {};
  for (int i = 0; i < INPUTS; ++i) {
    inputs[i].at = guarded(inputs[i].bytes, 64);
    transfer(inputs[i], i, "in", true);
    in[i] = inputs[i].at;
  }
  for (int i = 0; i < OUTPUTS; ++i) {
    outputs[i].at = guarded(outputs[i].bytes, 64);
    out[i] = outputs_at[i] = outputs[i].at;
  }
  // The same calls in an arena with guards: what reaches beyond it ends the program.
  char* const own = guarded(static_cast<long>(NAME_arena_bytes(model, nullptr)), NAME_ARENA_ALIGN);
  if (NAME_run(model, nullptr, in, out, own) != NAME_ok) fail("a run was refused");
  for (int i = 0; i < OUTPUTS; ++i) std::memset(outputs[i].at, 0xff, static_cast<std::size_t>(outputs[i].bytes));
  trace_file = std::fopen("trace", "wb");
  if (trace_file == nullptr) fail("cannot write the trace");
  NAME_observe(model, after, nullptr);
  const double start = now();
  if (NAME_run(model, nullptr, in, out, nullptr) != NAME_ok) fail("a run was refused");
  double once = now() - start;
  if (std::fclose(trace_file) != 0) fail("cannot write the trace");
  for (int i = 0; i < OUTPUTS; ++i) transfer(outputs[i], i, "out", false);
  NAME_observe(model, nullptr, nullptr);
  static double samples[20000], before[PARTS + 1], behind[PARTS + 1];
  std::size_t count = 0;
  NAME_run(model, nullptr, in, out, nullptr);
  NAME_profile(model, before);
  const double begun = now();
  while (count < 20000 && (count == 0 || now() - begun < min_seconds)) {
    const double one = now();
    NAME_run(model, nullptr, in, out, nullptr);
    samples[count++] = now() - one;
  }
  NAME_profile(model, behind);
  std::qsort(samples, count, sizeof samples[0], ascending);
  std::FILE* result = std::fopen("result", "w");
  if (result == nullptr) fail("cannot write the result");
  std::fprintf(result, "seconds %.9g\n", samples[count / 2]);
  for (int part = 0; part < PARTS; ++part)
    std::fprintf(result, "part %d %.9g\n", part, (behind[part] - before[part]) / double(count));
  (void)once;
  if (std::fclose(result) != 0) fail("cannot write the result");
  NAME_close(model);
}
)";

void replace(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

std::string arrays_of(const char* name, const std::vector<Port>& ports) {
  std::string text = fmt::format("Array {}[] = {{", name);
  for (const Port& port : ports) text += fmt::format("{{{}, nullptr}}, ", port.bytes());
  return text + "{0, nullptr}};\n";
}

}  // namespace

std::string model_driver_text(const ModelUnit& unit, const ModelProgram& model,
                              const std::vector<std::vector<TracedArray>>& traced) {
  std::string text = driver;
  std::string list;
  for (std::size_t part = 0; part < traced.size(); ++part)
    for (const TracedArray& one : traced[part])
      list += fmt::format("    {{{}, {}, {}, {}}},\n", part, one.place.in == ModelPlace::In::output ? 1 : 0,
                          one.place.at, one.bytes);
  const std::string after_types = "struct Traced { int part, kind; long at, bytes; };\n";
  const std::size_t at = text.find(after_types) + after_types.size();
  text.insert(at, arrays_of("inputs", model.inputs) + arrays_of("outputs", model.outputs) +
                      "const Traced traced[] = {\n" + list + "    {-1, 0, 0, 0}};\n");
  replace(text, "INPUTS", std::to_string(model.inputs.size()));
  replace(text, "OUTPUTS", std::to_string(model.outputs.size()));
  replace(text, "PARTS", std::to_string(model.calls.size()));
  replace(text, "NAME", unit.name);
  return fmt::format(
             "#define {0}_PROFILE\n#include \"{0}.h\"\n\n#include <sys/mman.h>\n#include <time.h>\n#include "
             "<unistd.h>\n\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n",
             unit.name) +
         text;
}

}  // namespace isamap
