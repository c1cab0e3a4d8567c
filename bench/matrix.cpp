// SPDX-License-Identifier: Apache-2.0
#include "bench/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <vector>

#include "isamap/frontends.h"
#include "isamap/hardware.h"

namespace isamap::bench {
namespace {

namespace fs = std::filesystem;

struct Row {
  double seconds = 0;
  std::string pair, result;
};

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

double best_of_three(const std::function<void()>& work) {
  double best = 1e9;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

int time_matrix(const std::string& what, double limit,
                const std::function<std::string(const Kernel&, const HardwareModel&)>& work) {
  std::vector<Row> rows;
  for (const std::string& model_file : files_of(ISAMAP_SOURCE_DIR "/hardware_models")) {
    const auto model = load_hardware(model_file, {ISAMAP_SOURCE_DIR "/hardware_models"});
    for (const std::string& example : files_of(ISAMAP_SOURCE_DIR "/examples")) {
      const auto kernel = load_kernel(example);
      if (!model || !kernel) continue;  // checked by the tests
      Row row;
      row.pair = fs::path(example).stem().string() + " on " + model->model.name;
      row.seconds = best_of_three([&] { row.result = work(*kernel, model->model); });
      rows.push_back(row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  const auto above = std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.seconds > limit; });
  fmt::print("{}: {} pairs, {} above {} ms\n", what, rows.size(), above, limit * 1e3);
  for (std::size_t r = 0; r < std::min<std::size_t>(10, rows.size()); ++r)
    fmt::print("{:9.2f} ms  {:<40} {}\n", rows[r].seconds * 1e3, rows[r].pair, rows[r].result);
  return above == 0 && !rows.empty() ? 0 : 1;
}

}  // namespace isamap::bench
