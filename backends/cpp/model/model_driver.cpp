// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/model_driver.h"

#include <fmt/format.h>

#include "backends/cpp/model/model_text.h"

namespace isamap {
namespace {

const char* const driver_lines = R"(
namespace {

constexpr long page = 4096;
struct Array { long bytes; char* at; };
fixed|struct Traced { int part; bool output; long at, bytes; };
fixed|const Traced traced[] = {
fixed|TRACED    {-1, false, 0, 0}};

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

fixed|constexpr int count_of_sizes = 0;
sized|constexpr int count_of_sizes = NAME_SIZES;

void read_sizes(std::int64_t* sizes, Array* inputs, Array* outputs) {
  std::FILE* list = std::fopen("sizes", "r");
  if (list == nullptr) fail("cannot read the sizes");
  long number = 0;
  for (int i = 0; i < count_of_sizes + NAME_INPUTS + NAME_OUTPUTS; ++i) {
    if (std::fscanf(list, "%ld", &number) != 1) fail("cannot read the sizes");
    if (i < count_of_sizes) sizes[i] = number;
    else if (i < count_of_sizes + NAME_INPUTS) inputs[i - count_of_sizes].bytes = number;
    else outputs[i - count_of_sizes - NAME_INPUTS].bytes = number;
  }
  std::fclose(list);
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

void keep(const void* result, std::size_t bytes) {
  if (std::fwrite(result, 1, bytes, trace_file) != bytes) fail("cannot write the trace");
}

fixed|char* outputs_at[NAME_OUTPUTS + 1];

fixed|void after(void*, int part, const void* arena) {
fixed|  for (std::size_t i = 0; traced[i].part >= 0; ++i)
fixed|    if (traced[i].part == part)
fixed|      keep(traced[i].output ? outputs_at[traced[i].at] : static_cast<const char*>(arena) + traced[i].at,
fixed|           static_cast<std::size_t>(traced[i].bytes));
fixed|}
sized|void after(void*, int, const void* result, std::size_t bytes) { keep(result, bytes); }

void time_runs(NAME* model, const std::int64_t* sizes, const void* const* in, void* const* out, double min_seconds,
               std::FILE* result) {
  // The times of parts are medians too: of the means over groups of runs.
  constexpr int most_groups = 15;
  constexpr std::size_t most = 20000;
  static double samples[most], marks[most_groups + 1][PARTS + 1];
  std::size_t count = 0, runs[most_groups + 1] = {};
  int groups = 0;
  NAME_run(model, sizes, in, out, nullptr);
  NAME_profile(model, marks[0]);
  const double begun = now();
  while (count < most && (count == 0 || now() - begun < min_seconds)) {
    const double one = now();
    NAME_run(model, sizes, in, out, nullptr);
    samples[count++] = now() - one;
    // Short programs end by their count, others by the time.
    const double next = double(groups + 1) / most_groups;
    if (groups == most_groups || (now() - begun < min_seconds * next && double(count) < most * next)) continue;
    NAME_profile(model, marks[++groups]);
    runs[groups] = count;
  }
  if (groups == 0) {
    NAME_profile(model, marks[++groups]);
    runs[groups] = count;
  }
  std::qsort(samples, count, sizeof samples[0], ascending);
  std::fprintf(result, "seconds %.9g\n", samples[count / 2]);
  for (int part = 0; part < PARTS; ++part) {
    for (int g = 0; g < groups; ++g) samples[g] = (marks[g + 1][part] - marks[g][part]) / double(runs[g + 1] - runs[g]);
    std::qsort(samples, static_cast<std::size_t>(groups), sizeof samples[0], ascending);
    std::fprintf(result, "part %d %.9g\n", part, samples[groups / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) fail("usage: driver DIRECTORY MIN_SECONDS");
  const double min_seconds = std::atof(argv[2]);
  NAME* model = nullptr;
  if (NAME_open(&model, "weights") != NAME_ok) fail("the weights cannot be opened");
fixed|  std::int64_t* const sizes = nullptr;
sized|  std::int64_t sizes[NAME_SIZES + 1] = {};
  Array inputs[NAME_INPUTS + 1] = {}, outputs[NAME_OUTPUTS + 1] = {};
  const void* in[NAME_INPUTS + 1] = {};
  void* out[NAME_OUTPUTS + 1] = {};
  read_sizes(sizes, inputs, outputs);
  for (int i = 0; i < NAME_INPUTS; ++i) {
    inputs[i].at = guarded(inputs[i].bytes, 64);
    transfer(inputs[i], i, "in", true);
    in[i] = inputs[i].at;
  }
  for (int i = 0; i < NAME_OUTPUTS; ++i) {
    outputs[i].at = guarded(outputs[i].bytes, 64);
    out[i] = outputs[i].at;
fixed|    outputs_at[i] = outputs[i].at;
  }
  // The same calls in an arena with guards: what reaches beyond it ends the program.
  const std::size_t arena = NAME_arena_bytes(model, sizes);
  char* const own = guarded(static_cast<long>(arena), NAME_ARENA_ALIGN);
sized|  if (arena == 0) fail("a run was refused");
  trace_file = std::fopen("trace", "wb");
  if (trace_file == nullptr) fail("cannot write the trace");
  const bool once = min_seconds < 0;
  if (once) NAME_observe(model, after, nullptr);
  if (NAME_run(model, sizes, in, out, own) != NAME_ok) fail("a run was refused");
  NAME_observe(model, after, nullptr);
  if (!once) {
    for (int i = 0; i < NAME_OUTPUTS; ++i) std::memset(outputs[i].at, 0xff, static_cast<std::size_t>(outputs[i].bytes));
    if (NAME_run(model, sizes, in, out, nullptr) != NAME_ok) fail("a run was refused");
  }
  if (std::fclose(trace_file) != 0) fail("cannot write the trace");
  for (int i = 0; i < NAME_OUTPUTS; ++i) transfer(outputs[i], i, "out", false);
  NAME_observe(model, nullptr, nullptr);
  std::FILE* result = std::fopen("result", "w");
  if (result == nullptr) fail("cannot write the result");
  std::fprintf(result, "arena %zu\n", arena);
  time_runs(model, sizes, in, out, min_seconds, result);
  if (std::fclose(result) != 0) fail("cannot write the result");
  NAME_close(model);
}
)";

std::string driver_text(const ModelUnit& unit, std::size_t parts, bool sized) {
  std::string text = lines_for(sized ? ModelKind::sized : ModelKind::fixed, driver_lines);
  replace_all(text, "PARTS", std::to_string(parts));
  replace_all(text, "NAME", unit.name);
  return fmt::format(
             "#define {0}_PROFILE\n#include \"{0}.h\"\n\n#include <sys/mman.h>\n#include <time.h>\n#include "
             "<unistd.h>\n\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n",
             unit.name) +
         text;
}

}  // namespace

std::string model_driver_text(const ModelUnit& unit, const ModelProgram& model,
                              const std::vector<std::vector<TracedArray>>& traced) {
  std::string list, text = driver_text(unit, model.calls.size(), false);
  for (std::size_t part = 0; part < traced.size(); ++part)
    for (const TracedArray& one : traced[part])
      list += fmt::format("    {{{}, {}, {}, {}}},\n", part, one.place.in == ModelPlace::In::output, one.place.at,
                          one.bytes);
  replace_all(text, "TRACED", list);
  return text;
}

std::string model_driver_text(const ModelUnit& unit, const SymbolicModelProgram& model) {
  return driver_text(unit, model.calls.size(), true);
}

}  // namespace isamap
