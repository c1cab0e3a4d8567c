// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/driver.h"

#include <fmt/format.h>

namespace isamap {
namespace {

const char* const prologue = R"(#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr long page = 4096;
struct Array { long bytes, align; bool input, output; char* at; };

long up(long a, long b) { return (a + b - 1) / b * b; }
long padded(const Array& a) { return up(a.bytes > 0 ? a.bytes : 1, a.align); }

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(3);
}

// The array ends (up to its alignment) at a page that nobody may touch, and begins behind another.
char* allocate(const Array& a) {
  const long length = up(a.bytes + a.align, page), all = length + 2 * page;
  void* block = mmap(nullptr, static_cast<std::size_t>(all), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) fail("not enough memory");
  char* first = static_cast<char*>(block) + page;
  if (mprotect(first, static_cast<std::size_t>(length), PROT_READ | PROT_WRITE) != 0) fail("not enough memory");
  std::memset(first, 0xff, static_cast<std::size_t>(length));
  return first + length - padded(a);
}

// The same elements where an application would have them: masked lanes that reach into a page that nobody may touch
// take microseconds, and large arrays lie in large pages.
char* moved(const Array& a) {
  constexpr long large = 2 << 20;
  const long length = padded(a) + page;
  void* block = mmap(nullptr, static_cast<std::size_t>(length + large), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) fail("not enough memory");
  char* at = static_cast<char*>(block);
  if (length >= 256 << 10) {
    at += (large - reinterpret_cast<long>(at) % large) % large;
    madvise(at, static_cast<std::size_t>(length), MADV_HUGEPAGE);
  }
  std::memcpy(at, a.at, static_cast<std::size_t>(padded(a)));
  return at;
}

void transfer(char* at, long bytes, long number, const char* kind, bool in) {
  char name[64];
  std::snprintf(name, sizeof name, "%ld.%s", number, kind);
  std::FILE* file = std::fopen(name, in ? "rb" : "wb");
  if (file == nullptr) fail("cannot open a data file");
  const std::size_t n = static_cast<std::size_t>(bytes);
  const std::size_t done = in ? std::fread(at, 1, n, file) : std::fwrite(at, 1, n, file);
  if (std::fclose(file) != 0 || done != n) fail(in ? "a data file is too short" : "cannot write a data file");
}

void check_end(const Array& a) {
  for (long i = a.bytes; i < padded(a); ++i)
    if (a.at[i] != char(0xff)) fail("the program wrote behind the end of an array");
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

double timed(void (*run)(), long times) {
  const double start = now();
  for (long i = 0; i < times; ++i) run();
  return (now() - start) / double(times);
}

int ascending(const void* a, const void* b) {
  const double x = *static_cast<const double*>(a), y = *static_cast<const double*>(b);
  return (x > y) - (x < y);
}

// The median over samples of at least 50 us each.
double measure(void (*run)(), double once, double min_seconds) {
  if (min_seconds <= 0) return once;
  static double samples[20000];
  const double warm = timed(run, 1), start = now();
  const long times = warm < 50e-6 ? long(50e-6 / (warm < 1e-8 ? 1e-8 : warm)) + 1 : 1;
  std::size_t count = 0;
  do samples[count++] = timed(run, times);
  while (now() - start < min_seconds && count < 20000);
  std::qsort(samples, count, sizeof samples[0], ascending);
  return samples[count / 2];
}

}  // namespace

)";

const char* const main_text = R"(int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[1]) != 0) fail("usage: driver DIRECTORY MIN_SECONDS");
  for (std::size_t i = 0; i < count; ++i) {
    arrays[i].at = allocate(arrays[i]);
    if (arrays[i].input) transfer(arrays[i].at, arrays[i].bytes, long(i), "in", true);
  }
  pack();
  const double once = timed(entry, 1);
  for (const Array& a : arrays) check_end(a);
  for (std::size_t i = 0; i < count; ++i)
    if (arrays[i].output) transfer(arrays[i].at, arrays[i].bytes, long(i), "out", false);
  const double min_seconds = std::atof(argv[2]);
  if (min_seconds > 0)
    for (Array& a : arrays) a.at = moved(a);
  const double seconds = measure(entry, once, min_seconds);
  std::FILE* file = std::fopen("result", "w");
  if (file == nullptr || std::fprintf(file, "seconds %.9g\n", seconds) < 0 || std::fclose(file) != 0) fail("cannot write the result");
}
)";

std::string declaration(const RunCall& call) {
  std::string list;
  for (std::size_t i = 0; i < call.arrays.size(); ++i) list += i == 0 ? "void*" : ", void*";
  return fmt::format("extern \"C\" void {}({});\n", call.function, list);
}

std::string use(const std::string& name, const RunCall& call) {
  if (call.function.empty()) return fmt::format("void {}() {{}}\n", name);
  std::string list;
  for (const std::size_t a : call.arrays) list += fmt::format("{}arrays[{}].at", list.empty() ? "" : ", ", a);
  return fmt::format("void {}() {{ {}({}); }}\n", name, call.function, list);
}

}  // namespace

std::string symbolic_driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry,
                                 std::size_t sizes) {
  std::string types, values, text = prologue;
  for (const std::size_t a : entry.arrays) {
    types += "void*, ";
    values += fmt::format("arrays[{}].at, ", a);
  }
  for (std::size_t s = 0; s < sizes; ++s) {
    types += s == 0 ? "long" : ", long";
    values += fmt::format("{}sizes[{}]", s == 0 ? "" : ", ", s);
  }
  if (!pack.function.empty()) text += declaration(pack);
  text += fmt::format("extern \"C\" int {}({});\n\nnamespace {{\n\nlong sizes[{}];\nArray arrays[] = {{\n",
                      entry.function, types, sizes);
  for (const RunArray& a : arrays) text += fmt::format("    {{0, {}, {}, {}, nullptr}},\n", a.align, a.input, a.output);
  text += "};\nconstexpr std::size_t count = sizeof arrays / sizeof arrays[0];\n" + use("pack", pack);
  text += fmt::format("void entry() {{\n  if ({}({}) != 0) fail(\"the entry refused the sizes\");\n}}\n",
                      entry.function, values);
  text += R"(void read_sizes() {
  std::FILE* file = std::fopen("sizes", "r");
  bool good = file != nullptr;
  for (long& size : sizes) good = good && std::fscanf(file, "%ld", &size) == 1;
  for (Array& a : arrays) good = good && std::fscanf(file, "%ld", &a.bytes) == 1;
  if (!good || std::fclose(file) != 0) fail("cannot read the sizes");
}

}  // namespace

)";
  std::string main = main_text;
  const std::string first = "MIN_SECONDS\");\n";
  return text + main.insert(main.find(first) + first.size(), "  read_sizes();\n");
}

std::string driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry) {
  std::string text = prologue;
  if (!pack.function.empty()) text += declaration(pack);
  text += declaration(entry) + "\nnamespace {\n\nArray arrays[] = {\n";
  for (const RunArray& a : arrays)
    text += fmt::format("    {{{}, {}, {}, {}, nullptr}},\n", a.bytes, a.align, a.input, a.output);
  return text + "};\nconstexpr std::size_t count = sizeof arrays / sizeof arrays[0];\n" + use("pack", pack) +
         use("entry", entry) + "\n}  // namespace\n\n" + main_text;
}

}  // namespace isamap
