// Emitted f32 GEMM against oneDNN on one core, in one process: interleaved, thread CPU clock, medians, outputs
// compared. The claim: at 1024x1024x1024 at least half of oneDNN. The time of one core for a multiply-add loop in
// registers, the peak, is measured in the same run.

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"
#include "frontends/frontends.h"
#include "hwdesc/yaml_loader.h"
#include "mapper/mapper.h"
#include "scheduler/lower.h"
#include "scheduler/scheduler.h"
#include "support/random.h"

#ifdef ISAMAP_BENCH_ONEDNN
#include <dnnl.hpp>
#endif

namespace isamap {
namespace {

using Gemm = void (*)(const float*, const float*, float*);

struct Shape {
  std::int64_t m, n, k;
};

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

[[noreturn]] void stop(const std::string& why) {
  std::fputs((why + "\n").c_str(), stderr);
  std::exit(1);
}

template <class T>
T value_or_stop(Result<T> result) {
  if (!result) stop(render(result.diagnostics()));
  return std::move(*result);
}

// The whole compiler, then the system's; the emitted file becomes a shared object.
Gemm build(const Shape& s, const HardwareModel& model, const std::string& folder) {
  const Kernel kernel =
      value_or_stop(kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", fmt::format("i={},j={},k={}", s.m, s.n, s.k), ""));
  const MapResult mapped = value_or_stop(enumerate_mappings(kernel, model, MapOptions{}));
  ScheduleOptions options;
  options.objective = Objective::cycles;
  Scheduled scheduled = value_or_stop(schedule(kernel, mapped, model, options));
  scheduled.schedule.name = "gemm";
  const Program program = value_or_stop(lower(scheduled.schedule, kernel, model));
  const std::string stem = fmt::format("{}/gemm_{}_{}_{}", folder, s.m, s.n, s.k);
  std::ofstream(stem + ".cpp") << value_or_stop(emit(program, model)).front().text;
  std::string command = "c++ -std=c++20 -O3 -shared -fPIC";
  for (const char* compiler : {"any", "gcc"})
    if (const auto it = model.program.flags.find(compiler); it != model.program.flags.end())
      for (const std::string& flag : it->second) command += " " + flag;
  command += fmt::format(" {0}.cpp -o {0}.so", stem);
  if (std::system(command.c_str()) != 0) stop("failed: " + command);
  void* library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = library ? dlsym(library, "gemm") : nullptr;
  if (!entry) stop("no entry in " + stem + ".so");
  return reinterpret_cast<Gemm>(entry);
}

// The peer's matrix multiplication on the same row-major arrays, planned once.
class Peer {
 public:
#ifdef ISAMAP_BENCH_ONEDNN
  Peer(const Shape& s, float* a, float* b, float* c) {
    using namespace dnnl;
    const auto plain = [](std::int64_t rows, std::int64_t columns) {
      return memory::desc({rows, columns}, memory::data_type::f32, memory::format_tag::ab);
    };
    const matmul::desc description(plain(s.m, s.k), plain(s.k, s.n), plain(s.m, s.n));
    multiply_ = matmul(matmul::primitive_desc(description, engine_));
    arguments_ = {{DNNL_ARG_SRC, memory(plain(s.m, s.k), engine_, a)},
                  {DNNL_ARG_WEIGHTS, memory(plain(s.k, s.n), engine_, b)},
                  {DNNL_ARG_DST, memory(plain(s.m, s.n), engine_, c)}};
  }
  void run() {
    multiply_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::matmul multiply_;
  std::unordered_map<int, dnnl::memory> arguments_;
#else
  Peer(const Shape&, float*, float*, float*) {}
  void run() {}
#endif
};

struct Measured {
  double ours = 0, theirs = 0, error = 0;
};

Measured measure(const Shape& s, Gemm gemm) {
  Random random(1);
  std::vector<float> a(static_cast<std::size_t>(s.m * s.k)), b(static_cast<std::size_t>(s.k * s.n));
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n)), d(c.size());
  for (float& x : a) x = static_cast<float>(random.unit() - 0.5);
  for (float& x : b) x = static_cast<float>(random.unit() - 0.5);
  Peer peer(s, a.data(), b.data(), d.data());
  std::vector<double> ours, theirs;
  const double once = 2e-9 * static_cast<double>(s.m * s.n * s.k) / 100;  // a guess, for the number of calls a sample
  const int calls = std::max(1, static_cast<int>(0.003 / once));
  for (int round = -1; round < 15; ++round) {
    const double t0 = now();
    for (int i = 0; i < calls; ++i) gemm(a.data(), b.data(), c.data());
    const double t1 = now();
    for (int i = 0; i < calls; ++i) peer.run();
    const double t2 = now();
    if (round < 0) continue;  // warm-up
    ours.push_back((t1 - t0) / calls);
    theirs.push_back((t2 - t1) / calls);
  }
  Measured result{median(ours), median(theirs), 0};
  double largest = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    result.error = std::max(result.error, static_cast<double>(std::fabs(c[i] - d[i])));
    largest = std::max(largest, static_cast<double>(std::fabs(d[i])));
  }
  result.error /= std::max(largest, 1e-30);
  return result;
}

int run() {
  const std::vector<std::string> folders = {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"};
  std::string target;
  for (const char* name : {"x86_avx512", "x86_avx2", "scalar_c"}) {
    const auto loaded = load_hardware(name, folders);
    if (loaded && availability(loaded->model).how == "native") {
      target = name;
      break;
    }
  }
  if (target.empty()) stop("no C++ model runs natively here");
  const HardwareModel model = value_or_stop(load_hardware(target, folders)).model;
#ifndef ISAMAP_BENCH_ONEDNN
  std::puts("built without oneDNN (Debian: libdnnl-dev): ours alone, outputs not compared");
  constexpr bool have_peer = false;
#else
  constexpr bool have_peer = true;
#endif
  char folder[] = "/tmp/isamap-bench-XXXXXX";
  if (!mkdtemp(folder)) stop("no temporary folder");
  std::printf("f32 GEMM on %s, one core, thread CPU time, medians of 15 interleaved rounds\n", target.c_str());
  std::printf("%6s %6s %6s %14s %14s %8s %10s\n", "m", "n", "k", "GFLOP/s ours", "oneDNN", "ratio", "difference");
  int failed = 0;
  for (const Shape& s : {Shape{1024, 1024, 1024},
                         {512, 512, 512},
                         {1021, 699, 511},
                         {1024, 700, 512},
                         {128, 128, 128},
                         {3072, 16, 1024}}) {
    const Measured m = measure(s, build(s, model, folder));
    const double flops = 2e-9 * static_cast<double>(s.m * s.n * s.k);
    std::printf("%6ld %6ld %6ld %14.1f", s.m, s.n, s.k, flops / m.ours);
    if (have_peer) std::printf(" %14.1f %8.2f %10.1e", flops / m.theirs, m.theirs / m.ours, m.error);
    std::puts("");
    if (have_peer && (m.error > 1e-4 || (s.m == 1024 && s.n == 1024 && m.theirs / m.ours < 0.5))) failed = 1;
  }
  const std::string clean = std::string("rm -rf ") + folder;
  if (std::system(clean.c_str()) != 0) failed = 1;
  return failed;
}

}  // namespace
}  // namespace isamap

int main(int, char** argv) {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (threads == nullptr || std::string(threads) != "1") {  // the peer's runtime reads it when it is loaded
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  return isamap::run();
}
