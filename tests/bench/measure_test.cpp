// SPDX-License-Identifier: Apache-2.0
// Times, ratios and what is not believed.

#include "bench/cpu/measure.h"

#include <gtest/gtest.h>

#include "bench/cpu/record.h"

namespace isamap::bench {
namespace {

/// Some work that takes about as long as `steps` says.
double work(int steps) {
  volatile double x = 1;
  for (int i = 0; i < steps; ++i) x = x * 1.000001;
  return x;
}

TEST(BenchMeasure, CandidatesTakeTurnsAndTheSlowerOneIsSlower) {
  std::vector<Candidate> candidates{{"short", [] { work(2000); }}, {"long", [] { work(8000); }}};
  measure(candidates, 0.05);
  ASSERT_EQ(candidates[0].seconds.size(), candidates[1].seconds.size());
  EXPECT_GE(candidates[0].seconds.size(), 5U);
  const double ratio = median(candidates[1].seconds) / median(candidates[0].seconds);
  EXPECT_GT(ratio, 2);
  EXPECT_LT(ratio, 8);
}

TEST(BenchMeasure, Quantiles) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(quantile({4, 3, 2, 1, 0}, 0.25), 1);
  EXPECT_EQ(quantile({4, 3, 2, 1, 0}, 0), 0);
}

TEST(BenchMeasure, WhatIsAboveThePeakIsNotBelieved) {
  EXPECT_EQ(above_peak(1e9, 1, 1e9), "");
  EXPECT_EQ(above_peak(1.02e9, 1, 1e9), "") << "clocks shake";
  EXPECT_EQ(above_peak(2e9, 1, 1e9), "2 GOP/s, above the 1 that the processor did in the same rounds");
  EXPECT_EQ(above_peak(2e9, 1, 0), "") << "no peak was measured";
}

Record record(const std::string& family, const std::string& shape, double own, double peer) {
  Record r;
  r.family = family, r.shape = shape, r.operations = 1e9, r.bytes = 1e6, r.peak = 1e11, r.bandwidth = 1e10;
  r.target = "npu", r.schedule = "nest:\n  - do s0", r.compiler = "cc 1", r.peak_of = "mma of npu, 4 sums";
  r.timings = {{"isamap", own, own * 0.9, own * 1.1, 9, ""}, {"A", peer, peer, peer, 9, ""}};
  return r;
}

TEST(BenchRecord, RatiosAreThoseToTheBestPeerThatCounts) {
  Record r = record("f", "s", 0.02, 0.03);
  r.timings.push_back({"too fast", 0.001, 0.001, 0.001, 9, "above the peak"});
  r.timings.push_back({"B", 0.025, 0.02, 0.03, 9, ""});
  EXPECT_EQ(best_peer(r)->name, "B");
  EXPECT_DOUBLE_EQ(ratio(r), 1.25);
  EXPECT_DOUBLE_EQ(peak_share(r, r.timings[0]), 0.5);
  r.bytes = 1.5e8;  // reading takes longer than computing
  EXPECT_DOUBLE_EQ(roof_share(r, r.timings[0]), 0.75);
  r.timings[0].rejected = "above the peak";
  EXPECT_EQ(ratio(r), 0) << "what is not believed is better than nobody";
  EXPECT_NE(line_text(r).find("rejected: too fast: above the peak"), std::string::npos) << line_text(r);
}

TEST(BenchRecord, ALineOfTheFileIsTheRecord) {
  Record r = record("gemm f32", "1x2x3 \"quoted\"", 0.5, 0.25);
  r.notes = {"RESULTS DIFFER"};
  r.difference = 0.5, r.compile_seconds = 0.25, r.predicted_cycles = 7;
  EXPECT_EQ(record_of(nlohmann::json::parse(to_json(r).dump())), r);
}

TEST(BenchRecord, FamiliesKeepTheirOrderAndNameTheirWorst) {
  const auto families = summarize(
      {record("z", "one", 1, 2), record("a", "two", 1, 1), record("z", "three", 1, 0.5), record("z", "alone", 1, 0)});
  ASSERT_EQ(families.size(), 2U);
  EXPECT_EQ(families[0].family, "z");
  EXPECT_EQ(families[0].shapes, 3U);
  EXPECT_EQ(families[0].compared, 2U) << "a shape without a peer has no ratio";
  EXPECT_DOUBLE_EQ(families[0].geomean, 1);
  EXPECT_EQ(families[0].worst_shape, "three");
  EXPECT_DOUBLE_EQ(families[0].worst, 0.5);
}

}  // namespace
}  // namespace isamap::bench
