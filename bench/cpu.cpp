// Emitted code against the libraries of others, on one core, in one process: interleaved, thread CPU clock, medians,
// outputs compared. The time of one core for a multiply-add loop in registers, the peak, is measured in the same run.
//
//   bench_cpu [--family TEXT] [--out FILE.jsonl]      families whose name begins with TEXT

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/backend.h"
#include "backends/loaded_kernel.h"
#include "bench/cpu/cases.h"
#include "bench/cpu/peers.h"
#include "frontends/frontends.h"
#include "hwdesc/yaml_loader.h"
#include "mapper/mapper.h"
#include "scheduler/lower.h"
#include "scheduler/scheduler.h"

namespace isamap::bench {
namespace {

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
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

struct Ours {
  Kernel kernel;
  std::string schedule;
  LoadedKernel loaded;
  double compile_seconds = 0;  ///< of this compiler, without the system's
  double predicted_cycles = 0;
};

const std::vector<std::string> folders{ISAMAP_SOURCE_DIR "/hardware_models"};

/// The whole compiler with its default search, for the first model with an instruction that fits and runs here.
std::optional<Ours> ours(const CpuCase& c) {
  Kernel kernel = value_or_stop(parse_kernel_yaml(c.kernel, "case.yaml"));
  std::vector<std::string> targets{"x86_avx512", "x86_avx2", "scalar_c"};
  if (c.types == "bf16") targets = {"intel_amx", "x86_avx512_bf16"};
  if (c.types == "u8s8") targets = {"intel_amx", "x86_avx512_vnni", "x86_avx_vnni"};
  for (const std::string& target : targets) {
    const HardwareModel model = value_or_stop(load_hardware(target, folders)).model;
    if (availability(model).how != "native") continue;
    const double begin = thread_seconds();
    const MapResult mapped = value_or_stop(enumerate_mappings(kernel, model, MapOptions{}));
    ScheduleOptions options;
    options.objective = Objective::cycles;
    const Scheduled scheduled = value_or_stop(schedule(kernel, mapped, model, options));
    const Program program = value_or_stop(lower(scheduled.schedule, kernel, model));
    const double end = thread_seconds();
    return Ours{kernel, print(scheduled.schedule), value_or_stop(load_program(program, model)), end - begin,
                scheduled.cost.cycles};
  }
  return std::nullopt;
}

struct Candidate {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;
};

/// Tensors as applications hold them: each begins at a cache line.
class TensorArrays {
 public:
  explicit TensorArrays(std::vector<TensorData> data) : data_(std::move(data)) {
    for (const TensorData& d : data_) {
      memory_.emplace_back(static_cast<std::uint8_t*>(std::aligned_alloc(64, (d.bytes.size() / 64 + 1) * 64)));
      std::copy(d.bytes.begin(), d.bytes.end(), memory_.back().get());
    }
  }
  std::uint8_t* at(TensorId t) { return memory_[t.index()].get(); }
  const TensorData& data(TensorId t) {
    TensorData& d = data_[t.index()];
    std::copy_n(at(t), d.bytes.size(), d.bytes.begin());
    return d;
  }

 private:
  struct Freed {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };
  std::vector<TensorData> data_;
  std::vector<std::unique_ptr<std::uint8_t, Freed>> memory_;
};

/// Largest difference over largest value.
double difference(const TensorData& a, const TensorData& b) {
  double largest = 0, off = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const auto value = [&](const TensorData& d) {
      const Scalar v = d.get(i);
      return is_float(d.dtype) ? v.real : static_cast<double>(v.integer);
    };
    const double x = value(a), y = value(b);
    largest = std::max(largest, std::fabs(x));
    off = std::max(off, std::fabs(x - y));
  }
  return off / std::max(largest, 1e-30);
}

/// Samples of at least 2 ms, round-robin with the order rotated, until the time is spent.
void measure(std::vector<Candidate>& candidates, double budget) {
  std::vector<int> calls;
  for (Candidate& c : candidates) {
    c.run();
    const double begin = thread_seconds();
    c.run();
    calls.push_back(std::max(1, static_cast<int>(0.002 / std::max(thread_seconds() - begin, 1e-7))));
  }
  const double begin = thread_seconds();
  for (std::size_t round = 0; round < 41 && (round < 5 || thread_seconds() - begin < budget); ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t at = (i + round) % candidates.size();
      const double t0 = thread_seconds();
      for (int n = 0; n < calls[at]; ++n) candidates[at].run();
      candidates[at].seconds.push_back((thread_seconds() - t0) / calls[at]);
    }
}

class Report {
 public:
  explicit Report(const std::string& file) {
    if (file.empty()) return;
    lines_ = std::fopen(file.c_str(), "w");
    if (lines_ == nullptr) stop("cannot write " + file);
  }
  ~Report() {
    if (lines_ != nullptr) std::fclose(lines_);
  }

  void add(const CpuCase& c, const Ours& mine, std::vector<Candidate>& candidates, double worst_difference) {
    const double own = median(candidates[0].seconds);
    std::string peer;
    double best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i)
      if (const double t = median(candidates[i].seconds); best == 0 || t < best) best = t, peer = candidates[i].name;
    const double speed = 1e-9 * c.operations / own, ratio = best / own;
    fmt::print("{:22} {:24} {:8.1f} GOP/s {:>9} {:8.1f}  ratio {:5.2f}  difference {:.0e}  compiled in {:.2f} s\n",
               c.family, c.name, speed, peer, best > 0 ? 1e-9 * c.operations / best : 0, ratio, worst_difference,
               mine.compile_seconds);
    if (best > 0) ratios_[c.family].push_back({ratio, c.name});
    if (lines_ == nullptr) return;
    nlohmann::json line{{"family", c.family},
                        {"shape", c.name},
                        {"gops", speed},
                        {"peer", peer},
                        {"ratio", ratio},
                        {"difference", worst_difference},
                        {"compile_seconds", mine.compile_seconds},
                        {"predicted_cycles", mine.predicted_cycles},
                        {"schedule", mine.schedule}};
    for (const Candidate& one : candidates) line["seconds"][one.name] = median(one.seconds);
    fmt::print(lines_, "{}\n", line.dump());
    std::fflush(lines_);
  }

  void summary() const {
    std::puts("");
    for (const auto& [family, rows] : ratios_) {
      double sum = 0;
      const auto worst = std::min_element(rows.begin(), rows.end());
      for (const auto& [ratio, name] : rows) sum += std::log(ratio);
      fmt::print("{:22} {:2} shapes, ratio to the best peer: geomean {:.2f}, worst {:.2f} ({})\n", family, rows.size(),
                 std::exp(sum / static_cast<double>(rows.size())), worst->first, worst->second);
    }
  }

 private:
  std::FILE* lines_ = nullptr;
  std::map<std::string, std::vector<std::pair<double, std::string>>> ratios_;
};

bool run_case(const CpuCase& c, Report& report) {
  auto mine = ours(c);
  if (!mine) {
    fmt::print("{:22} {:24} no model of hardware_models runs here\n", c.family, c.name);
    return true;
  }
  const auto data = random_data(mine->kernel, Fill::real, 1);
  TensorArrays own(data);
  std::vector<TensorView> views;
  TensorId result;
  for (const TensorId t : arguments(mine->kernel)) {
    const TensorData& d = data[t.index()];
    views.push_back({own.at(t), d.dtype, d.shape, {}});
    if (role_of(mine->kernel, t) == Role::output) result = t;
  }
  std::vector<std::unique_ptr<TensorArrays>> theirs;
  const auto arrays = [&] {
    auto& copy = *theirs.emplace_back(std::make_unique<TensorArrays>(data));
    Arrays made;
    for (const TensorId t : arguments(mine->kernel))
      if (role_of(mine->kernel, t) == Role::input) made.inputs.push_back(copy.at(t));
    made.output = copy.at(result);
    return made;
  };
  std::vector<Candidate> candidates{{"isamap",
                                     [&] {
                                       if (const auto problem = mine->loaded.call(views)) stop(render({*problem}));
                                     },
                                     {}}};
  for (Peer& peer : peers(c, arrays)) candidates.push_back({peer.name, peer.run, {}});
  measure(candidates, 0.8);
  double worst = 0;
  for (const auto& other : theirs) worst = std::max(worst, difference(other->data(result), own.data(result)));
  report.add(c, *mine, candidates, worst);
  const double tolerance = c.types == "u8s8" ? 0 : 1e-4;
  if (worst > tolerance) fmt::print("{} {}: RESULTS DIFFER\n", c.family, c.name);
  return worst <= tolerance;
}

int run(const std::string& family, const std::string& file) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string versions = peer_versions();
  fmt::print("one core, thread CPU time, medians of interleaved samples; peers: {}\n",
             versions.empty() ? "none (Debian: libdnnl-dev)" : versions);
  Report report(file);
  bool right = true;
  for (const CpuCase& c : cpu_cases())
    if (c.family.rfind(family, 0) == 0) right = run_case(c, report) && right;
  report.summary();
  return right ? 0 : 1;
}

}  // namespace
}  // namespace isamap::bench

int main(int argc, char** argv) {
  // The peers' runtimes read these when they are loaded: one thread each, and the kernels that fit this processor best
  // (left to themselves, Debian's builds may take others).
  if (std::getenv("ISAMAP_BENCH") == nullptr) {
    setenv("ISAMAP_BENCH", "1", 1);
    for (const char* threads : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"}) setenv(threads, "1", 1);
    setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
    setenv("BLIS_ARCH_TYPE", "0", 0);
    execv("/proc/self/exe", argv);
  }
  std::string family, file;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--family") == 0) family = argv[i + 1];
    if (std::strcmp(argv[i], "--out") == 0) file = argv[i + 1];
  }
  return isamap::bench::run(family, file);
}
