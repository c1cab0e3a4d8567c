// SPDX-License-Identifier: Apache-2.0
#include "cli/model_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/cpp/model/sized_model.h"
#include "cli/json.h"
#include "cli/model_files.h"
#include "cli/sizes.h"
#include "driver/fit_model.h"
#include "driver/symbolic/symbolic_model_run.h"
#include "frontends/layers.h"
#include "frontends/lifted_sizes.h"
#include "frontends/size_facts.h"
#include "frontends/size_ranges.h"
#include "hwdesc/model/program_language.h"
#include "ir/symbolic/refusal.h"
#include "planner/plan_file.h"
#include "support/stopwatch.h"
#include "support/table.h"

namespace isamap::cli {
namespace {

using Document = nlohmann::ordered_json;

/// A model that was compiled for all sizes. Without `compiled`: why not.
struct SizedModel {
  std::optional<HardwareModel> machine;
  std::optional<SampledModel> sampled;
  std::optional<CompiledSymbolicModelParts> compiled;
  double importing = 0, planning = 0;
  Diagnostics why_not;
};

/// What an import needs: the fixed sizes, these, and those that are tied to them.
Bindings all_sizes(const ModelSizes& sizes, const Bindings& some) {
  Bindings all = sizes.fixed;
  for (const auto& [name, value] : some) all[name] = value;
  for (const auto& [name, other] : sizes.tied) all[name] = all.at(other);
  return all;
}

/// False: the problem is reported and `code` set.
bool build(const Options& given, const ModelSizes& sizes, SizedModel& made, Exit& code) {
  code = Exit::wrong_input;
  Options options = given;
  if (!set_threads(options, code)) return false;
  made.machine = load_target(options);
  if (!made.machine) return false;
  code = Exit::ok;
  const auto not_possible = [&](const Diagnostics& why) {
    made.why_not = why;
    return true;
  };
  if (sizes.facts.sizes.empty()) return not_possible({error("no size is symbolic")});
  if (!is_host_code(*made.machine))
    return not_possible({error(refused_for_all_sizes("those of '" + made.machine->name + "' are no C++"))});
  Stopwatch watch;
  Options sample = options;
  sample.onnx.of_all_sizes = true;
  auto sampled =
      sample_model(sizes.facts, [&](const Bindings& symbols, const ValuesOfSizes& of_sizes) -> Result<Model> {
        sample.onnx.of_sizes = of_sizes;
        auto model = model_at(sample, all_sizes(sizes, symbols), &*made.machine);
        if (!model) return model;
        return fitted_to(std::move(*model), *made.machine, {options.strict_float, {}, true});
      });
  if (!sampled) return not_possible(sampled.diagnostics());
  made.sampled = std::move(*sampled);
  made.importing = watch.seconds();
  watch = Stopwatch();
  Progress progress;
  PartStoreOptions with = part_options(options, *made.machine);
  with.progress = [&](const std::string& text) { progress(text); };
  PartStore draft(*made.machine, draft_options(with));
  auto plan = plan_of(options, made.sampled->models[0], draft);
  if (!plan) {
    code = fail(Exit::wrong_input, plan.diagnostics());
    return false;
  }
  made.planning = watch.seconds();
  auto compiled = compile_symbolic_model(*made.sampled, *plan, *made.machine, {with.compile, with.jobs, with.progress});
  if (!compiled) return not_possible(compiled.diagnostics());
  made.compiled = std::move(*compiled);
  if (has_plan(options))
    for (const RefusedBand& band : made.compiled->plan.bands_refused)
      fmt::print(stderr, "note: no bands from '{}' to '{}': {}\n", band.first, band.last, band.reason);
  return true;
}

std::string code_of(const SymbolicPartProgram& part) {
  if (part.fixed) return "fixed";
  return !part.rows ? "loops" : part.rows->grids.empty() ? "rows" : "grids";
}

Document json_of_parts(const CompiledSymbolicModelParts& compiled) {
  Document list = Document::array();
  for (const SymbolicModelPart& part : compiled.parts) {
    const SymbolicPartProgram& code = compiled.program.programs[part.program];
    Document one = {{"name", part.name},
                    {"nodes", part.nodes},
                    {"statements", part.statements.size()},
                    {"program", part.program},
                    {"code", code_of(code)}};
    for (const SymbolicBands& bands : compiled.program.bands)
      if (list.size() >= bands.first && list.size() < bands.first + bands.count) one["band_rows"] = bands.by;
    if (!code.why_loops.empty()) one["loops_because"] = code.why_loops;
    if (part.loop) one["steps"] = print(part.loop->steps);
    list.push_back(std::move(one));
  }
  return list;
}

/// A group of bands is one.
std::size_t part_count(const CompiledSymbolicModelParts& compiled) {
  std::size_t count = compiled.parts.size();
  for (const SymbolicBands& bands : compiled.program.bands) count -= bands.count - 1;
  return count;
}

std::size_t parts_with(const CompiledSymbolicModelParts& compiled, const std::string& code) {
  return static_cast<std::size_t>(std::count_if(
      compiled.parts.begin(), compiled.parts.end(),
      [&](const SymbolicModelPart& part) { return code_of(compiled.program.programs[part.program]) == code; }));
}

Document fields_of_run(const ModelRun& run, const CompiledSymbolicModelParts& compiled, double importing) {
  return {{"executed", name(run.executed)},
          {"correct", run.code == Exit::ok},
          {"max_error", run.max_error},
          {"seconds", run.seconds},
          {"parts", part_count(compiled)},
          {"arena_bytes", run.arena_bytes},
          {"weights_bytes", run.weights_bytes},
          {"seconds_of", {{"import", importing}, {"compile", run.seconds_compiling}, {"run", run.seconds_running}}}};
}

struct SizedAnswer {
  Bindings sizes;
  int version = 1;
  Exit code = Exit::ok;
  Document fields;
  std::vector<std::string> cells;  ///< executed, correct, error, seconds, arena
};

SizedAnswer failed(SizedAnswer answer, Exit code, const Diagnostics& problems) {
  answer.code = fail(code, problems);
  Document reasons = Document::array();
  for (const Diagnostic& problem : problems) reasons.push_back(problem.message);
  answer.fields = {{"exit", static_cast<int>(code)}, {"correct", false}, {"reasons", reasons}};
  answer.cells = {"-", "no", "", "", ""};
  return answer;
}

SizedAnswer run_at(const Options& options, const ModelSizes& asked, const Bindings& sizes, const SizedModel& model,
                   SymbolicModelRunner& runner) {
  SizedAnswer answer{sizes, 1, Exit::ok, {}, {}};
  Options one = options;
  one.onnx.sizes = sizes_text(all_sizes(asked, sizes));
  one.onnx.of_all_sizes = true;
  one.onnx.of_sizes = model.sampled->of_sizes;
  const Stopwatch watch;
  auto prepared = prepare(one, answer.code, &*model.machine, [&](const Model& imported) {
    return fitted_to(imported, *model.machine, {options.strict_float, {}, true});
  });
  if (!prepared) {
    answer.fields = {{"exit", static_cast<int>(answer.code)}, {"correct", false}};
    answer.cells = {"-", "no", "", "", ""};
    return answer;
  }
  answer.code = Exit::ok;
  const double importing = watch.seconds();
  Bindings symbols;
  for (const SymbolicSize& size : model.sampled->facts.sizes) symbols[size.name] = sizes.at(size.name);
  const ModelRun run =
      run_symbolic_model(*model.compiled, runner, *model.sampled, {symbols, prepared->model, std::move(prepared->data)},
                         {.min_seconds = 0.2, .jobs = options.schedule.jobs});
  if (run.code != Exit::ok) return failed(std::move(answer), run.code, run.problems);
  if (const auto saved = save_outputs(prepared->model, run.data, options); !saved)
    return failed(std::move(answer), Exit::wrong_input, saved.diagnostics());
  const Compared compared = compare_with_files(prepared->model, run.data, prepared->files);
  if (!compared.correct)
    return failed(std::move(answer), Exit::wrong_result, {error("outputs " + verdict_of(compared))});
  answer.fields = fields_of_run(run, *model.compiled, importing);
  if (!options.onnx.inputs.empty()) answer.fields["compared"] = compared.outputs;
  answer.cells = {std::string(name(run.executed)), "yes", fmt::format("{:.3g}", run.max_error),
                  fmt::format("{:.4g}", run.seconds), std::to_string(run.arena_bytes)};
  return answer;
}

/// The model compiled for this size only.
SizedAnswer compile_and_run_at(const Options& options, const ModelSizes& asked, const Bindings& sizes, int version) {
  SizedAnswer answer{sizes, version, Exit::ok, {}, {}};
  Options one = options;
  one.onnx.sizes = sizes_text(all_sizes(asked, sizes));
  one.json = false;  // failures are rows here
  auto ran = run_model_once(one, answer.code);
  if (!ran) {
    answer.fields = {{"exit", static_cast<int>(answer.code)}, {"correct", false}};
    answer.cells = {"-", "no", "", "", ""};
    return answer;
  }
  answer.fields = std::move(ran->json);
  for (const char* key : {"schema_version", "model", "target", "versions", "recompiles"}) answer.fields.erase(key);
  answer.cells = {answer.fields.value("executed", ""), answer.fields.value("correct", false) ? "yes" : "NO",
                  fmt::format("{:.3g}", answer.fields.value("max_error", 0.0)),
                  fmt::format("{:.4g}", answer.fields.value("seconds", 0.0)),
                  std::to_string(answer.fields.value("arena_bytes", std::int64_t{0}))};
  return answer;
}

Exit worst_code(const std::vector<SizedAnswer>& answers) {
  Exit worst = Exit::ok;
  for (const SizedAnswer& one : answers) {
    const bool worse =
        worst == Exit::ok || one.code == Exit::wrong_result || (worst == Exit::missing && one.code != Exit::ok);
    if (one.code != Exit::ok && worse && worst != Exit::wrong_result) worst = one.code;
  }
  return worst;
}

std::string table_of(const std::vector<SizedAnswer>& answers) {
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& [name, value] : answers.front().sizes) rows[0].push_back(name);
  for (const char* column : {"version", "executed", "correct", "error", "seconds", "arena"}) rows[0].push_back(column);
  for (const SizedAnswer& one : answers) {
    std::vector<std::string> row;
    for (const auto& [name, value] : one.sizes) row.push_back(std::to_string(value));
    row.push_back(std::to_string(one.version));
    row.insert(row.end(), one.cells.begin(), one.cells.end());
    rows.push_back(std::move(row));
  }
  return table(rows);
}

Document json_of(const std::vector<SizedAnswer>& answers, const SizedModel& model, const std::string& name,
                 int versions, int recompiles) {
  Document json = {
      {"schema_version", 1}, {"model", name}, {"target", model.machine->name}, {"runs", Document::array()}};
  bool correct = true;
  for (const SizedAnswer& one : answers) {
    Document row = {{"sizes", one.sizes}, {"version", one.version}};
    row.update(one.fields);
    correct = correct && row.value("correct", false);
    json["runs"].push_back(std::move(row));
  }
  json["correct"] = correct;
  json["versions"] = versions;
  json["recompiles"] = recompiles;
  json["unknown"] = 0;
  return json;
}

/// What is of one size, or of one file.
bool only_for_one_size(const Options& options, const ModelSizes& sizes) {
  const bool several = sizes.runs.size() > 1;
  for (const auto& [flag, given] :
       {std::pair("--outputs", several && !options.onnx.outputs.empty()),
        std::pair("--interpret", options.onnx.interpret), std::pair("--report", !options.report.empty())}) {
    if (!given) continue;
    fail(Exit::usage, fmt::format("{} is for one size", flag),
         several ? "give one value each with --sizes" : "give one value each with --sizes, and no --dims");
    return true;
  }
  return false;
}

/// The least and the most of each listed size.
SizeFacts facts_of_lists(const std::vector<Bindings>& runs) {
  SizeFacts facts;
  for (const auto& [name, first] : runs.front()) {
    SymbolicSize size{name, first, first, 1, {}, true, {"--sizes", 0, 0}};
    std::vector<std::int64_t> values;
    for (const Bindings& run : runs) values.push_back(run.at(name));
    std::sort(values.begin(), values.end());
    size.min = values.front();
    size.max = values.back();
    size.likely = {values[values.size() / 2]};
    facts.sizes.push_back(std::move(size));
  }
  return facts;
}

/// min, likely and max of each size, the others likely.
std::vector<Bindings> usual_runs(const SizeFacts& facts) {
  Bindings base;
  for (const SymbolicSize& size : facts.sizes) base[size.name] = sample_of(size);
  std::vector<Bindings> runs;
  for (const SymbolicSize& size : facts.sizes) {
    std::vector<std::int64_t> values{size.min};
    values.insert(values.end(), size.likely.begin(), size.likely.end());
    values.push_back(base[size.name]);
    if (size.max_stated) values.push_back(size.max);
    for (const std::int64_t value : values) {
      Bindings one = base;
      one[size.name] = value;
      if (!broken_fact(facts, one) && std::find(runs.begin(), runs.end(), one) == runs.end()) runs.push_back(one);
    }
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

/// False: a run lacks a size or breaks a fact, which is reported.
bool runs_fit(const SizeFacts& facts, const std::vector<Bindings>& runs) {
  for (const Bindings& run : runs) {
    for (const SymbolicSize& size : facts.sizes)
      if (!run.contains(size.name)) {
        fail(Exit::wrong_input, fmt::format("size {} has no value ({})", size.name, print(size)),
             fmt::format("--sizes {}={}", size.name, sample_of(size)));
        return false;
      }
    for (const auto& [name, value] : run)
      if (const SymbolicSize* size = facts.find(name); value < 0) {
        fail(Exit::wrong_input, fmt::format("the size {}={} is negative", name, value),
             size == nullptr ? "sizes are 0 or more" : print(*size));
        return false;
      }
    if (const auto broken = broken_fact(facts, run)) {
      fail(Exit::wrong_input, {*broken});
      return false;
    }
  }
  return true;
}

/// Names and contradictions, before anything is compiled: the places of all sizes stand below. False: reported.
bool importable(const Options& options, const ModelSizes& sizes, Exit& code) {
  for (const Bindings& run : {sizes.runs.front(), sizes.runs.back()}) {
    const Bindings all = all_sizes(sizes, run);
    const auto model = model_at(options, all);
    if (model) continue;
    Diagnostics problems = model.diagnostics();
    if (const auto free = free_sizes(options.kernel_file))
      for (const FreeSize& size : *free)
        if (const auto value = all.find(size.name); value != all.end())
          for (const std::string& place : size.places)
            problems.front().notes.push_back(fmt::format("{} = {} is {}", size.name, value->second, place));
    code = fail(Exit::wrong_input, problems);
    return false;
  }
  code = Exit::ok;
  return true;
}

/// Is the model sound where `name` equals `other`, at two sizes, and not where it is one more? Further sizes of which
/// nothing is known are taken to equal `other` too.
bool must_equal(const Options& options, const std::vector<FreeSize>& free, Bindings sizes, const std::string& name,
                const std::string& other) {
  std::vector<std::string> unknown;
  for (const FreeSize& size : free)
    if (!sizes.contains(size.name) && !size.batch) unknown.push_back(size.name);
  const std::int64_t base = sizes.at(other);
  for (const auto& [value, excess, sound] :
       {std::tuple(base, 0, true), std::tuple(base + 1, 0, true), std::tuple(base, 1, false)}) {
    for (const std::string& one : unknown) sizes[one] = value;
    sizes[other] = value;
    sizes[name] = value + excess;
    if (static_cast<bool>(model_at(options, sizes)) != sound) return false;
  }
  return true;
}

/// The sizes of which these runs have several values: "S = 19, 20".
std::vector<std::string> listed_sizes(const std::vector<Bindings>& runs) {
  std::vector<std::string> lists;
  for (const auto& [name, first] : runs.front()) {
    std::vector<std::int64_t> values;
    for (const Bindings& run : runs)
      if (std::find(values.begin(), values.end(), run.at(name)) == values.end()) values.push_back(run.at(name));
    if (values.size() > 1) lists.push_back(fmt::format("{} = {}", name, fmt::join(values, ", ")));
  }
  return lists;
}

/// Sizes of the file of which nothing is said are tied to others by the operators, or have no value.
/// False: one has none, which is reported.
bool tie_others(const Options& options, ModelSizes& made, Exit& code) {
  const auto free = free_sizes(options.kernel_file);
  if (!free) {
    code = fail(onnx_supported() ? Exit::wrong_input : Exit::missing, free.diagnostics());
    return false;
  }
  Bindings known = made.fixed;
  for (const SymbolicSize& size : made.facts.sizes) known[size.name] = std::max<std::int64_t>(sample_of(size), 2);
  for (const FreeSize& size : *free) {
    if (known.contains(size.name)) continue;
    for (const SymbolicSize& other : made.facts.sizes)
      if (!made.tied.contains(size.name) && must_equal(options, *free, known, size.name, other.name))
        made.tied[size.name] = other.name;
    if (made.tied.contains(size.name)) {
      known[size.name] = known.at(made.tied[size.name]);
      fmt::print(stderr, "note: size {} equals {}, as the model's operators require\n", size.name,
                 made.tied[size.name]);
      continue;
    }
    if (size.batch) continue;  // the importer takes 1
    code = fail(Exit::wrong_input, fmt::format("size {} ({}) has no value", size.name, size.places.front()),
                fmt::format("--sizes {0}=32, or a range: --dims {0}=1..512", size.name));
    return false;
  }
  return true;
}

/// Arrays of other sizes than --dims allows.
Diagnostics against_dims(const Options& options, const std::map<std::string, SizeOfArray>& shown) {
  const auto stated = size_facts_of(options.dims);
  if (!stated) return stated.diagnostics();
  Diagnostics problems;
  for (const SymbolicSize& size : stated->sizes) {
    const auto array = shown.find(size.name);
    if (array == shown.end() || !broken_fact({{size}, {}}, {{size.name, array->second.extent}})) continue;
    const std::string says = size.min == size.max ? fmt::format("{} = {}", size.name, size.min) : print(size);
    problems.push_back(
        error_at({options.onnx.inputs, 0, 0},
                 fmt::format("{} is {}, and --dims says {}", array->second.place, array->second.extent, says),
                 fmt::format("leave {} out of --dims, or give arrays of that size", size.name)));
  }
  return problems;
}

/// Sizes in --dims that the model does not leave open; empty: none.
Diagnostics unknown_sizes(const Options& options, const SizeFacts& stated) {
  if (!is_onnx(options.kernel_file)) return {};
  const auto free = free_sizes(options.kernel_file);
  if (!free) return free.diagnostics();
  std::vector<std::string> names;
  for (const FreeSize& size : *free) names.push_back(size.name);
  Diagnostics problems;
  for (const SymbolicSize& size : stated.sizes)
    if (std::find(names.begin(), names.end(), size.name) == names.end())
      problems.push_back(error_at(
          {"--dims", 0, 0}, fmt::format("the model has no free size '{}'", size.name),
          names.empty() ? "it has no free size that can be given" : fmt::format("it has {}", fmt::join(names, ", "))));
  return problems;
}

}  // namespace

std::optional<Options> with_sizes_of_inputs(const Options& options, Exit& code) {
  Options with = options;
  if (options.onnx.inputs.empty() || !is_onnx(options.kernel_file)) return with;
  const auto runs = combinations_of_sizes(options, code);
  if (!runs) return std::nullopt;
  if (runs->size() > 1) {
    code = fail(Exit::usage,
                fmt::format("--inputs is of one size, and --sizes lists {}", fmt::join(listed_sizes(*runs), ", ")),
                "leave out --sizes: the arrays state the open sizes");
    return std::nullopt;
  }
  code = Exit::ok;
  const auto shown = sizes_of_inputs(options);
  if (!shown) {
    code = fail(onnx_supported() ? Exit::wrong_input : Exit::missing, shown.diagnostics());
    return std::nullopt;
  }
  Bindings all = runs->front();
  if (const Diagnostics against = against_dims(options, *shown); !against.empty()) {
    code = fail(Exit::wrong_input, against);
    return std::nullopt;
  }
  for (const auto& [name, size] : *shown) {
    const auto [given, is_new] = all.emplace(name, size.extent);
    if (is_new || given->second == size.extent) continue;
    code =
        fail(Exit::wrong_input,
             {error_at({options.onnx.inputs, 0, 0},
                       fmt::format("{} is {}, and --sizes says {} = {}", size.place, size.extent, name, given->second),
                       fmt::format("leave {} out of --sizes, or give arrays of that size", name))});
    return std::nullopt;
  }
  if (!all.empty()) with.onnx.sizes = sizes_text(all);
  return with;
}

std::optional<ModelSizes> model_sizes(const Options& options, Exit& code) {
  auto runs = combinations_of_sizes(options, code);
  if (!runs) return std::nullopt;
  code = Exit::ok;
  if (options.dims.empty() && runs->size() == 1) return std::nullopt;
  code = Exit::wrong_input;
  ModelSizes made;
  SizeFacts stated;
  if (!options.dims.empty()) {
    auto facts = size_facts_of(options.dims);
    if (!facts) {
      code = fail(Exit::wrong_input, facts.diagnostics());
      return std::nullopt;
    }
    stated = std::move(*facts);
    if (const Diagnostics unknown = unknown_sizes(options, stated); !unknown.empty()) {
      code = fail(onnx_supported() ? Exit::wrong_input : Exit::missing, unknown);
      return std::nullopt;
    }
    for (const SymbolicSize& size : stated.sizes)
      for (Bindings& run : *runs)
        if (size.min == size.max) run.try_emplace(size.name, size.min);
  }
  const bool listed = !options.onnx.sizes.empty();
  if (!listed) *runs = usual_runs(stated);
  for (const SymbolicSize& size : facts_of_lists(*runs).sizes)
    if (!stated.find(size.name)) stated.sizes.push_back(size);
  if (!runs_fit(stated, *runs)) return std::nullopt;
  for (const SymbolicSize& size : stated.sizes) {
    if (size.min == size.max)
      made.fixed[size.name] = size.min;
    else
      made.facts.sizes.push_back(size);
  }
  made.runs = std::move(*runs);
  code = Exit::ok;
  if (!tie_others(options, made, code)) return std::nullopt;
  return made;
}

Exit run_model_sizes(const Options& options, const ModelSizes& sizes) {
  if (only_for_one_size(options, sizes)) return Exit::usage;
  Exit code = Exit::ok;
  if (!importable(options, sizes, code)) return code;
  SizedModel model;
  if (!build(options, sizes, model, code)) return code;
  std::vector<SizedAnswer> answers;
  int compilations = 0;
  if (model.compiled) {
    const auto runner = make_symbolic_model_runner(model.compiled->program, *model.machine);
    for (const Bindings& run : sizes.runs) answers.push_back(run_at(options, sizes, run, model, *runner));
    compilations = runner->compilations();
  } else {
    fmt::print(stderr, "note: each size is compiled for itself: {}\n", model.why_not.front().message);
    for (const Bindings& run : sizes.runs)
      answers.push_back(compile_and_run_at(options, sizes, run, static_cast<int>(answers.size()) + 1));
    compilations = static_cast<int>(answers.size());
  }
  code = worst_code(answers);
  const int recompiles = std::max(compilations - 1, 0);
  const std::string why = model.why_not.empty() ? "" : model.why_not.front().message;
  if (options.json) {
    const std::string name = std::filesystem::path(options.kernel_file).stem().string();
    Document json = json_of(answers, model, name, model.compiled ? 1 : compilations, recompiles);
    if (!model.compiled) json["recompiled_because"] = why;
    if (model.compiled) {
      json["seconds_of"] = {{"import", model.importing}, {"plan", model.planning}, {"search", model.compiled->seconds}};
      json["part_list"] = json_of_parts(*model.compiled);
    }
    return deliver(options, printed(json), code);
  }
  std::string text = table_of(answers);
  if (!model.compiled)
    text += fmt::format("{}, each compiled for itself ({}): {}\n", counted(answers.size(), "size"),
                        counted(static_cast<std::size_t>(recompiles), "recompilation"), why);
  else
    text += fmt::format(
        "one compilation, {}; {} parts for any number of rows, {} as grids, {} without sizes, {} as loops\n",
        counted(answers.size(), "size"), parts_with(*model.compiled, "rows"), parts_with(*model.compiled, "grids"),
        parts_with(*model.compiled, "fixed"), parts_with(*model.compiled, "loops"));
  return deliver(options, text, code);
}

Exit deliver_program(const Options& options, const CompiledSymbolicModelParts& compiled, const Kernel& sample,
                     const HardwareModel& machine) {
  const SymbolicModelProgram& program = compiled.program;
  const auto unit = print_symbolic_model(program, machine);
  if (!unit) return fail(Exit::no_answer, unit.diagnostics());
  const auto ports = [](const std::vector<SymbolicPort>& list) {
    Document json = Document::array();
    for (const SymbolicPort& port : list) {
      Document shape = Document::array();
      for (const AffineExpr& axis : port.shape)
        axis.is_constant() ? shape.push_back(axis.constant()) : shape.push_back(print(axis));
      json.push_back({{"name", port.name}, {"dtype", std::string(name(port.dtype))}, {"shape", shape}});
    }
    return json;
  };
  Document stated = Document::object();
  for (const SymbolicSize& size : program.facts.sizes) {
    stated[size.name] = {{"min", size.min}, {"max", size.max}};
    if (size.multiple_of > 1) stated[size.name]["multiple_of"] = size.multiple_of;
  }
  const Document json = {{"schema_version", 1},
                         {"model", unit->name},
                         {"target", machine.name},
                         {"sizes", stated},
                         {"inputs", ports(program.inputs)},
                         {"outputs", ports(program.outputs)},
                         {"weights_bytes", program.weights.size()},
                         {"code_bytes", unit->text.size()},
                         {"versions", 1},
                         {"unknown", 0},
                         {"plan", print(compiled.plan, sample, machine.name)},
                         {"part_list", json_of_parts(compiled)}};
  return deliver_model(options, *unit, weights_file(program), json);
}

Exit emit_model_sizes(const Options& options, const ModelSizes& sizes) {
  Exit code = Exit::ok;
  if (!importable(options, sizes, code)) return code;
  SizedModel model;
  if (!build(options, sizes, model, code)) return code;
  if (!model.compiled) return fail(Exit::no_answer, model.why_not);
  return deliver_program(options, *model.compiled, model.sampled->models[0].kernel, *model.machine);
}

Exit import_layers_at_sizes(const Options& options, const ModelSizes& sizes) {
  std::vector<Bindings> symbols = sample_sizes(sizes.facts, true);
  std::vector<LayerList> lists;
  for (const Bindings& sample : symbols) {
    Options one = options;
    one.onnx.of_all_sizes = true;
    const auto model = imported_at(one, all_sizes(sizes, sample));
    if (!model) return fail(Exit::wrong_input, model.diagnostics());
    lists.push_back(layers_of(*model));
  }
  SizeFit fit(symbols);
  std::vector<KernelFile> files;
  const auto write = [&](const Layer& layer, Result<std::string> text) {
    files.push_back(layer_file(lists[0].name, layer, std::move(text)));
  };
  for (std::size_t l = 0; l < lists[0].layers.size(); ++l) {
    const Layer& layer = lists[0].layers[l];
    if (!layer.kernel) continue;
    std::vector<KernelAt> samples;
    for (std::size_t n = 0; n < lists.size(); ++n)
      if (l < lists[n].layers.size() && lists[n].layers[l].name == layer.name && lists[n].layers[l].kernel)
        samples.push_back({symbols[n], &*lists[n].layers[l].kernel});
    if (samples.size() != lists.size()) {
      write(layer, error("it is another layer at other sizes"));
      continue;
    }
    const auto kernel = lifted(sizes.facts, samples, fit);
    if (!kernel)
      write(layer, kernel.diagnostics());
    else
      write(layer, kernel_file(*kernel));
  }
  return write_kernels(options, files, no_layers);
}

}  // namespace isamap::cli
