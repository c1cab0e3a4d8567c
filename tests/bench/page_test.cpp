// SPDX-License-Identifier: Apache-2.0
// The page of a run: where points stand, and that names do no harm.

#include "bench/cpu/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace isamap::bench {
namespace {

CpuRun run() {
  CpuRun made;
  made.machine = {"processor & co",
                  "cc 1",
                  {"lib 1", "no other"},
                  {{"L1, 16 KiB", 16384, 1e11}, {"L3, 1 MiB", 1 << 20, 1e10}},
                  1,
                  0.5};
  Record r;
  r.family = "products <f32>", r.shape = "8x8x8", r.target = "npu", r.schedule = "for i < 8";
  r.operations = 1e9, r.bytes = 1e8, r.peak = 1e11, r.bandwidth = 1e10;
  r.timings = {{"isamap", 0.02, 0.019, 0.021, 9, ""},
               {"lib", 0.04, 0.04, 0.04, 9, ""},
               {"odd", 1e-9, 0, 0, 9, "above the peak"}};
  made.records = {r};
  made.comparisons = {{choice_part, "8x8x8", 0.02, 0.019, "best of 8", true, "for a < b", "for b"}};
  return made;
}

/// Everything that a pattern's first group holds.
std::vector<std::string> all(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), wanted); it != std::sregex_iterator(); ++it)
    found.push_back((*it)[1]);
  return found;
}

TEST(BenchPage, PointsStandWhereTheirNumbersSay) {
  const std::string page = page_of(run());
  // 10 operations a byte; 50 and 25 GOP/s under a peak of 100: the axes go from 1 to 100 and from 10 to 1000.
  const auto x = all(page, "<circle cx=\"([0-9.]+)\""), y = all(page, "<circle [^>]*cy=\"([0-9.]+)\"");
  ASSERT_EQ(x.size(), 2U) << "ours and the best peer";
  EXPECT_EQ(x[0], x[1]);
  const double left = 52, right = 412, top = 8, bottom = 222;  // of the figure (report/plot.cpp)
  const auto height = [&](double gops) { return bottom - (std::log10(gops) - 1) / 2 * (bottom - top); };
  EXPECT_NEAR(std::stod(x[0]), (left + right) / 2, 0.06);
  EXPECT_NEAR(std::stod(y[0]), height(25), 0.06) << "the peer is drawn first";
  EXPECT_NEAR(std::stod(y[1]), height(50), 0.06);
  // The roof of a level bends where its rate times the operations a byte is the peak: at 10 for L3.
  const auto lines = all(page, "<polyline points=\"([^\"]+)\"");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find(fmt::format("{:.1f},{:.1f} ", (left + right) / 2, height(100))), std::string::npos)
      << lines[1];
}

TEST(BenchPage, NamesAreTextAndTheRejectedIsSaid) {
  const std::string page = page_of(run());
  EXPECT_EQ(page.find("<f32>"), std::string::npos);
  EXPECT_NE(page.find("products &lt;f32&gt;"), std::string::npos);
  EXPECT_NE(page.find("for i &lt; 8"), std::string::npos);
  EXPECT_NE(page.find("processor &amp; co"), std::string::npos);
  EXPECT_NE(page.find("rejected: above the peak"), std::string::npos);
  EXPECT_NE(page.find("choice of the model"), std::string::npos);
  EXPECT_NE(page.find("for a &lt; b"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "it needs nothing else";
}

TEST(BenchPage, ARunReadBackIsTheSamePage) {
  const CpuRun written = run();
  CpuRun read;
  read.machine = machine_of(nlohmann::json::parse(to_json(written.machine).dump()));
  for (const Record& r : written.records) read.records.push_back(record_of(to_json(r)));
  for (const Comparison& c : written.comparisons) read.comparisons.push_back(comparison_of(to_json(c)));
  EXPECT_EQ(page_of(read), page_of(written));
}

TEST(BenchPage, NothingMeasuredIsAPageToo) {
  EXPECT_NE(page_of({}).find("</html>"), std::string::npos);
  CpuRun lone = run();
  lone.records[0].timings.clear();
  EXPECT_NE(page_of(lone).find("not measured"), std::string::npos);
}

}  // namespace
}  // namespace isamap::bench
