// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isamap::bench {
namespace {

bool counts(const Timing& timing) { return timing.rejected.empty() && timing.seconds > 0; }

/// Of the positive ones.
double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  int count = 0;
  for (const double v : values)
    if (v > 0) sum += std::log(v), ++count;
  return count == 0 ? 0 : std::exp(sum / count);
}

}  // namespace

const Timing* best_peer(const Record& record) {
  const Timing* best = nullptr;
  for (std::size_t i = 1; i < record.timings.size(); ++i)
    if (const Timing& t = record.timings[i]; counts(t) && (best == nullptr || t.seconds < best->seconds)) best = &t;
  return best;
}

double ratio(const Record& record) {
  const Timing* peer = best_peer(record);
  if (peer == nullptr || record.timings.empty() || !counts(record.timings[0])) return 0;
  return peer->seconds / record.timings[0].seconds;
}

double peak_share(const Record& record, const Timing& timing) {
  return record.peak > 0 && timing.seconds > 0 ? record.operations / timing.seconds / record.peak : 0;
}

double roof_share(const Record& record, const Timing& timing) {
  if (record.peak <= 0 || record.bandwidth <= 0 || timing.seconds <= 0) return 0;
  return std::max(record.operations / record.peak, record.bytes / record.bandwidth) / timing.seconds;
}

nlohmann::json to_json(const Record& r) {
  nlohmann::json line{{"family", r.family},
                      {"shape", r.shape},
                      {"target", r.target},
                      {"operations", r.operations},
                      {"bytes", r.bytes},
                      {"peak_gops", 1e-9 * r.peak},
                      {"peak_of", r.peak_of},
                      {"bandwidth_GBps", 1e-9 * r.bandwidth},
                      {"ratio", ratio(r)},
                      {"difference", r.difference},
                      {"compile_seconds", r.compile_seconds},
                      {"predicted_cycles", r.predicted_cycles},
                      {"compiler", r.compiler},
                      {"schedule", r.schedule},
                      {"notes", r.notes},
                      {"candidates", nlohmann::json::array()}};
  for (const Timing& t : r.timings)
    line["candidates"].push_back({{"name", t.name},
                                  {"seconds", t.seconds},
                                  {"low", t.low},
                                  {"high", t.high},
                                  {"samples", t.samples},
                                  {"gops", t.seconds > 0 ? 1e-9 * r.operations / t.seconds : 0},
                                  {"peak_share", peak_share(r, t)},
                                  {"roof_share", roof_share(r, t)},
                                  {"rejected", t.rejected}});
  return line;
}

Record record_of(const nlohmann::json& line) {
  Record r;
  r.family = line.at("family"), r.shape = line.at("shape"), r.target = line.at("target");
  r.operations = line.at("operations"), r.bytes = line.at("bytes");
  r.peak = 1e9 * line.at("peak_gops").get<double>(), r.peak_of = line.at("peak_of");
  r.bandwidth = 1e9 * line.at("bandwidth_GBps").get<double>();
  r.difference = line.at("difference"), r.compile_seconds = line.at("compile_seconds");
  r.predicted_cycles = line.at("predicted_cycles"), r.compiler = line.at("compiler");
  r.schedule = line.at("schedule"), r.notes = line.at("notes").get<std::vector<std::string>>();
  for (const auto& t : line.at("candidates"))
    r.timings.push_back({t.at("name"), t.at("seconds"), t.at("low"), t.at("high"), t.at("samples"), t.at("rejected")});
  return r;
}

std::vector<FamilySummary> summarize(const std::vector<Record>& records) {
  std::vector<FamilySummary> families;
  for (const Record& r : records) {
    const auto same = [&](const FamilySummary& f) { return f.family == r.family; };
    auto family = std::find_if(families.begin(), families.end(), same);
    if (family == families.end()) families.push_back({r.family, 0, 0, 0, 0, "", 0, 0}), family = families.end() - 1;
    ++family->shapes;
    if (const double q = ratio(r); q > 0) {
      ++family->compared;
      if (family->worst == 0 || q < family->worst) family->worst = q, family->worst_shape = r.shape;
    }
  }
  for (FamilySummary& family : families) {
    std::vector<double> ratios, peaks, roofs;
    for (const Record& r : records) {
      if (r.family != family.family || r.timings.empty()) continue;
      ratios.push_back(ratio(r));
      peaks.push_back(peak_share(r, r.timings[0]));
      roofs.push_back(roof_share(r, r.timings[0]));
    }
    family.geomean = geometric_mean(ratios);
    family.peak_share = geometric_mean(peaks), family.roof_share = geometric_mean(roofs);
  }
  return families;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

std::string line_text(const Record& r) {
  if (r.timings.empty()) return fmt::format("{:22} {:26} not measured", r.family, r.shape);
  const Timing& own = r.timings[0];
  const auto speed = [&](const Timing& t) { return t.seconds > 0 ? 1e-9 * r.operations / t.seconds : 0; };
  const Timing* peer = best_peer(r);
  std::string text = fmt::format("{:22} {:26} {:8.1f} GOP/s {:4.0f} % of peak {:4.0f} % of roof", r.family, r.shape,
                                 speed(own), 100 * peak_share(r, own), 100 * roof_share(r, own));
  if (peer != nullptr) text += fmt::format("  {:>15} {:8.1f}  ratio {:5.2f}", peer->name, speed(*peer), ratio(r));
  for (const Timing& t : r.timings)
    if (!t.rejected.empty()) text += fmt::format("\n  rejected: {}: {}", t.name, t.rejected);
  for (const std::string& note : r.notes) text += "\n  " + note;
  return text;
}

std::string line_text(const FamilySummary& f) {
  if (f.compared == 0) return fmt::format("{:22} {:2} shapes, no peer", f.family, f.shapes);
  return fmt::format(
      "{:22} {:2} shapes, ratio to the best peer: geomean {:.2f}, worst {:.2f} ({}); {:.0f} % of peak, {:.0f} % of "
      "roof",
      f.family, f.compared, f.geomean, f.worst, f.worst_shape, 100 * f.peak_share, 100 * f.roof_share);
}

}  // namespace isamap::bench
