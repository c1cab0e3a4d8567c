// SPDX-License-Identifier: Apache-2.0
// `emit` and `schedule` for all sizes of a symbolic kernel.

#include "cli/symbolic_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/json.h"
#include "cli/json_internal.h"
#include "cli/model_sizes.h"
#include "cli/sizes.h"
#include "driver/symbolic/recurrent_kernel.h"
#include "driver/symbolic/statement_loops.h"
#include "hwdesc/model/program_language.h"

namespace isamap::cli {
namespace {

/// "M <= 8"
std::string guard_text(const RowVersion& version) {
  std::string text;
  for (const SizeFact& fact : version.when) text += (text.empty() ? "" : " and ") + fact.text;
  return text;
}

/// What a schedule file has.
std::vector<ScheduleVersion> versions_of(const SymbolicCompilation& compiled) {
  const SymbolicProgram& program = *compiled.program;
  const std::size_t each = program.grids.empty() ? 1 : program.kernel.sample.statements.size();
  std::vector<ScheduleVersion> versions;
  for (std::size_t v = 0; v < program.versions.size(); ++v) {
    const auto first = compiled.schedules.begin() + static_cast<std::ptrdiff_t>(v * each);
    versions.push_back({program.versions[v].when, {first, first + static_cast<std::ptrdiff_t>(each)}});
  }
  return versions;
}

/// One schedule as any schedule file, others as versions; `comments`: by version.
std::string file_text(const SymbolicCompilation& compiled, const std::vector<std::string>& comments) {
  const std::vector<ScheduleVersion> versions = versions_of(compiled);
  if (versions.size() > 1 || versions[0].schedules.size() > 1) return print(versions, comments);
  std::string text;
  std::istringstream lines(comments.empty() ? "" : comments[0]);
  for (std::string line; std::getline(lines, line);) text += "# " + line + "\n";
  return text + print(versions[0].schedules[0]);
}

Json sizes_json(const SizeFacts& facts) {
  Json json = Json::object();
  for (const SymbolicSize& size : facts.sizes)
    json[size.name] = {
        {"min", size.min}, {"max", size.max}, {"multiple_of", size.multiple_of}, {"likely", size.likely}};
  return json;
}

Json parts_json(const RowVersion& version) {
  Json json = Json::array();
  for (const RowPart& part : version.parts)
    json.push_back({{"rows", part.rows}, {"any_number_of_tiles", !part.loops.empty()}});
  return json;
}

/// "14*n", "1..13": what a run serves.
std::string run_text(const DimRun& run) {
  if (run.tile > 0) return fmt::format("{}*n", run.tile);
  return run.low == run.high ? std::to_string(run.low) : fmt::format("{}..{}", run.low, run.high);
}

/// The fact that would leave no remainder of the tiles; empty: there is none, or the extent is no single size.
std::string fact_against_remainders(const GridAxis& axis) {
  std::int64_t tile = 1;
  bool remainders = false;
  for (const DimRun& run : axis.runs) {
    tile = std::max(tile, run.tile);
    remainders = remainders || run.tile == 0 || run.tile == 1;
  }
  const auto extent = affine_extent(axis);
  const auto name = extent ? extent->as_dim() : std::nullopt;
  return remainders && tile > 1 && name ? fmt::format("{}: {{multiple_of: {}}}", *name, tile) : "";
}

/// Blocks with code, without those at edges.
std::size_t own_blocks(const Grid& grid) {
  std::size_t count = body_count(grid);
  for (const Grid& edge : grid.edges) count -= body_count(edge);
  return count;
}

Json grids_json(const SymbolicProgram& program, std::size_t version) {
  Json json = Json::array();
  const std::size_t statements = program.kernel.sample.statements.size();
  for (std::size_t s = 0; s < statements; ++s) {
    const Grid& grid = program.grids[version * statements + s];
    Json axes = Json::array();
    for (const GridAxis& axis : grid.shape.axes) {
      Json runs = Json::array();
      for (const DimRun& run : axis.runs) runs.push_back(run_text(run));
      axes.push_back({{"dim", axis.dim}, {"extent", print(axis.extent)}, {"runs", runs}, {"sum", axis.reduced}});
    }
    json.push_back({{"axes", axes}, {"blocks", own_blocks(grid)}, {"schedule", print(grid.schedule)}});
    if (grid.loops) json.back()["loops_because"] = grid.loops->why;
    for (const Grid& edge : grid.edges)
      json.back()["edges"].push_back({{"blocks", body_count(edge)}, {"schedule", print(edge.schedule)}});
  }
  return json;
}

/// "K - 129 >= 0"
std::vector<std::string> conditions_of(const TiledLaunch& tiles) {
  std::vector<std::string> conditions;
  for (const AffineExpr& left : tiles.enough) conditions.push_back(print(left) + " >= 0");
  return conditions;
}

std::string instruction_of(const Schedule& schedule) {
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* computes = std::get_if<Do>(&line.is); computes != nullptr) return computes->instruction;
  return "";
}

/// "s0: tiles of mma_bf16 where K - 129 >= 0, else a thread for each of M * N elements, ..."
std::string launch_text(const SymbolicProgram& program, std::size_t s) {
  const StatementLaunch& launch = program.launches[s];
  std::string elements;
  for (const int d : launch.dims) {
    const std::string extent = print(program.kernel.statements[s].extents[static_cast<std::size_t>(d)]);
    elements += (elements.empty() ? "" : " * ") + (extent.find(' ') == std::string::npos ? extent : "(" + extent + ")");
  }
  std::string tiles;
  for (const TiledLaunch& one : launch.tiles) {
    tiles += fmt::format("{}{} of {}", tiles.empty() ? "tiles of " : " or ", fmt::join(one.tile, "x"),
                         instruction_of(one.schedule));
    const std::vector<std::string> conditions = conditions_of(one);
    for (const std::string& each : conditions) tiles += (&each == &conditions.front() ? " where " : " and ") + each;
  }
  if (launch.tiles.size() > 1) tiles += ", the cheapest at the call";
  if (!launch.tiles.empty()) tiles += launch.tiles[0].enough.empty() ? "; for empty sizes " : ", else ";
  return fmt::format("{}: {}a thread for each of {} elements, blocks of {} threads, {}-bit indices",
                     program.kernel.sample.statements[s].name, tiles, elements.empty() ? "1" : elements, launch.threads,
                     launch.index == IndexType::bits32 ? 32 : 64);
}

Json launches_json(const SymbolicProgram& program) {
  Json json = Json::array();
  for (std::size_t s = 0; s < program.launches.size(); ++s) {
    const StatementLaunch& launch = program.launches[s];
    json.push_back({{"statement", program.kernel.sample.statements[s].name},
                    {"threads_of_block", launch.threads},
                    {"index_bits", launch.index == IndexType::bits32 ? 32 : 64},
                    {"fills", launch.fills}});
    for (const TiledLaunch& one : launch.tiles)
      json.back()["tiles"].push_back({{"instruction", instruction_of(one.schedule)},
                                      {"tile", one.tile},
                                      {"where", conditions_of(one)},
                                      {"at_once", one.price.at_once},
                                      {"cycles", {one.price.first, one.price.step}},
                                      {"schedule", print(one.schedule)}});
  }
  return json;
}

Json samples_json(const SymbolicCompilation& compiled) {
  Json json = Json::array();
  for (const SizeSample& sample : compiled.samples) {
    json.push_back({{"sizes", sample.sizes}, {"version", sample.version + 1}, {"cycles", sample.cycles}});
    if (sample.best > 0) json.back()["best"] = sample.best;
    if (sample.best > 0) json.back()["regret"] = sample.regret();
    if (sample.on_threads > 0) json.back()["cycles_on_threads"] = sample.on_threads;
  }
  return json;
}

/// What the cost model predicts, by sample, and the regret if schedules were compared.
std::vector<std::string> regret_text(const SymbolicCompilation& compiled) {
  if (compiled.samples.empty()) return {};
  double sum = 0, worst = 1;
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& [name, value] : compiled.samples.front().sizes) rows[0].push_back(name);
  const bool are_compared = compiled.samples.front().best > 0, on_threads = compiled.samples.front().on_threads > 0;
  for (const char* column : {"version", "cycles"}) rows[0].push_back(column);
  if (are_compared) rows[0].insert(rows[0].end(), {"best", "regret"});
  if (on_threads) rows[0].push_back("threads");
  for (const SizeSample& sample : compiled.samples) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const auto& [name, value] : sample.sizes) row.push_back(std::to_string(value));
    row.insert(row.end(), {std::to_string(sample.version + 1), short_number(sample.cycles)});
    if (are_compared) row.insert(row.end(), {short_number(sample.best), fmt::format("{:.3f}", sample.regret())});
    if (on_threads) row.push_back(short_number(sample.on_threads));
    sum += sample.regret();
    worst = std::max(worst, sample.regret());
  }
  const std::size_t samples = compiled.samples.size();
  std::vector<std::string> lines{
      are_compared
          ? fmt::format("predicted, of the best of {} schedules at {} samples: mean {:.3f}, worst {:.3f}",
                        compiled.candidates, samples, sum / static_cast<double>(samples), worst)
          : fmt::format("predicted at {} samples; the schedules of a file are not compared with others", samples)};
  const std::string text = table(rows);
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}

/// Which dims need code for what tiles leave, and the facts that would remove it.
std::vector<std::string> remainders_text(const SymbolicProgram& program) {
  std::vector<std::string> lines;
  if (const auto size = program.rows.as_dim(); size && !program.versions.empty())
    for (const RowPart& part : program.versions.back().parts)
      if (part.rows > 1 && !part.loops.empty() && &part == &program.versions.back().parts.front())
        lines.push_back(
            fmt::format("rows leave a remainder of their tiles; the fact {}: {{multiple_of: {}}} would remove its "
                        "code",
                        *size, part.rows));
  for (const Grid& grid : program.grids)
    for (const GridAxis& axis : grid.shape.axes)
      if (const std::string fact = fact_against_remainders(axis); !fact.empty()) {
        const std::string line =
            fmt::format("{} leaves a remainder of its tiles; the fact {} would remove its code", axis.dim, fact);
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
      }
  return lines;
}

Json symbolic_document(const SymbolicCompilation& compiled, const HardwareModel& model) {
  const SymbolicProgram& program = *compiled.program;
  Json json = document();
  json["kernel"] = program.kernel.sample.name;
  json["target"] = model.name;
  json["sizes"] = sizes_json(program.kernel.facts);
  json["versions"] = Json::array();
  json["guards"] = Json::array();
  std::size_t bodies = 0;
  for (std::size_t v = 0; v < program.versions.size(); ++v) {
    const std::string guard = guard_text(program.versions[v]);
    bodies += program.versions[v].parts.size() + program.versions[v].remainder_first.size();
    const std::size_t statements = program.grids.empty() ? 1 : program.kernel.sample.statements.size();
    json["versions"].push_back({{"when", guard.empty() ? Json::array() : Json::array({guard})},
                                {"found_at", compiled.found_at[v]},
                                {"parts", parts_json(program.versions[v])},
                                {"schedule", print(compiled.schedules[v * statements])}});
    if (!guard.empty()) json["guards"].push_back(guard);
  }
  for (const Grid& grid : program.grids) bodies += body_count(grid);
  bodies += program.launches.size();
  if (!program.launches.empty()) json["versions"][0]["launches"] = launches_json(program);
  if (!program.grids.empty()) {
    for (std::size_t v = 0; v < program.versions.size(); ++v) {
      json["versions"][v].erase("parts");
      json["versions"][v].erase("found_at");
      json["versions"][v]["grids"] = grids_json(program, v);
    }
    for (const std::string& line : remainders_text(program)) json["guards"].push_back(line);
    json["samples"] = samples_json(compiled);
  }
  json["bodies"] = bodies;
  json["best"] = {{"schedule", file_text(compiled, {})}};
  json["unknown"] = 0;
  return json;
}

/// The program, or nothing: an error was reported and `code` is set.
std::optional<SymbolicCompilation> compiled_for_all(const Options& options, const SymbolicKernel& kernel,
                                                    const HardwareModel& model, Exit& code) {
  auto compiled = symbolic_program_of(options, kernel, model, code);
  if (!compiled) return std::nullopt;
  if (compiled->program) return compiled;
  code = fail(compiled->code, with_schedule_lines(options, compiled->problems));
  if (options.json && code != Exit::wrong_input) deliver(options, json_of_failure(code, compiled->problems), code);
  return std::nullopt;
}

/// Flags that are for kernels whose sizes are numbers.
Exit refused_flags(const std::vector<std::pair<std::string, bool>>& flags) {
  for (const auto& [flag, given] : flags)
    if (given)
      return fail(Exit::usage, fmt::format("{} is for kernels whose sizes are numbers", flag),
                  "bind them with --sizes");
  return Exit::ok;
}

std::string version_text(const SymbolicProgram& program, std::size_t v) {
  const std::string guard = guard_text(program.versions[v]);
  return fmt::format("version {}, {}", v + 1, guard.empty() ? "else" : "when " + guard);
}

/// Of `schedule`: the launches of all statements.
std::string launches_text(const SymbolicProgram& program) {
  std::string text = fmt::format("# {} for {}: one version, a launch for each statement\n", program.kernel.sample.name,
                                 isamap::print(program.kernel.facts));
  for (std::size_t s = 0; s < program.launches.size(); ++s) text += "# " + launch_text(program, s) + "\n";
  return text;
}

/// Axes that threads share: " i j".
std::string axes_text(const Grid& grid) {
  std::string text;
  for (const auto& [axis, tile] : grid.shares.tiles) text += " " + grid.shape.axes[static_cast<std::size_t>(axis)].dim;
  return text;
}

/// Of `schedule`: the runs of each statement's dims, and its schedule.
std::string grids_text(const SymbolicCompilation& compiled) {
  const SymbolicProgram& program = *compiled.program;
  const std::size_t statements = program.kernel.sample.statements.size(), versions = program.versions.size();
  std::string text = fmt::format("# {} for {}: {}, a grid of blocks for each statement\n", program.kernel.sample.name,
                                 isamap::print(program.kernel.facts),
                                 versions == 1 ? "one version" : fmt::format("{} versions", versions));
  for (const std::string& line : remainders_text(program)) text += "# " + line + "\n";
  for (const std::string& line : regret_text(compiled)) text += "# " + line + "\n";
  std::vector<std::string> comments(versions);
  for (std::size_t g = 0; g < program.grids.size(); ++g) {
    const Grid& grid = program.grids[g];
    std::string& comment = comments[g / statements];
    if (versions > 1 && g % statements == 0) comment += version_text(program, g / statements) + "\n";
    if (grid.loops) {
      comment +=
          fmt::format("{}: plain loops: {}\n", program.kernel.sample.statements[g % statements].name, grid.loops->why);
      continue;
    }
    comment += fmt::format("{} blocks:", own_blocks(grid));
    for (const GridAxis& axis : grid.shape.axes) {
      comment += fmt::format(" {}:", axis.dim);
      for (const DimRun& run : axis.runs) comment += " " + run_text(run);
      if (&axis != &grid.shape.axes.back()) comment += ";";
    }
    if (!grid.edges.empty())
      comment += fmt::format("; {} grids of edges, {} blocks", grid.edges.size(), body_count(grid) - own_blocks(grid));
    if (!grid.shares.tiles.empty())
      comment += fmt::format("; {} threads along{}", grid.shares.threads, axes_text(grid));
    comment += "\n";
  }
  return text + file_text(compiled, comments);
}

}  // namespace

std::optional<SymbolicCompilation> symbolic_program_of(const Options& options, const SymbolicKernel& kernel,
                                                       const HardwareModel& model, Exit& code) {
  const auto with = compile_options(options, kernel, model, code);
  if (!with) return std::nullopt;
  SymbolicCompilation compiled = compile_symbolic(kernel, model, *with);
  if (compiled.program && !compiled.problems.empty()) fail(Exit::ok, compiled.problems);  // warnings
  return compiled;
}

namespace {

/// The files of a model, whose inputs are those of the kernel, constants and states before the first step among them.
Exit emit_time_loop(const Options& options, const SymbolicKernel& kernel, const HardwareModel& model) {
  if (options.output.empty())
    return fail(Exit::usage, "a time loop of symbolic size is written as a model, to a folder", "-o FOLDER");
  Exit code = Exit::ok;
  const auto with = compile_options(options, kernel, model, code);
  if (!with) return code;
  const auto made =
      compile_recurrent_kernel(kernel, model, {*with, static_cast<std::size_t>(options.schedule.jobs)}, std::nullopt);
  if (!made) {
    const SymbolicCompilation loops = compile_plain_loops(kernel, model, *with, made.diagnostics().front());
    fail(Exit::ok, loops.problems);  // warnings
    const auto files = emit(*loops.program, model);
    if (!files) return fail(Exit::no_answer, files.diagnostics());
    if (auto why = make_folder(options.output, "-o FOLDER")) return fail(Exit::wrong_input, {std::move(*why)});
    Options in_folder = options;
    in_folder.output = (std::filesystem::path(options.output) / files->front().name).string();
    return deliver_files(in_folder, *files);
  }
  return deliver_program(options, made->compiled, made->sampled.models[0].kernel, model);
}

}  // namespace

Exit emit_symbolic(const Options& options, const SymbolicKernel& kernel) {
  const Exit refused = refused_flags({{"--program", options.program},
                                      {"--check", options.check},
                                      {"--header", options.emit.header},
                                      {"--test", options.emit.test},
                                      {"--workspace", options.emit.workspace}});
  if (refused != Exit::ok) return refused;
  Exit code = Exit::wrong_input;
  const std::optional<HardwareModel> model = load_target(options);
  if (!model) return code;
  if (has_sized_recurrence(kernel) && is_host_code(*model) && options.schedule_file.empty())
    return emit_time_loop(options, kernel, *model);
  const auto compiled = compiled_for_all(options, kernel, *model, code);
  if (!compiled) return code;
  const auto files = emit(*compiled->program, *model);
  if (!files) return fail(Exit::no_answer, files.diagnostics());
  if (!options.json) return deliver_files(options, *files);
  Json json = symbolic_document(*compiled, *model);
  json["files"] = Json::array();
  for (const EmittedFile& file : *files) json["files"].push_back({{"name", file.name}, {"text", file.text}});
  return deliver(options, text_of(json));
}

Exit schedule_symbolic(const Options& options, const SymbolicKernel& kernel) {
  const Exit refused = refused_flags({{"--certify", options.certify},
                                      {"--explain", options.explain},
                                      {"--report", !options.report.empty()},
                                      {"--trace", !options.trace.empty()},
                                      {"--store", !options.lab.store.empty()}});
  if (refused != Exit::ok) return refused;
  Exit code = Exit::wrong_input;
  const std::optional<HardwareModel> model = load_target(options);
  if (!model) return code;
  const auto compiled = compiled_for_all(options, kernel, *model, code);
  if (!compiled) return code;
  if (options.json) return deliver(options, text_of(symbolic_document(*compiled, *model)));
  const SymbolicProgram& program = *compiled->program;
  if (!program.grids.empty()) return deliver(options, grids_text(*compiled));
  if (!program.launches.empty()) return deliver(options, launches_text(program) + file_text(*compiled, {}));
  std::string text =
      fmt::format("# {} for {}: {} version{}, the last one for every size\n", kernel.sample.name,
                  isamap::print(kernel.facts), program.versions.size(), program.versions.size() == 1 ? "" : "s");
  std::vector<std::string> comments;
  for (std::size_t v = 0; v < program.versions.size(); ++v) {
    std::string& comment = comments.emplace_back(version_text(program, v));
    if (compiled->found_at[v] > 0) comment += fmt::format("; searched at {} rows", compiled->found_at[v]);
    comment += "; rows of its parts:";
    for (const RowPart& part : program.versions[v].parts)
      comment += fmt::format(" {}{}", part.rows, part.loops.empty() ? "" : "*n");
    if (const auto own = parts_with_own_schedule(program.versions[v]); !own.empty())
      comment += fmt::format("; schedules of their own: {} rows", fmt::join(own, ", "));
  }
  return deliver(options, text + file_text(*compiled, comments));
}

Exit explain_symbolic(const Options& options, const SymbolicKernel& kernel) {
  Exit code = Exit::wrong_input;
  const std::optional<HardwareModel> model = load_target(options);
  if (!model) return code;
  const auto compiled = compiled_for_all(options, kernel, *model, code);
  if (!compiled) return code;
  if (options.json) return deliver(options, text_of(symbolic_document(*compiled, *model)));
  const SymbolicProgram& program = *compiled->program;
  std::size_t bodies = 0;
  for (const RowVersion& version : program.versions) bodies += version.parts.size() + version.remainder_first.size();
  for (const Grid& grid : program.grids) bodies += body_count(grid);
  bodies += program.launches.size();
  std::string text = fmt::format("{} on {}, {}: one program, {} version{}, {} bodies of code\n",
                                 program.kernel.sample.name, model->name, isamap::print(program.kernel.facts),
                                 program.versions.size(), program.versions.size() == 1 ? "" : "s", bodies);
  for (const std::string& line : remainders_text(program)) text += "  " + line + "\n";
  for (const std::string& line : regret_text(*compiled)) text += "  " + line + "\n";
  for (std::size_t s = 0; s < program.launches.size(); ++s) text += "  " + launch_text(program, s) + "\n";
  return deliver(options, text + "  mappings and reasons are those of one size: bind sizes with --sizes\n");
}

}  // namespace isamap::cli
