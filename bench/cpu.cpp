// SPDX-License-Identifier: Apache-2.0
// Emitted code against tuned libraries on one core in one process: interleaved, pinned, thread CPU clock, medians,
// outputs compared. The processor's peak is measured in the same rounds with programs generated from its instruction
// descriptions; a result above the peak is rejected.
//
//   bench_cpu [--family TEXT].. [--out FILE.jsonl] [--page FILE.html] [--seconds S] [--target HW] [--processor N]
//
// Families (and "choice of the model", "two threads") whose names begin with a TEXT. `--from FILE.jsonl` measures
// nothing: it draws the page of an earlier run.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "bench/cpu/comparisons.h"
#include "bench/cpu/measure.h"
#include "bench/cpu/ours.h"
#include "bench/cpu/page.h"
#include "bench/cpu/peers.h"
#include "bench/cpu/shapes.h"

namespace isamap::bench {
namespace {

struct Options {
  std::vector<std::string> families;  ///< what their names begin with; none: all
  std::string out, page, from;
  double seconds = 0.6;  ///< for the samples of one shape
  int processor = -1;
  bool threads_only = false;  ///< the process that has two threads
};

std::string first_match(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key, 0) == 0)
      if (const auto at = line.find(": "); at != std::string::npos) return line.substr(at + 2);
  return "unknown";
}

/// Debian's builds do not find their AVX-512 kernels by themselves; where a processor has none they find the right
/// ones.
void choose_kernels_of_peers() {
  if ((" " + first_match("/proc/cpuinfo", "flags") + " ").find(" avx512f ") == std::string::npos) return;
  setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
  setenv("BLIS_ARCH_TYPE", "0", 0);
}

bool wanted(const Options& options, const std::string& name) {
  const auto begins = [&](const std::string& text) { return name.rfind(text, 0) == 0; };
  return options.families.empty() || std::any_of(options.families.begin(), options.families.end(), begins);
}

/// Lines of the results file, and the same as values.
class Results {
 public:
  explicit Results(const Options& options) {
    if (options.out.empty()) return;
    // Two processes write it: each line goes to the end.
    if (!options.threads_only) std::ofstream(options.out, std::ios::trunc);
    file_ = std::fopen(options.out.c_str(), "a");
    if (file_ == nullptr) stop("cannot write " + options.out);
  }
  ~Results() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  void write(const nlohmann::json& line) {
    if (file_ == nullptr) return;
    fmt::print(file_, "{}\n", line.dump());
    std::fflush(file_);
  }
  void add(Record record) {
    fmt::print("{}\n", line_text(record));
    write(to_json(record));
    run.records.push_back(std::move(record));
  }
  void add(Comparison comparison) {
    fmt::print("{}\n", line_text(comparison));
    write(to_json(comparison));
    run.comparisons.push_back(std::move(comparison));
  }
  CpuRun run;

 private:
  std::FILE* file_ = nullptr;
};

Machine this_machine(Calibration& calibration, int processor) {
  Machine machine;
  machine.processor = first_match("/proc/cpuinfo", "model name");
  machine.compiler = compiler_version("");
  machine.peers = peer_versions();
  machine.levels = calibration.levels();
  machine.pinned = processor;
  double load[1] = {0};
  machine.load = getloadavg(load, 1) == 1 ? load[0] : 0;
  return machine;
}

bool run_threads(const Options& options, Results& results) {
  bool right = true;
  for (const CpuCase& c : thread_cases()) {
    const Comparison comparison = compare_threads(c, options.seconds);
    right = right && comparison.right;
    results.add(comparison);
  }
  return right;
}

/// OpenMP reads its number of threads when it is loaded, so two threads are another process.
bool start_threads(char** argv) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("OMP_NUM_THREADS", "2", 1);
    setenv("ISAMAP_BENCH", "threads", 1);
    execv("/proc/self/exe", argv);
    std::_Exit(127);
  }
  int state = 1;
  return child > 0 && waitpid(child, &state, 0) == child && state == 0;
}

void read_results(const std::string& file, CpuRun& run) {
  std::ifstream in(file);
  if (!in) stop("cannot read " + file);
  for (std::string text; std::getline(in, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_discarded()) stop(file + ": not a results file");
    if (line.contains("machine")) run.machine = machine_of(line.at("machine"));
    if (line.contains("family")) run.records.push_back(record_of(line));
    if (line.contains("part")) run.comparisons.push_back(comparison_of(line));
  }
}

void write_page(const Options& options, const CpuRun& run) {
  if (options.page.empty()) return;
  std::ofstream out(options.page);
  out << page_of(run);
  if (!out.flush()) stop("cannot write " + options.page);
  fmt::print("page: {}\n", options.page);
}

bool measure_all(const Options& options, Results& results) {
  bool right = true;
  Calibration calibration;
  const int processor = pin(options.processor);
  Machine& machine = results.run.machine = this_machine(calibration, processor);
  fmt::print("{}, processor {}, load {:.1f}; thread CPU time, medians of interleaved samples\npeers: {}\n",
             machine.processor, processor, machine.load, fmt::join(machine.peers, ", "));
  for (const Level& level : machine.levels)
    fmt::print("reading again and again, {}: {:.1f} GB/s\n", level.name, 1e-9 * level.rate);
  results.write({{"machine", to_json(machine)}});
  for (const CpuCase& c : cpu_cases()) {
    if (!wanted(options, c.family)) continue;
    Record record = run_shape(c, calibration, options.seconds);
    right = is_right(record, c) && right;
    results.add(std::move(record));
  }
  if (wanted(options, choice_part))
    for (const CpuCase& c : choice_cases()) {
      Comparison comparison = compare_choice(c, 2 * options.seconds);
      right = comparison.right && right;
      results.add(std::move(comparison));
    }
  return right;
}

void print_summary(const CpuRun& run) {
  std::puts("");
  for (const FamilySummary& family : summarize(run.records)) fmt::print("{}\n", line_text(family));
  for (const char* part : {choice_part, threads_part})
    if (const std::string text = summary_text(part, run.comparisons); !text.empty()) fmt::print("{}\n", text);
}

int run(const Options& options, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (!options.from.empty()) {
    CpuRun earlier;
    read_results(options.from, earlier);
    print_summary(earlier);
    write_page(options, earlier);
    return 0;
  }
  if (options.threads_only) {
    Results results(options);
    return run_threads(options, results) ? 0 : 1;
  }
  bool right = true;
  CpuRun all;
  {
    Results results(options);
    // Before this process stays on one processor: the child would inherit that.
    if (wanted(options, threads_part) && !start_threads(argv)) right = false;
    right = measure_all(options, results) && right;
    all = std::move(results.run);
  }
  if (!options.out.empty()) {
    CpuRun written;
    read_results(options.out, written);
    all.comparisons = std::move(written.comparisons);
  }
  print_summary(all);
  write_page(options, all);
  return right ? 0 : 1;
}

}  // namespace
}  // namespace isamap::bench

int main(int argc, char** argv) {
  // The peers' runtimes read these when they are loaded: one thread each, and the kernels that fit this processor best.
  const char* state = std::getenv("ISAMAP_BENCH");
  if (state == nullptr) {
    setenv("ISAMAP_BENCH", "1", 1);
    for (const char* threads : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"})
      setenv(threads, "1", 1);
    setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 1);
    isamap::bench::choose_kernels_of_peers();
    execv("/proc/self/exe", argv);
  }
  isamap::bench::Options options;
  options.threads_only = state != nullptr && std::strcmp(state, "threads") == 0;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    if (i + 1 >= argc) isamap::bench::stop(key + " wants a value");
    const char* value = argv[i + 1];
    if (key == "--family") {
      options.families.push_back(value);
    } else if (key == "--out") {
      options.out = value;
    } else if (key == "--page") {
      options.page = value;
    } else if (key == "--from") {
      options.from = value;
    } else if (key == "--seconds") {
      options.seconds = std::atof(value);
    } else if (key == "--target") {
      isamap::bench::only_target = value;
    } else if (key == "--processor") {
      options.processor = std::atoi(value);
    } else {
      isamap::bench::stop(fmt::format(
          "unknown option '{}'; there are --family --out --page --from --seconds --target --processor", key));
    }
  }
  return isamap::bench::run(options, argv);
}
