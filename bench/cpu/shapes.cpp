// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/shapes.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "backends/cpp/compile/compiler.h"
#include "bench/cpu/arrays.h"
#include "bench/cpu/measure.h"
#include "bench/cpu/ours.h"

namespace isamap::bench {
namespace {

/// Highest rate of the samples, work per second.
double best_rate(const Candidate& probe, double work) {
  const double least = quantile(probe.seconds, 0);
  return least > 0 ? work / least : 0;
}

}  // namespace

Record run_shape(const CpuCase& c, Calibration& calibration, double seconds) {
  Record record;
  record.family = c.family, record.shape = c.name;
  record.operations = needed_operations(c);
  auto mine = ours(c);
  if (!mine) {
    record.notes.push_back("no model of hardware_models runs here");
    return record;
  }
  record.target = mine->target, record.schedule = mine->schedule;
  record.compile_seconds = mine->compile_seconds, record.predicted_cycles = mine->predicted_cycles;
  record.compiler = compiler_version(mine->compiler);
  CaseData data(c);
  record.bytes = data.bytes();
  const auto views = data.views(data.more());
  std::vector<Candidate> candidates{{"isamap", [&] {
                                       if (const auto problem = mine->loaded.call(views)) stop(render({*problem}));
                                     }}};
  std::vector<const void*> written;
  for (Peer& peer : peers(c, [&] { return data.pointers(data.more()); })) {
    candidates.push_back({peer.name, peer.run});
    written.push_back(peer.output);
  }
  const std::size_t count = candidates.size();
  PeakProgram* const compute = calibration.compute(c.types);
  PeakProgram* const stream = calibration.stream(record.bytes);
  if (compute != nullptr) candidates.push_back({"peak", [&] { compute->run(); }});
  if (stream != nullptr) candidates.push_back({"stream", [&] { stream->run(); }});
  measure(candidates, seconds);
  std::size_t probe = count;
  if (compute != nullptr)
    record.peak_of = compute->name(), record.peak = best_rate(candidates[probe++], compute->operations());
  if (stream != nullptr) record.bandwidth = stream->bytes() / median(candidates[probe].seconds);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& s = candidates[i].seconds;
    record.timings.push_back({candidates[i].name, median(s), quantile(s, 0.25), quantile(s, 0.75),
                              static_cast<int>(s.size()), above_peak(record.operations, median(s), record.peak)});
  }
  record.difference = data.worst_difference(written);
  if (record.difference > tolerance(c))
    record.notes.push_back(fmt::format("RESULTS DIFFER by {:.1e}", record.difference));
  return record;
}

bool is_right(const Record& record, const CpuCase& what) {
  return record.difference <= tolerance(what) && (record.timings.empty() || record.timings[0].rejected.empty());
}

std::string compiler_version(std::string command) {
  static std::map<std::string, std::string> known;
  if (command.empty()) command = system_compiler().front();
  std::string& said = known[command];
  if (!said.empty()) return said;
  if (std::FILE* pipe = popen((command + " --version 2>&1").c_str(), "r")) {
    for (int c = std::fgetc(pipe); c != EOF && c != '\n'; c = std::fgetc(pipe)) said += static_cast<char>(c);
    pclose(pipe);
  }
  return said;
}

}  // namespace isamap::bench
