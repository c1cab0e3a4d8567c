// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/driver.h"

#include <fmt/format.h>

namespace isamap {
namespace {

// Declared, a driver compiles in 0.02 s instead of 0.05.
const char* const header_text = R"(#pragma once
#if !defined(ISAMAP_DRIVER_DECLARED)
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#endif

namespace isamap_driver {

struct Array { long bytes, align; bool input, output; char* at; };
struct Program {
  Array* arrays;
  long count;
  long* sizes;  // they and the bytes of the arrays are read from "sizes", unless there are none
  long size_count;
  void (*pack)();
  void (*entry)();
};

[[noreturn]] void fail(const char* what);
int run(int argc, char** argv, const Program& program);

}  // namespace isamap_driver

#if !defined(ISAMAP_DRIVER_DECLARED)
namespace isamap_driver {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(3);
}

namespace {

constexpr long page = 4096;

long up(long a, long b) { return (a + b - 1) / b * b; }
long padded(const Array& a) { return up(a.bytes > 0 ? a.bytes : 1, a.align); }

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

double now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Processor time of the caller, which other programs do not stretch; where other threads of the program work for it,
// which that clock does not see, time on the wall.
clockid_t clock_of_samples = CLOCK_THREAD_CPUTIME_ID;

double now() { return now(clock_of_samples); }

double first_run(void (*run)()) {
  const double all = now(CLOCK_PROCESS_CPUTIME_ID), own = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
  run();
  const double own_spent = now(CLOCK_THREAD_CPUTIME_ID) - own, others = now(CLOCK_PROCESS_CPUTIME_ID) - all - own_spent;
  if (others < 20e-6) return own_spent;  // no more than the clocks are apart
  clock_of_samples = CLOCK_MONOTONIC;
  return now() - wall;
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

// The median over samples of at least 50 us each: three of them where that takes no ten times as long as asked for, since
// one that was interrupted says nothing.
double measure(void (*run)(), double once, double min_seconds) {
  if (min_seconds <= 0) return once;
  static double samples[20000];
  const double warm = timed(run, 1), start = now();
  const long times = warm < 50e-6 ? long(50e-6 / (warm < 1e-8 ? 1e-8 : warm)) + 1 : 1;
  std::size_t count = 0;
  do samples[count++] = timed(run, times);
  while (count < 20000 && now() - start < (count < 3 ? 10 * min_seconds : min_seconds));
  std::qsort(samples, count, sizeof samples[0], ascending);
  return samples[count / 2];
}

void read_sizes(const Program& program) {
  std::FILE* file = std::fopen("sizes", "r");
  bool good = file != nullptr;
  for (long i = 0; i < program.size_count; ++i) good = good && std::fscanf(file, "%ld", &program.sizes[i]) == 1;
  for (long i = 0; i < program.count; ++i) good = good && std::fscanf(file, "%ld", &program.arrays[i].bytes) == 1;
  if (!good || std::fclose(file) != 0) fail("cannot read the sizes");
}

}  // namespace

int run(int argc, char** argv, const Program& program) {
  if (argc != 3 || chdir(argv[1]) != 0) fail("usage: driver DIRECTORY MIN_SECONDS");
  if (program.size_count > 0) read_sizes(program);
  Array* const arrays = program.arrays;
  for (long i = 0; i < program.count; ++i) {
    arrays[i].at = allocate(arrays[i]);
    if (arrays[i].input) transfer(arrays[i].at, arrays[i].bytes, i, "in", true);
  }
  program.pack();
  const double once = first_run(program.entry);
  for (long i = 0; i < program.count; ++i) check_end(arrays[i]);
  for (long i = 0; i < program.count; ++i)
    if (arrays[i].output) transfer(arrays[i].at, arrays[i].bytes, i, "out", false);
  const double min_seconds = std::atof(argv[2]);
  if (min_seconds > 0)
    for (long i = 0; i < program.count; ++i) arrays[i].at = moved(arrays[i]);
  const double seconds = measure(program.entry, once, min_seconds);
  std::FILE* file = std::fopen("result", "w");
  if (file == nullptr || std::fprintf(file, "seconds %.9g\n", seconds) < 0 || std::fclose(file) != 0) fail("cannot write the result");
  return 0;
}

}  // namespace isamap_driver
#endif
)";

std::string include_line() { return fmt::format("#include \"{}\"\n\n", driver_header_name); }

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

std::string arrays_text(const std::vector<RunArray>& arrays, bool with_bytes) {
  std::string text = "isamap_driver::Array arrays[] = {\n";
  for (const RunArray& a : arrays)
    text += fmt::format("    {{{}, {}, {}, {}, nullptr}},\n", with_bytes ? a.bytes : 0, a.align, a.input, a.output);
  return text + "};\n";
}

std::string main_text(std::size_t arrays, std::size_t sizes) {
  return fmt::format(
      "\n}}  // namespace\n\nint main(int argc, char** argv) {{\n"
      "  return isamap_driver::run(argc, argv, {{arrays, {}, {}, {}, pack, entry}});\n}}\n",
      arrays, sizes > 0 ? "sizes" : "nullptr", sizes);
}

}  // namespace

std::string symbolic_driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry,
                                 std::size_t sizes) {
  std::string types, values, text = include_line();
  for (const std::size_t a : entry.arrays) {
    types += "void*, ";
    values += fmt::format("arrays[{}].at, ", a);
  }
  for (std::size_t s = 0; s < sizes; ++s) {
    types += s == 0 ? "long" : ", long";
    values += fmt::format("{}sizes[{}]", s == 0 ? "" : ", ", s);
  }
  if (!pack.function.empty()) text += declaration(pack);
  text += fmt::format("extern \"C\" int {}({});\n\nnamespace {{\n\nlong sizes[{}];\n", entry.function, types, sizes);
  return text + arrays_text(arrays, false) + use("pack", pack) +
         fmt::format("void entry() {{\n  if ({}({}) != 0) isamap_driver::fail(\"the entry refused the sizes\");\n}}\n",
                     entry.function, values) +
         main_text(arrays.size(), sizes);
}

std::string driver_text(const std::vector<RunArray>& arrays, const RunCall& pack, const RunCall& entry) {
  std::string text = include_line();
  if (!pack.function.empty()) text += declaration(pack);
  return text + declaration(entry) + "\nnamespace {\n\n" + arrays_text(arrays, true) + use("pack", pack) +
         use("entry", entry) + main_text(arrays.size(), 0);
}

SharedPart driver_part() {
  return {driver_header_name, header_text, "ISAMAP_DRIVER_DECLARED", "ISAMAP_DRIVER_DEFINED"};
}

bool is_driver(const std::string& text) { return text.starts_with(include_line()); }

}  // namespace isamap
