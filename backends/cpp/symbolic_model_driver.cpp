// SPDX-License-Identifier: Apache-2.0
// The main of a traced and timed run of an emitted model at some sizes.

#include <fmt/format.h>

#include "backends/cpp/symbolic_model_unit.h"

namespace isamap {
namespace {

const char* const sized_driver = R"(
namespace {

constexpr long page = 4096;
struct Array { long bytes; char* at; };

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

void after(void*, int, const void* result, std::size_t bytes) {
  if (std::fwrite(result, 1, bytes, trace_file) != bytes) fail("cannot write the trace");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) fail("usage: driver DIRECTORY MIN_SECONDS");
  const double min_seconds = std::atof(argv[2]);
  NAME* model = nullptr;
  if (NAME_open(&model, "weights") != NAME_ok) fail("the weights cannot be opened");
  std::int64_t sizes[NAME_SIZES + 1] = {};
  Array inputs[NAME_INPUTS + 1] = {}, outputs[NAME_OUTPUTS + 1] = {};
  const void* in[NAME_INPUTS + 1] = {};
  void* out[NAME_OUTPUTS + 1] = {};
  std::FILE* list = std::fopen("sizes", "r");
  if (list == nullptr) fail("cannot read the sizes");
  long number = 0;
  for (int i = 0; i < NAME_SIZES + NAME_INPUTS + NAME_OUTPUTS; ++i) {
    if (std::fscanf(list, "%ld", &number) != 1) fail("cannot read the sizes");
    if (i < NAME_SIZES) sizes[i] = number;
    else if (i < NAME_SIZES + NAME_INPUTS) inputs[i - NAME_SIZES].bytes = number;
    else outputs[i - NAME_SIZES - NAME_INPUTS].bytes = number;
  }
  std::fclose(list);
  for (int i = 0; i < NAME_INPUTS; ++i) {
    inputs[i].at = guarded(inputs[i].bytes, 64);
    transfer(inputs[i], i, "in", true);
    in[i] = inputs[i].at;
  }
  for (int i = 0; i < NAME_OUTPUTS; ++i) {
    outputs[i].at = guarded(outputs[i].bytes, 64);
    out[i] = outputs[i].at;
  }
  // The same calls in an arena with guards: what reaches beyond it ends the program.
  const std::size_t arena = NAME_arena_bytes(model, sizes);
  char* const own = guarded(static_cast<long>(arena), NAME_ARENA_ALIGN);
  if (arena == 0 || NAME_run(model, sizes, in, out, own) != NAME_ok) fail("a run was refused");
  for (int i = 0; i < NAME_OUTPUTS; ++i) std::memset(outputs[i].at, 0xff, static_cast<std::size_t>(outputs[i].bytes));
  trace_file = std::fopen("trace", "wb");
  if (trace_file == nullptr) fail("cannot write the trace");
  NAME_observe(model, after, nullptr);
  if (NAME_run(model, sizes, in, out, nullptr) != NAME_ok) fail("a run was refused");
  if (std::fclose(trace_file) != 0) fail("cannot write the trace");
  for (int i = 0; i < NAME_OUTPUTS; ++i) transfer(outputs[i], i, "out", false);
  NAME_observe(model, nullptr, nullptr);
  static double samples[20000], before[PARTS + 1], behind[PARTS + 1];
  std::size_t count = 0;
  NAME_run(model, sizes, in, out, nullptr);
  NAME_profile(model, before);
  const double begun = now();
  while (count < 20000 && (count == 0 || now() - begun < min_seconds)) {
    const double one = now();
    NAME_run(model, sizes, in, out, nullptr);
    samples[count++] = now() - one;
  }
  NAME_profile(model, behind);
  std::qsort(samples, count, sizeof samples[0], ascending);
  std::FILE* result = std::fopen("result", "w");
  if (result == nullptr) fail("cannot write the result");
  std::fprintf(result, "seconds %.9g\narena %zu\n", samples[count / 2], arena);
  for (int part = 0; part < PARTS; ++part)
    std::fprintf(result, "part %d %.9g\n", part, (behind[part] - before[part]) / double(count));
  if (std::fclose(result) != 0) fail("cannot write the result");
  NAME_close(model);
}
)";

void substitute_all(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

}  // namespace

std::string symbolic_model_driver_text(const ModelUnit& unit, const SymbolicModelProgram& model) {
  std::string text = sized_driver;
  substitute_all(text, "PARTS", std::to_string(model.calls.size()));
  substitute_all(text, "NAME", unit.name);
  return fmt::format(
             "#define {0}_PROFILE\n#include \"{0}.h\"\n\n#include <sys/mman.h>\n#include <time.h>\n#include "
             "<unistd.h>\n\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n",
             unit.name) +
         text;
}

}  // namespace isamap
