// SPDX-License-Identifier: Apache-2.0
// isamap targets: lists the models and how their programs run on this machine.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "hwdesc/model/summary.h"
#include "mapper/advice/price.h"

namespace isamap::cli {
namespace {

/// Peak operations per cycle of one instance on operands of this type.
double peak(const HardwareModel& model, const std::string& dtype) {
  double best = 0;
  for (const Instruction& instruction : model.instructions()) {
    if (!is_compute(instruction)) continue;
    bool fits = true;
    for (int a = 0; a < access_count(instruction.statement()); ++a)
      fits = fits && name(instruction.tensors[access_of(instruction.statement(), a).tensor.index()].dtype) == dtype;
    if (fits) best = std::max(best, points_per_cycle(instruction));
  }
  return best;
}

/// Is one description more specific than the other? It requires more features, and its memories differ.
bool is_closer(const HardwareModel& one, const HardwareModel& other) {
  const auto& all = one.needed.cpu;
  for (const std::string& feature : other.needed.cpu)
    if (std::find(all.begin(), all.end(), feature) == all.end()) return false;
  const auto sizes = [](const HardwareModel& model) {
    std::vector<std::int64_t> found;
    for (const Memory& m : model.memories()) found.push_back(m.capacity);
    return found;
  };
  return all.size() > other.needed.cpu.size() && sizes(one) != sizes(other);
}

constexpr std::size_t column_most = 40;  // characters of a line of the table

/// Truncates to the width.
std::string families_text(const std::vector<std::string>& families) {
  std::string text;
  for (const std::string& family : families) {
    if (text.size() + family.size() > column_most) return text + (text.empty() ? "" : " ") + "..";
    text += (text.empty() ? "" : " ") + family;
  }
  return text;
}

/// Truncates to whole words.
std::string shortened(const std::string& text) {
  if (text.size() <= column_most) return text;
  return text.substr(0, std::min(text.rfind(' ', column_most - 3), column_most - 3)) + " ..";
}

Exit print_best(const Options& options, const std::string& dtype) {
  std::string best;
  std::optional<HardwareModel> best_model;
  double best_peak = 0;
  for (const auto& [model_name, path] : known_models()) {
    const auto loaded = load_hardware(path, model_folders(), {});
    if (!loaded || availability(loaded->model).how != ExecutionMode::native) continue;
    const double found = peak(loaded->model, dtype);
    if (found > best_peak || (found == best_peak && best_model && is_closer(loaded->model, *best_model)))
      best = model_name, best_model = loaded->model, best_peak = found;
  }
  if (best.empty()) {
    const Diagnostics none{error(fmt::format("no model with {} arithmetic runs natively here", dtype))};
    fail(Exit::missing, none);
    return options.json ? deliver(options, json_of_failure(Exit::missing, none), Exit::missing) : Exit::missing;
  }
  return deliver(options, options.json ? json_of_texts({{"best", best}}) : best + "\n");
}

Exit verb_targets(const Options& options, const std::string& best_dtype) {
  if (!best_dtype.empty() && !parse_dtype(best_dtype))
    return fail(Exit::usage, fmt::format("--best: '{}' is no dtype", best_dtype), "for instance f32, f64, bf16, s8");
  if (known_models().empty()) {
    std::string searched;
    for (const std::string& folder : model_folders()) searched += (searched.empty() ? "" : ", ") + folder;
    fail(Exit::wrong_input, "there are no models",
         searched.empty() ? "name a folder of hardware files: ISAMAP_MODELS=FOLDER" : "searched: " + searched);
    return deliver(options, options.json ? json_of_targets({}) : "", Exit::wrong_input);
  }
  if (!best_dtype.empty()) return print_best(options, best_dtype);
  std::vector<TargetRow> rows;
  Exit code = Exit::ok;
  for (const auto& [model_name, path] : known_models()) {
    const auto loaded = load_hardware(path, model_folders(), {});
    if (!loaded) {
      code = fail(Exit::wrong_input, loaded.diagnostics());
      continue;
    }
    rows.push_back({model_name, path, loaded->model.program.language, availability(loaded->model),
                    instruction_families(loaded->model), lines_of_yaml(path), verified_against(loaded->model),
                    loaded->model.verified});
  }
  if (options.json) return deliver(options, json_of_targets(rows), code);
  std::vector<std::vector<std::string>> cells{{"target", "families", "lines", "language", "here", "verified", "why"}};
  for (const TargetRow& row : rows)
    cells.push_back({row.name, families_text(row.families), std::to_string(row.lines), row.language,
                     std::string(name(row.availability.how)), shortened(row.verified_against), row.availability.why});
  return deliver(options, table(cells), code);
}

}  // namespace

std::vector<VerbRow> verbs_targets() {
  const auto best = std::make_shared<std::string>();
  return {{200, "targets", "list models and how they run on this machine",
           [=](Flags& flags) {
             flags.text("--best", *best, "only the native model with the most arithmetic of this type");
           },
           [=](const Options& options) { return verb_targets(options, *best); }}};
}

}  // namespace isamap::cli
