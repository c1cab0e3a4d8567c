// SPDX-License-Identifier: Apache-2.0
// isamap extract: the matrix multiplications of a model (or kernel), with instruction and cost of each.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command_line.h"
#include "cli/compile_verb.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/models.h"
#include "frontends/layers.h"
#include "mapper/mapping_names.h"
#include "report/extract_report.h"

namespace isamap::cli {
namespace {

struct Source {
  LayerList model;
  std::optional<Kernel> kernel;  ///< of a kernel file
};

std::optional<Source> load_source(const Options& options, Exit& code) {
  if (options.compute.empty() && is_onnx(options.kernel_file)) {
    code = Exit::usage;
    if (!formula_options_fit(options)) return std::nullopt;
    const auto model = load_model(options, code);
    if (!model) return std::nullopt;
    return Source{layers_of(*model), std::nullopt};
  }
  auto kernel = load_kernel_of(options, code);
  if (!kernel) return std::nullopt;
  LayerList model = as_model(*kernel);
  return Source{std::move(model), std::move(kernel)};
}

std::string outer_text(const MatmulShape& shape) {
  std::string text;
  for (const auto& [dim, extent] : shape.outer) text += fmt::format("{}{}={}", text.empty() ? "" : " ", dim, extent);
  return text;
}

std::string tiles_text(const LayerResult& layer) {
  std::string text;
  for (const auto& [dim, tiles] : layer.tiles)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", dim, fmt::join(tiles, "/"));
  return text;
}

std::vector<std::string> row_of(const LayerResult& layer) {
  const auto number = [&](std::int64_t MatmulShape::*field) {
    return layer.matmul ? std::to_string((*layer.matmul).*field) : std::string("-");
  };
  std::vector<std::string> row{layer.name,
                               layer.op,
                               number(&MatmulShape::m),
                               number(&MatmulShape::n),
                               number(&MatmulShape::k),
                               layer.matmul ? outer_text(*layer.matmul) : "",
                               layer.instruction.empty() ? "scalar code" : layer.instruction,
                               std::to_string(layer.mappings),
                               tiles_text(layer),
                               short_number(layer.cost.cycles),
                               short_number(layer.cost.bytes)};
  if (layer.checked && why_not_run(*layer.checked).empty()) {
    row.push_back(std::string(name(layer.checked->executed)));
    row.push_back(layer.checked->correct ? "yes" : "NO");
    row.push_back(layer.checked->seconds > 0 ? fmt::format("{:.3g}", layer.checked->seconds) : "-");
    row.push_back(layer.checked->seconds > 0 ? fmt::format("{:.3g}", layer.checked->gflops) : "-");
  }
  return row;
}

bool was_scheduled(const LayerResult& layer) { return layer.mapped && !layer.schedule.nests.empty(); }

/// Layers grouped by reason: "clip_0 and 26 more (clip): element-wise: no reduction to map".
std::string reasons_of(const std::vector<LayerResult>& layers) {
  struct Group {
    const LayerResult* first;
    int count;
  };
  std::vector<Group> groups;
  for (const LayerResult& layer : layers) {
    if (layer.reasons.empty()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.first->op == layer.op && group.first->reasons == layer.reasons;
    });
    if (same == groups.end())
      groups.push_back({&layer, 1});
    else
      ++same->count;
  }
  std::string text;
  for (const auto& [layer, count] : groups) {
    const std::string more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    text += fmt::format("  {}{} ({}): {}\n", layer->name, more, layer->op, layer->reasons.front());
    if (layer->reasons.size() > 1)
      text += fmt::format("    and {} more reasons (--json, or isamap explain)\n", layer->reasons.size() - 1);
  }
  return text.empty() ? "" : "not mapped, not scheduled or not run:\n" + text;
}

std::string table_of(const std::vector<LayerResult>& layers) {
  std::vector<std::vector<std::string>> rows{
      {"layer", "op", "m", "n", "k", "outer", "instruction", "maps", "tiles", "cycles", "bytes"}};
  if (std::any_of(layers.begin(), layers.end(), [](const LayerResult& layer) { return layer.checked.has_value(); }))
    rows[0].insert(rows[0].end(), {"executed", "correct", "seconds", "GFLOP/s"});
  std::vector<std::string> same;
  for (const LayerResult& layer : layers) {
    if (!was_scheduled(layer)) continue;
    rows.push_back(row_of(layer));
    if (!layer.same_as.empty()) same.push_back(layer.name + " = " + layer.same_as);
  }
  std::string text = rows.size() > 1 ? table(rows) : "";
  if (!same.empty()) text += fmt::format("compiled and checked once, results reused: {}\n", fmt::join(same, ", "));
  return text + reasons_of(layers);
}

std::string factorings_of(const Extraction& extraction) {
  if (extraction.factorings.empty()) return "";
  std::string text = fmt::format("\n{} ways to split the product into two statements, cheapest first:\n",
                                 extraction.factorings.size());
  for (const FactoringResult& factoring : extraction.factorings) {
    text += fmt::format("\n{}: {} cycles, {} multiplications, {} bytes moved", factoring.description,
                        short_number(factoring.cycles), short_number(factoring.multiplications),
                        short_number(factoring.bytes));
    if (factoring.checked && why_not_run(*factoring.checked).empty())
      text += fmt::format("; executed {}, {}, {}", name(factoring.checked->executed),
                          factoring.checked->correct ? "correct" : "WRONG",
                          factoring.checked->seconds > 0 ? fmt::format("{:.3g} s", factoring.checked->seconds)
                                                         : fmt::format("{} cycles", factoring.checked->cycles));
    if (factoring.equals_original)
      text +=
          *factoring.equals_original ? "; same result as the one statement" : "; NOT the result of the one statement";
    text += "\n" + table_of(factoring.layers);
  }
  return text + "\n" + extraction.verdict + "\n";
}

std::string summary_of(const Extraction& extraction) {
  std::size_t mapped = 0, multiplications = 0, correct = 0, run = 0;
  double cycles = 0, seconds = 0;
  // A statement that does not map whole, or costs more so, counts as the two of the chosen factoring.
  const FactoringResult* split = extraction.factorings.empty() ? nullptr : &extraction.factorings.front();
  const bool as_one = std::any_of(extraction.layers.begin(), extraction.layers.end(), [&](const LayerResult& l) {
    return l.mapped && (split == nullptr || !split->mapped || l.cost.cycles <= split->cycles);
  });
  if (as_one) split = nullptr;
  const std::vector<LayerResult>& layers = split ? split->layers : extraction.layers;
  if (split && split->checked && why_not_run(*split->checked).empty()) {
    run = 1;
    correct = split->checked->correct ? 1 : 0;
    seconds = split->checked->seconds;
  }
  for (const LayerResult& layer : layers) {
    mapped += layer.mapped ? 1 : 0;
    multiplications += layer.mapped && layer.matmul ? 1 : 0;
    cycles += layer.cost.cycles;
    if (!layer.checked || !why_not_run(*layer.checked).empty()) continue;
    run += 1;
    correct += layer.checked->correct ? 1 : 0;
    seconds += layer.checked->seconds;
  }
  std::string text = fmt::format("{} layers, {} mapped, {} of them matrix multiplications; {} cycles predicted",
                                 layers.size(), mapped, multiplications, short_number(cycles));
  if (split) text += fmt::format("; as '{}'", split->description);
  if (run > 0) text += fmt::format("; {} of {} executed layers correct", correct, run);
  if (seconds > 0) text += fmt::format(", {:.4g} s in all", seconds);
  return text + "\n";
}

/// Remarks that differ only in a quoted name are merged.
std::string without_names(const std::string& note) {
  std::string text;
  bool quoted = false;
  for (const char c : note) {
    if (c == '\'') quoted = !quoted;
    if (!quoted) text += c;
  }
  return text;
}

/// Omissions of kernels, each remark once.
std::string notes_of(const Extraction& extraction) {
  std::string text;
  for (const std::string& note : extraction.notes) text += "note: " + note + "\n";
  struct Seen {
    std::string first;
    int count = 0;
  };
  std::map<std::string, Seen> seen;
  for (const LayerResult& layer : extraction.layers)
    for (const std::string& note : layer.notes) {
      Seen& same = seen[without_names(note)];
      if (same.count++ == 0) same.first = layer.name + ": " + note;
    }
  for (const auto& [kind, same] : seen)
    text += fmt::format("note: {}{}\n", same.first,
                        same.count > 1 ? fmt::format("; {} more layers like it", same.count - 1) : "");
  return text;
}

std::string text_of(const Extraction& extraction) {
  return fmt::format("{} on {}\n", extraction.model, extraction.target) + notes_of(extraction) +
         table_of(extraction.layers) + factorings_of(extraction) + summary_of(extraction);
}

Exit verb_extract(const Options& options, bool run) {
  Exit code = Exit::ok;
  if (!is_onnx(options.kernel_file) && !kernel_options(options, code)) return code;
  const auto source = load_source(options, code);
  if (!source) return code;
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  const auto& layers = source->model.layers;
  const auto first = std::find_if(layers.begin(), layers.end(), [](const Layer& l) { return l.kernel.has_value(); });
  if (first != layers.end() && !strategy_accepts(options, *first->kernel, *model)) return Exit::usage;
  ExtractOptions with;
  with.compile.map = options.map;
  with.compile.strict_float = options.strict_float;
  with.compile.schedule = schedule_options(options, *model);
  with.run = run;
  with.seed = options.seed;
  Progress progress;
  with.progress = [&](const std::string& text) { progress(text); };
  with.tell = tell;
  answer_interrupts();
  with.compile.schedule.progress = [](std::int64_t, double) { return continue_with_result(); };
  with.stopped = interrupted;
  Extraction extraction = extract(source->model, *model, with);
  if (interrupted()) tell("interrupted: the rest is left out");
  if (source->kernel && !interrupted()) compare_factorings(*source->kernel, *model, with, extraction);
  if (extraction.code == Exit::missing) fail(Exit::missing, "not run: " + availability(*model).why);
  if (!options.report.empty())
    if (const auto written = write_file(options.report, html_report(extraction, *model)); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  return deliver(options, options.json ? json_of_extract(extraction, *model) : text_of(extraction), extraction.code);
}

}  // namespace

std::vector<VerbRow> verbs_extract() {
  const auto run = std::make_shared<bool>(false);
  return {{240, "extract", "matrix multiplications of a model, layer by layer",
           [=](Flags& flags) {
             flags.kernel("kernel file (YAML) or model (.onnx)");
             flags.target();
             flags.mapping();
             flags.search();
             flags.strict_float();
             flags.model();
             flags.on("--run", *run, "execute every layer and compare with the interpreter");
             flags.text("--report", flags.options.report, "also write an HTML report to FILE");
           },
           [=](const Options& options) { return verb_extract(options, *run); }}};
}

}  // namespace isamap::cli
