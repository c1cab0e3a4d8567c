// SPDX-License-Identifier: Apache-2.0
// The examples with each of their sizes symbolic, one after the other: what is decided for all sizes, and the oracle.
// The program for all sizes with its trips set equals, node by node, the one that lowering makes for these sizes.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "isamap/frontends.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "isamap/symbolic_compile.h"
#include "program/row_loops.h"
#include "tests/every.h"

namespace isamap {
namespace {

struct SymbolicExample {
  std::string name, text;
};

/// Each example once for each size of its `dims:`, which becomes `{max: 2*n + 40, likely: n}`.
std::vector<SymbolicExample> symbolic_examples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ISAMAP_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<SymbolicExample> found;
  for (const auto& file : files) {
    std::ifstream stream(file);
    std::stringstream whole;
    whole << stream.rdbuf();
    const std::string text = whole.str();
    const std::size_t begin = text.find("\ndims: {") + 8, end = text.find('}', begin);
    if (text.find("\ndims: {") == std::string::npos) continue;
    for (std::size_t at = begin; at < end;) {
      const std::size_t colon = text.find(": ", at), comma = std::min(text.find(", ", at), end);
      const std::string size = text.substr(at, colon - at), number = text.substr(colon + 2, comma - colon - 2);
      std::string one = text;
      one.replace(colon + 2, comma - colon - 2,
                  "{max: " + std::to_string(2 * std::stol(number) + 40) + ", likely: " + number + "}");
      found.push_back({file.stem().string() + " " + size, one});
      at = comma + 2;
    }
  }
  return found;
}

/// Nothing: some sizes are no kernel, with a counterexample. Unknown answers are failures.
std::optional<SymbolicKernel> decided(const SymbolicExample& example) {
  auto kernel = parse_symbolic_kernel(example.text, example.name + ".yaml", {});
  if (kernel) return std::move(*kernel);
  for (const Diagnostic& problem : kernel.diagnostics())
    EXPECT_EQ(problem.message.find("cannot decide"), std::string::npos) << example.name << ": " << problem.message;
  return std::nullopt;
}

TEST(SymbolicExamples, NoAnswerIsUnknown) {
  int all = 0, kernels = 0;
  for (const SymbolicExample& example : symbolic_examples()) {
    ++all;
    if (decided(example)) ++kernels;
  }
  RecordProperty("examples", all);
  RecordProperty("kernels", kernels);
  EXPECT_GE(all, 190);
  EXPECT_GE(kernels, all * 9 / 10) << "of " << all;
}

void drop_comments_in(std::vector<Node>& nodes) {
  std::erase_if(nodes, [](const Node& node) { return std::holds_alternative<Comment>(node.is); });
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) drop_comments_in(loop->body);
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      drop_comments_in(guard->then);
      drop_comments_in(guard->otherwise);
    }
  }
}

void set_trips_in(std::vector<Node>& nodes, const Block& block, const std::vector<std::int64_t>& counts) {
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (const auto found = block.loops.find(loop->variable); found != block.loops.end())
        loop->trip = counts[static_cast<std::size_t>(found->second.axis)] / found->second.step;
      set_trips_in(loop->body, block, counts);
    }
}

/// How many programs of sizes were compared.
class ExampleOracle {
 public:
  explicit ExampleOracle(const HardwareModel& model) : model_(model) {
    options_.schedule.max_evaluations = 20;
    options_.most_versions = 1;
  }
  int compared = 0;

  void ask(const SymbolicExample& example) {
    const auto kernel = decided(example);
    if (!kernel) return;
    const SymbolicCompilation compiled = compile_symbolic(*kernel, model_, options_);
    if (!compiled.program) return;  // and the reason names the size to bind, which other tests check
    name_ = example.name;
    if (const auto rows = rows_of(*kernel); rows && compiled.program->grids.empty()) ask_rows(*kernel, *rows, compiled);
    for (const Grid& grid : compiled.program->grids) ask_grid(grid);
  }

 private:
  void expect_equal(Program with, Result<Program> without) {
    ASSERT_TRUE(without) << name_ << render(without.diagnostics());
    drop_comments_in(with.body);
    drop_comments_in(without->body);
    EXPECT_TRUE(with.body == without->body) << name_;
    ++compared;
  }
  void ask_rows(const SymbolicKernel& kernel, const Rows& rows, const SymbolicCompilation& compiled) {
    for (std::size_t v = 0; v < compiled.schedules.size(); ++v)
      for (const RowPart& part : compiled.program->versions[v].parts)
        for (const std::int64_t tiles : {3, 7})
          if (!part.loops.empty())
            expect_equal(with_trips(part.program, part.loops, tiles * part.rows),
                         lower(compiled.schedules[v], constants_kept(kernel, rows, tiles * part.rows, part), model_));
  }
  /// Versions that pack nothing ahead of time were lowered so.
  static Kernel constants_kept(const SymbolicKernel& kernel, const Rows& rows, std::int64_t count,
                               const RowPart& part) {
    Kernel block = with_rows(kernel, rows, count);
    for (std::size_t t = 0; t < block.tensors.size(); ++t)
      block.tensors[t].constant = part.program.kernel.tensors[t].constant;
    return block;
  }
  void ask_grid(const Grid& grid) {
    for (const std::int64_t steps : {4, 7}) {
      std::vector<std::int64_t> counts;
      for (const GridAxis& axis : grid.shape.axes) counts.push_back(steps * axis.runs[0].tile);
      if (std::find(counts.begin(), counts.end(), 0) != counts.end() || grid.blocks[0].program.buffers.empty()) return;
      Program with = grid.blocks[0].program;
      set_trips_in(with.body, grid.blocks[0], counts);
      expect_equal(std::move(with), lower(grid.blocks[0].schedule, block_kernel(grid.shape, counts, false), model_));
    }
  }

  const HardwareModel& model_;
  CompileOptions options_;
  std::string name_;
};

void ask_examples(int every) {
  const HardwareModel model = load_hardware("x86_avx2", {ISAMAP_SOURCE_DIR "/hardware_models"})->model;
  ExampleOracle oracle(model);
  Every share(every);
  int asked = 0;
  for (const SymbolicExample& example : symbolic_examples()) {
    if (share.skips()) continue;
    ++asked;
    oracle.ask(example);
  }
  EXPECT_GE(oracle.compared, asked / 2) << "of " << asked << " examples";
}

TEST(SymbolicExamples, TheProgramWithTripsIsThatOfTheSizes) { ask_examples(29); }
TEST(HeavySymbolicExamples, TheProgramWithTripsIsThatOfTheSizes) { ask_examples(1); }

}  // namespace
}  // namespace isamap
