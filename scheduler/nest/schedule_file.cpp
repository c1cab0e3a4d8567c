// SPDX-License-Identifier: Apache-2.0
// Schedule files: YAML with one of `nest`, `nests` and `levels`, or versions of these, and the checks of a schedule
// against its kernel and machine.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ir/symbolic/facts.h"
#include "ir/verify/recurrence.h"
#include "isamap/schedule.h"
#include "isamap/scheduler.h"
#include "isamap/symbolic_program.h"
#include "mapper/advice/statement_splits.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/nest_of_all_dims.h"
#include "scheduler/nest/per_memory_view.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "support/arithmetic.h"
#include "support/yaml.h"

namespace isamap {

namespace {

Nest read_nest(const yaml::Node& node, Diagnostics& problems) {
  Nest nest;
  if (node.kind != yaml::Kind::list) {
    problems.push_back(error_at(node.where, "a nest must be a list of lines", "write - for i by 16"));
    return nest;
  }
  for (const yaml::Node& item : node.items) {
    if (item.kind != yaml::Kind::scalar) {
      const bool map = item.kind == yaml::Kind::map;
      problems.push_back(error_at(item.where, "a line must be text",
                                  map ? "a stage with its own lines (from) is not supported yet" : ""));
      continue;
    }
    const int quote = item.quoted ? 1 : 0;
    auto line = parse_line(item.scalar, {item.where.file, item.where.line, item.where.column + quote});
    if (!line) {
      problems.insert(problems.end(), line.diagnostics().begin(), line.diagnostics().end());
      continue;
    }
    nest.lines.push_back(std::move(*line));
  }
  return nest;
}

std::vector<Nest> read_nests(const yaml::Node& node, Diagnostics& problems) {
  std::vector<Nest> nests;
  if (node.kind != yaml::Kind::list) {
    problems.push_back(error_at(node.where, "nests must be a list of nests, one for each statement"));
    return nests;
  }
  for (const yaml::Node& item : node.items) nests.push_back(read_nest(item, problems));
  return nests;
}

void check(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model, const SourceLocation& where,
           Diagnostics& problems) {
  const std::vector<Nest>& nests = schedule.nests;
  if (nests.size() != kernel.statements.size()) {
    problems.push_back(error_at(where, fmt::format("{} nests for the {} statements of {}", nests.size(),
                                                   kernel.statements.size(), kernel.name)));
    return;
  }
  for (std::size_t s = 0; s < nests.size(); ++s) {
    const auto view = resolve(nests[s], kernel, make_id<StatementId>(s), model);
    problems.insert(problems.end(), view.diagnostics().begin(), view.diagnostics().end());
  }
  if (!has_errors(problems)) {
    const auto fusions = tile_fusions(schedule, kernel, model);
    problems.insert(problems.end(), fusions.diagnostics().begin(), fusions.diagnostics().end());
  }
}

void same_name(yaml::MapReader& reader, const std::string& key, const std::string& expected, std::string& into,
               Diagnostics& problems) {
  const auto text = reader.text(key);
  into = expected;
  if (text && !text->empty() && *text != expected)
    problems.push_back(error_at(reader.child(key)->where,
                                fmt::format("this schedule is for {} '{}', not for '{}'", key, *text, expected)));
}

/// Tiles depend on the sizes of the machine: a schedule made for other sizes is refused.
void same_sizes(const yaml::Node* written, const HardwareModel& model, Schedule& schedule, Diagnostics& problems) {
  schedule.sizes = model.sizes();
  if (!written) return;
  if (written->kind != yaml::Kind::map)
    problems.push_back(error_at(written->where, "'sizes' must be a map", "write {VB: 32}"));
  for (std::size_t i = 0; i < written->entries.size(); ++i) {
    const auto& [name, node] = written->entries[i];
    const auto own = schedule.sizes.find(name);
    const auto value = yaml::to_integer(node);
    if (own == schedule.sizes.end())
      problems.push_back(error_at(written->key_where[i], fmt::format("'{}' has no size '{}'", model.name, name)));
    else if (!value)
      problems.push_back(error_at(node.where, fmt::format("size '{}' must be an integer", name)));
    else if (*value != own->second)
      problems.push_back(error_at(
          node.where,
          fmt::format("this schedule is for {} = {}; '{}' has {} = {}", name, *value, model.name, name, own->second),
          fmt::format("--set {}={} selects that size", name, *value)));
  }
}

/// `lanes: [s0 k 16]`: the nests are for the kernel with these reductions vectorized.
Kernel read_lanes(const yaml::Node* written, const Kernel& kernel, Schedule& schedule, Diagnostics& problems) {
  if (!written) return kernel;
  if (written->kind != yaml::Kind::list) {
    problems.push_back(error_at(written->where, "'lanes' must be a list", "write [s0 k 16]"));
    return kernel;
  }
  Kernel made = kernel;
  for (const yaml::Node& item : written->items) {
    auto parts = parse_vectorized_reduction(item.kind == yaml::Kind::scalar ? item.scalar : "", item.where);
    auto next = parts ? vectorize_reductions(made, {*parts}, item.where) : Result<Kernel>(parts.diagnostics());
    if (!next) {
      problems.insert(problems.end(), next.diagnostics().begin(), next.diagnostics().end());
      return made;
    }
    made = std::move(*next);
    schedule.lanes.push_back(std::move(*parts));
  }
  return made;
}

/// `splits: [s0 1]`: the nests are for the kernel with these statements split.
Kernel read_splits(const yaml::Node* written, const Kernel& kernel, Schedule& schedule, Diagnostics& problems) {
  if (!written) return kernel;
  if (written->kind != yaml::Kind::list) {
    problems.push_back(error_at(written->where, "'splits' must be a list", "write [s0 1]"));
    return kernel;
  }
  Kernel made = kernel;
  for (const yaml::Node& item : written->items) {
    auto part = parse_split_part(item.kind == yaml::Kind::scalar ? item.scalar : "", item.where);
    auto next = part ? split_statements(made, {*part}, item.where) : Result<Kernel>(part.diagnostics());
    if (!next) {
      problems.insert(problems.end(), next.diagnostics().begin(), next.diagnostics().end());
      return made;
    }
    made = std::move(*next);
    schedule.splits.push_back(std::move(*part));
  }
  return made;
}

/// `schedule`, `kernel`, `target` and `sizes`.
Schedule read_head(yaml::MapReader& reader, const std::string& kernel, const HardwareModel& model,
                   Diagnostics& problems) {
  Schedule schedule;
  schedule.name = reader.text("schedule", true).value_or("");
  same_name(reader, "kernel", kernel, schedule.kernel, problems);
  same_name(reader, "target", model.name, schedule.target, problems);
  same_sizes(reader.child("sizes"), model, schedule, problems);
  return schedule;
}

/// `splits`, `lanes` and the nests, for the kernel, in `schedule`.
void read_body(yaml::MapReader& reader, const Kernel& whole, const HardwareModel& model, Schedule& schedule,
               Diagnostics& problems) {
  const Kernel split = read_splits(reader.child("splits"), whole, schedule, problems);
  const Kernel kernel = read_lanes(reader.child("lanes"), split, schedule, problems);
  const yaml::Node* nest = reader.child("nest");
  const yaml::Node* nests = reader.child("nests");
  const yaml::Node* levels = reader.child("levels");
  if (const yaml::Node* roles = reader.child("roles"))
    problems.push_back(
        error_at(roles->where, "a schedule file has no 'roles'", "write `role NAME` at the stage that it fills"));
  reader.finish();
  const int forms = (nest != nullptr) + (nests != nullptr) + (levels != nullptr);
  const SourceLocation& where = reader.node().where;
  if (forms != 1)
    problems.push_back(error_at(where, fmt::format("a schedule has one of nest, nests and levels; found {}", forms)));
  if (!problems.empty()) return;
  if (nest) schedule.nests = {read_nest(*nest, problems)};
  if (nests) schedule.nests = read_nests(*nests, problems);
  if (levels) {
    auto made = nest_of_levels(*levels, kernel, model);
    if (!made) {
      problems.insert(problems.end(), made.diagnostics().begin(), made.diagnostics().end());
      return;
    }
    schedule.nests = {std::move(*made)};
  }
  if (problems.empty()) check(schedule, kernel, model, where, problems);
}

// Versions ------------------------------------------------------------------------------------------------------------

bool is_list_of_maps(const yaml::Node& node, const std::string& what, const std::string& hint, Diagnostics& problems) {
  const bool all = node.kind == yaml::Kind::list && !node.items.empty() &&
                   std::all_of(node.items.begin(), node.items.end(),
                               [](const yaml::Node& item) { return item.kind == yaml::Kind::map; });
  if (!all) problems.push_back(error_at(node.where, what, hint));
  return all;
}

bool are_versions(const yaml::Node& node, Diagnostics& problems) {
  return is_list_of_maps(node, "'versions' must be a list of schedules", "write - when: [\"M <= 8\"], and its nest",
                         problems);
}

/// `when: ["M <= 8"]`; `names`: of the sizes, as expressions.
std::vector<SizeFact> read_guard(const yaml::Node* node, const SizeExpressions& names, Diagnostics& problems) {
  std::vector<SizeFact> guard;
  if (!node) return guard;
  if (node->kind != yaml::Kind::list || node->items.empty()) {
    problems.push_back(error_at(node->where, "'when' must be a list of conditions", "write when: [\"M <= 8\"]"));
    return guard;
  }
  std::vector<std::string> known;
  for (const auto& [name, value] : names) known.push_back(name);
  for (const yaml::Node& item : node->items) {
    const SourceLocation at{item.where.file, item.where.line, item.where.column + (item.quoted ? 1 : 0)};
    const auto condition = parse_condition(item.kind == yaml::Kind::scalar ? item.scalar : "", at,
                                           R"("M <= 8" or "M % 16 == 0", with sizes of the kernel)");
    if (!condition) {
      problems.insert(problems.end(), condition.diagnostics().begin(), condition.diagnostics().end());
      continue;
    }
    const auto all = references(*condition);
    const auto unknown =
        std::find_if(all.begin(), all.end(), [&](const Reference& one) { return !names.contains(one.object); });
    if (unknown != all.end()) {
      problems.push_back(error_at(at, fmt::format("'{}' in 'when' is no size of this kernel", unknown->object),
                                  yaml::did_you_mean(unknown->object, known)));
      continue;
    }
    const auto facts = facts_of(*condition, item.scalar, names, at);
    problems.insert(problems.end(), facts.diagnostics().begin(), facts.diagnostics().end());
    if (facts) guard.insert(guard.end(), facts->begin(), facts->end());
  }
  return guard;
}

/// What a schedule of a version is for: the kernel of rows, or one statement.
struct ScheduledStatement {
  Kernel kernel;                   ///< at the sample sizes
  std::optional<GridShape> shape;  ///< of a statement of symbolic dims
};

/// Blocks are lowered for multiples of their lanes, so nests are for a statement without a remainder of them, and for
/// two rounds at least, whatever the sample sizes leave.
Kernel without_rest_of_lanes(const ScheduledStatement& one, const yaml::Node* written) {
  if (!one.shape || !written || written->kind != yaml::Kind::list) return one.kernel;
  const IterationDomain& domain = one.kernel.statements[0].domain;
  std::vector<std::int64_t> counts;
  for (const GridAxis& axis : one.shape->axes) {
    counts.push_back(domain.dims[static_cast<std::size_t>(domain.find(axis.dim))].extent);
    for (const yaml::Node& item : written->items) {
      const auto parts = parse_vectorized_reduction(item.kind == yaml::Kind::scalar ? item.scalar : "", item.where);
      constexpr std::int64_t most = 1 << 16;  // more are refused where the schedule is read
      if (!parts || parts->dim != axis.dim || parts->lanes < 1 || parts->lanes > most || parts->depth < 1 ||
          parts->depth > most)
        continue;
      const std::int64_t round = parts->lanes * parts->depth;
      counts.back() = std::max<std::int64_t>(2, ceil_div(counts.back(), round)) * round;
    }
  }
  return block_kernel(*one.shape, counts, false);
}

/// Two rounds of all lanes at least: nests of one round have no loop over them.
bool has_rounds(const Kernel& kernel, const VectorizedReduction& parts) {
  for (const Computation& statement : kernel.statements)
    if (const int d = statement.domain.find(parts.dim); statement.name == parts.statement && d >= 0)
      return statement.domain.dims[static_cast<std::size_t>(d)].extent >= 2 * parts.lanes * parts.depth;
  return false;
}

/// Vectorized reductions whose dim has as many positions at these sizes.
Kernel read_fitting_lanes(const yaml::Node* written, const Kernel& kernel, Schedule& schedule, Diagnostics& problems) {
  Kernel made = kernel;
  for (const yaml::Node& item : written && written->kind == yaml::Kind::list ? written->items : yaml::Node{}.items) {
    auto parts = parse_vectorized_reduction(item.kind == yaml::Kind::scalar ? item.scalar : "", item.where);
    if (!parts) {
      problems.insert(problems.end(), parts.diagnostics().begin(), parts.diagnostics().end());
      return made;
    }
    auto next = vectorize_reductions(made, {*parts}, item.where);
    if (!next || !has_rounds(made, *parts)) continue;
    made = std::move(*next);
    schedule.lanes.push_back(std::move(*parts));
  }
  return made;
}

const Do* last_do(const Nest& nest) { return nest.lines.empty() ? nullptr : std::get_if<Do>(&nest.lines.back().is); }

/// Nests that were written for sizes where a vectorized reduction leaves no remainder, for a kernel with it: `sum`
/// becomes the horizontal sum `sum_whole`, and the other statements of the remainder are scalar code. A reduction that
/// is not vectorized here is scalar code, too.
std::vector<Nest> fitted_nests(const std::vector<Nest>& nests, const Kernel& kernel) {
  if (nests.size() == kernel.statements.size()) return nests;
  const auto named = [&](const std::string& name) {
    return std::find_if(nests.begin(), nests.end(),
                        [&](const Nest& nest) { return last_do(nest) != nullptr && last_do(nest)->statement == name; });
  };
  const auto exists = [&](const std::string& name) {
    return std::any_of(kernel.statements.begin(), kernel.statements.end(),
                       [&](const Computation& one) { return one.name == name; });
  };
  std::vector<Nest> fitted;
  for (const Computation& statement : kernel.statements) {
    const std::string& name = statement.name;
    const std::string sum = name.ends_with("_whole") ? name.substr(0, name.size() - 6) : name;
    const auto written = named(sum);
    const bool other = named(name + "_parts") != nests.end() && (exists(name + "_whole") || !exists(name + "_parts"));
    if (written == nests.end() || other) {
      fitted.push_back(nest_of_all_dims(statement));
      continue;
    }
    fitted.push_back(*written);
    if (sum == name) continue;
    const std::string output = kernel.tensors[statement.write.tensor.index()].name;
    for (Line& line : fitted.back().lines) {
      if (auto* one = std::get_if<Do>(&line.is)) one->statement = name;
      auto* stage = std::get_if<Stage>(&line.is);
      if (stage != nullptr && stage->tensor + "_whole" == output) stage->tensor = output;
    }
  }
  return fitted;
}

/// A statement that the file has no nest for would become scalar code by `fitted_nests`. `split`: the kernel without
/// lanes; `lanes`: what the file says, also where they do not fit.
void check_all_written(const std::vector<Nest>& nests, const Kernel& split, const std::vector<const yaml::Node*>& lanes,
                       const SourceLocation& where, Diagnostics& problems) {
  std::vector<std::string> names;
  for (const Computation& statement : split.statements) names.push_back(statement.name);
  for (const yaml::Node* list : lanes)
    for (const yaml::Node& item : list != nullptr ? list->items : yaml::Node{}.items)
      if (const auto parts = parse_vectorized_reduction(item.scalar, item.where))
        names.push_back(parts->statement + "_parts");
  for (const std::string& name : names)
    if (std::none_of(nests.begin(), nests.end(),
                     [&](const Nest& nest) { return last_do(nest) != nullptr && last_do(nest)->statement == name; }))
      problems.push_back(error_at(where, fmt::format("no nest here is for statement {}", name),
                                  "write a nest for each statement of the kernel, scalar code, too"));
}

/// `splits`, `lanes` and `nests` that were written for other sizes.
void read_fitted(const yaml::Node& node, const Kernel& whole, const HardwareModel& model, Schedule& schedule,
                 Diagnostics& problems) {
  yaml::MapReader reader(node, "a version", problems);
  reader.child("when");
  const Kernel split = read_splits(reader.child("splits"), whole, schedule, problems);
  const yaml::Node* const lanes = reader.child("lanes");
  const Kernel made = read_fitting_lanes(lanes, split, schedule, problems);
  const yaml::Node* const nests = reader.child("nests");
  reader.finish();
  if (nests != nullptr) schedule.nests = read_nests(*nests, problems);
  if (problems.empty() && schedule.nests.size() != made.statements.size())
    check_all_written(schedule.nests, split, {lanes}, node.where, problems);
  schedule.nests = fitted_nests(schedule.nests, made);
  if (problems.empty()) check(schedule, made, model, node.where, problems);
}

bool is_schedule_of_each(const yaml::Node& statements, std::size_t count, Diagnostics& problems) {
  if (!is_list_of_maps(statements, "'statements' must be a list of schedules", "write - nest:", problems)) return false;
  if (statements.items.size() == count) return true;
  problems.push_back(error_at(statements.where,
                              fmt::format("{} schedules for {} statements", statements.items.size(), count),
                              "write a schedule for each statement of the kernel, in their order"));
  return false;
}

/// Were sums in lanes written for a dim that is a number here, since a size was bound, which may leave some?
bool has_lanes_of_numbers(const ScheduledStatement& one, const yaml::Node* written) {
  for (const yaml::Node& item : written && written->kind == yaml::Kind::list ? written->items : yaml::Node{}.items) {
    const auto parts = parse_vectorized_reduction(item.kind == yaml::Kind::scalar ? item.scalar : "", item.where);
    const auto is_it = [&](const GridAxis& axis) { return parts && axis.dim == parts->dim; };
    if (parts && (!one.shape || std::none_of(one.shape->axes.begin(), one.shape->axes.end(), is_it))) return true;
  }
  return false;
}

/// As it is written for this kernel, or with the remainders that its sums in lanes leave here.
Schedule read_schedule_of(const yaml::Node& node, const ScheduledStatement& of, const HardwareModel& model,
                          const Schedule& head, Diagnostics& problems) {
  const yaml::Node* const lanes = node.find("lanes");
  Schedule schedule = head;
  Diagnostics own;
  yaml::MapReader reader(node, "the schedule of a statement", own);
  reader.child("when");
  read_body(reader, without_rest_of_lanes(of, lanes), model, schedule, own);
  if (!own.empty() && has_lanes_of_numbers(of, lanes)) {
    Schedule fitted = head;
    Diagnostics others;
    read_fitted(node, of.kernel, model, fitted, others);
    if (others.empty()) return fitted;
  }
  problems.insert(problems.end(), own.begin(), own.end());
  return schedule;
}

/// One of the whole kernel, or by statement.
void read_schedules(const yaml::Node& node, const std::vector<ScheduledStatement>& kernels, const HardwareModel& model,
                    const Schedule& head, ScheduleVersion& version, Diagnostics& problems) {
  const yaml::Node* statements = node.find("statements");
  if (kernels.size() == 1 && !statements) {
    version.schedules = {read_schedule_of(node, kernels[0], model, head, problems)};
    return;
  }
  yaml::MapReader reader(node, "a version", problems);
  for (const char* key : {"when", "statements"}) reader.child(key);
  reader.finish();
  if (!statements) {
    problems.push_back(error_at(version.where,
                                fmt::format("this version has no 'statements', which are {} here", kernels.size()),
                                "write statements: with a schedule for each statement of the kernel"));
    return;
  }
  if (!is_schedule_of_each(*statements, kernels.size(), problems)) return;
  for (std::size_t s = 0; s < kernels.size(); ++s)
    version.schedules.push_back(read_schedule_of(statements->items[s], kernels[s], model, head, problems));
}

/// Where a version is reached by no size, or a size by no version. `bound`: conditions compare numbers that may be
/// symbolic elsewhere, so versions that are reached by none are left out.
void check_cover(std::vector<ScheduleVersion>& versions, const SizeFacts& facts, bool bound, Diagnostics& problems) {
  std::vector<ScheduleVersion> reached;
  std::vector<std::vector<SizeFact>> guards;
  for (ScheduleVersion& version : versions) {
    SizeFacts served = facts;
    served.between.insert(served.between.end(), version.when.begin(), version.when.end());
    if (!uncovered_sizes(served, guards)) {
      if (bound) continue;
      const bool empty = !uncovered_sizes(served, {});
      problems.push_back(
          error_at(version.where,
                   fmt::format("no size reaches version {}: {}", reached.size() + 1,
                               empty ? fmt::format("its conditions hold for none of {}", print(facts))
                                     : "the versions before it serve all of its sizes"),
                   empty ? "leave the version out, or change 'when'" : "state its sizes: when: [\"M <= 8\"]"));
      return;
    }
    guards.push_back(version.when);
    reached.push_back(std::move(version));
  }
  versions = std::move(reached);
  const auto none = uncovered_sizes(facts, guards);
  if (!none) return;
  std::string sizes;
  for (const SymbolicSize& size : facts.sizes)
    if (const auto found = none->find(size.name); found != none->end())
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", size.name, found->second);
  problems.push_back(error_at(versions.empty() ? SourceLocation{} : versions.back().when.front().where,
                              sizes.empty() ? "it was not proved that the versions serve all sizes"
                                            : fmt::format("no version serves {}", sizes),
                              "leave out 'when' of the last version"));
}

/// Names of the kernel's sizes, as expressions over those that are symbolic. Sizes of a formula have the names of its
/// iterators, also those that are bound.
SizeExpressions names_of(const SymbolicKernel& kernel) {
  SizeExpressions names(kernel.sizes.begin(), kernel.sizes.end());
  for (const SymbolicSize& size : kernel.facts.sizes) names[size.name] = AffineExpr::dim(size.name);
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    for (std::size_t d = 0; d < kernel.statements[s].extents.size(); ++d)
      if (const AffineExpr& extent = kernel.statements[s].extents[d]; extent.is_constant())
        names.try_emplace(kernel.sample.statements[s].domain.dims[d].name, extent);
  return names;
}

/// What the schedules are for: the kernel if it has rows and the file has no `statements`, else each statement of it. A
/// kernel without rows may have them once sizes are bound.
Result<std::vector<ScheduledStatement>> scheduled_for_all_sizes(const SymbolicKernel& kernel, const yaml::Node& list) {
  const bool by_statement = std::any_of(list.items.begin(), list.items.end(), [](const yaml::Node& version) {
    return version.find("statements") != nullptr;
  });
  if (!by_statement && rows_of(kernel)) return std::vector<ScheduledStatement>{{kernel.sample, {}}};
  std::vector<ScheduledStatement> kernels;
  for (std::size_t s = 0; s < kernel.sample.statements.size(); ++s) {
    auto shape = grid_shape(kernel, s);
    if (!shape) return shape.diagnostics();
    Kernel statement = shape->kernel;
    kernels.push_back({std::move(statement), std::move(*shape)});
  }
  return kernels;
}

/// Does a condition compare a size that is a number in this kernel?
bool compares_numbers(const yaml::Node& list, const SizeExpressions& names) {
  for (const yaml::Node& version : list.items)
    for (const yaml::Node& item : version.find("when") ? version.find("when")->items : yaml::Node{}.items)
      if (const auto condition = parse_condition(item.scalar, item.where, ""))
        for (const Reference& one : references(*condition))
          if (const auto size = names.find(one.object); size != names.end() && size->second.is_constant()) return true;
  return false;
}

/// The kernel of one statement with dims fused, which the schedules are for if they are not for the statement itself.
std::optional<ScheduledStatement> fused(const std::vector<ScheduledStatement>& kernels) {
  auto shape = kernels.size() == 1 && kernels[0].shape ? fused_dims(*kernels[0].shape) : std::nullopt;
  if (!shape) return std::nullopt;
  Kernel statement = shape->kernel;
  return ScheduledStatement{std::move(statement), std::move(shape)};
}

/// By version, and what is wrong with them.
std::pair<std::vector<ScheduleVersion>, Diagnostics> read_list(const yaml::Node& list,
                                                               const std::vector<ScheduledStatement>& kernels,
                                                               const SizeExpressions& names, const Schedule& head,
                                                               const HardwareModel& model) {
  std::vector<ScheduleVersion> versions;
  Diagnostics problems;
  for (const yaml::Node& item : list.items) {
    Diagnostics own;  // so that all versions are read
    ScheduleVersion& version = versions.emplace_back();
    version.where = item.where;
    version.when = read_guard(item.find("when"), names, own);
    read_schedules(item, kernels, model, head, version, own);
    problems.insert(problems.end(), own.begin(), own.end());
  }
  return {std::move(versions), std::move(problems)};
}

Result<std::vector<ScheduleVersion>> read_versions(const yaml::Node& root, const SymbolicKernel& kernel,
                                                   const HardwareModel& model) {
  Diagnostics problems;
  yaml::MapReader reader(root, "a schedule file", problems);
  const Schedule head = read_head(reader, kernel.sample.name, model, problems);
  const yaml::Node* list = reader.child("versions");
  reader.finish();
  if (!are_versions(*list, problems)) return problems;
  const auto kernels = scheduled_for_all_sizes(kernel, *list);
  if (!kernels) return kernels.diagnostics();
  const SizeExpressions names = names_of(kernel);
  auto [versions, wrong] = read_list(*list, *kernels, names, head, model);
  if (const auto together = wrong.empty() ? std::nullopt : fused(*kernels)) {
    auto of_fused = read_list(*list, {*together}, names, head, model);
    if (of_fused.second.empty()) std::tie(versions, wrong) = std::move(of_fused);
  }
  problems.insert(problems.end(), wrong.begin(), wrong.end());
  if (problems.empty()) check_cover(versions, kernel.facts, compares_numbers(*list, names), problems);
  if (!problems.empty()) return problems;
  return versions;
}

/// Sizes of a kernel with numbers by their names; extents of iterators where it has no names for them.
SizeExpressions numbers_of(const Kernel& kernel) {
  SizeExpressions numbers;
  for (const auto& [name, value] : kernel.sizes) numbers[name] = AffineExpr(value);
  for (const Computation& statement : kernel.statements)
    for (const Dim& dim : statement.domain.dims) numbers.try_emplace(dim.name, AffineExpr(dim.extent));
  return numbers;
}

/// The schedule of one statement after the other, as one of the whole kernel.
void join_statements(const yaml::Node& statements, const Kernel& whole, const HardwareModel& model, Schedule& joined,
                     Diagnostics& problems) {
  if (!is_schedule_of_each(statements, whole.statements.size(), problems)) return;
  Kernel split = whole;
  std::vector<const yaml::Node*> lanes;
  for (const yaml::Node& item : statements.items) {
    split = read_splits(item.find("splits"), split, joined, problems);
    lanes.push_back(item.find("lanes"));
  }
  Kernel kernel = split;
  for (const yaml::Node* written : lanes) kernel = read_fitting_lanes(written, kernel, joined, problems);
  for (const yaml::Node& item : statements.items) {
    if (const yaml::Node* nest = item.find("nest")) joined.nests.push_back(read_nest(*nest, problems));
    if (const yaml::Node* nests = item.find("nests"))
      for (Nest& one : read_nests(*nests, problems)) joined.nests.push_back(std::move(one));
  }
  if (problems.empty() && joined.nests.size() != kernel.statements.size())
    check_all_written(joined.nests, split, lanes, statements.where, problems);
  joined.nests = fitted_nests(joined.nests, kernel);
  if (problems.empty()) check(joined, kernel, model, statements.where, problems);
}

/// Of a file with versions: the one that serves the sizes of the kernel, which are numbers.
void read_version_at(const yaml::Node& list, const Kernel& kernel, const HardwareModel& model, Schedule& schedule,
                     Diagnostics& problems) {
  if (!are_versions(list, problems)) return;
  const SizeExpressions numbers = numbers_of(kernel);
  for (const yaml::Node& item : list.items) {
    const std::vector<SizeFact> guard = read_guard(item.find("when"), numbers, problems);
    if (!problems.empty()) return;
    const auto holds = [](const SizeFact& fact) { return fact.nonnegative.constant() >= 0; };
    if (!std::all_of(guard.begin(), guard.end(), holds)) continue;
    yaml::MapReader version(item, "a version", problems);
    version.child("when");
    if (const yaml::Node* statements = version.child("statements")) {
      version.finish();
      return join_statements(*statements, kernel, model, schedule, problems);
    }
    if (item.find("lanes") != nullptr) return read_fitted(item, kernel, model, schedule, problems);
    return read_body(version, kernel, model, schedule, problems);
  }
  problems.push_back(
      error_at(list.where, "no version serves the sizes of this kernel", "leave out 'when' of the last version"));
}

Result<Schedule> read(const yaml::Node& root, const Kernel& whole, const HardwareModel& model) {
  Diagnostics problems;
  yaml::MapReader reader(root, "a schedule file", problems);
  Schedule schedule = read_head(reader, whole.name, model, problems);
  if (const yaml::Node* versions = root.find("versions")) {
    reader.child("versions");
    reader.finish();
    if (problems.empty()) read_version_at(*versions, whole, model, schedule, problems);
  } else {
    read_body(reader, whole, model, schedule, problems);
  }
  if (!problems.empty()) return problems;
  return schedule;
}

/// With the file and the source line where they are missing.
Diagnostics placed(Diagnostics diagnostics, const std::string& text, const std::string& file) {
  const yaml::Source source(text);
  for (Diagnostic& d : diagnostics) {
    if (d.where.file.empty()) d.where.file = file;
    if (d.source_line.empty()) source.attach(d);
  }
  return diagnostics;
}

}  // namespace

Result<Schedule> parse_schedule(const std::string& text, const std::string& file, const Kernel& whole,
                                const HardwareModel& model) {
  const Kernel kernel = one_step_of(whole);
  Diagnostics diagnostics;
  const auto root = yaml::parse_text(text, file, diagnostics);
  if (!root) return diagnostics;
  auto schedule = read(*root, kernel, model);
  if (schedule && diagnostics.empty()) return schedule;
  diagnostics.insert(diagnostics.end(), schedule.diagnostics().begin(), schedule.diagnostics().end());
  return placed(std::move(diagnostics), text, file);
}

Result<std::vector<ScheduleVersion>> parse_schedule_versions(const std::string& text, const std::string& file,
                                                             const SymbolicKernel& kernel, const HardwareModel& model) {
  Diagnostics diagnostics;
  const auto root = yaml::parse_text(text, file, diagnostics);
  if (!root || !diagnostics.empty()) return placed(std::move(diagnostics), text, file);
  if (!root->find("versions")) return std::vector<ScheduleVersion>{};
  auto versions = read_versions(*root, kernel, model);
  if (!versions) return placed(versions.diagnostics(), text, file);
  return versions;
}

Result<std::vector<ScheduleVersion>> load_schedule_versions(const std::string& path, const SymbolicKernel& kernel,
                                                            const HardwareModel& model) {
  auto text = yaml::read_text_file(path);
  if (!text) return text.diagnostics();
  return parse_schedule_versions(*text, path, kernel, model);
}

Result<Schedule> load_schedule(const std::string& path, const Kernel& kernel, const HardwareModel& model) {
  auto text = yaml::read_text_file(path);
  if (!text) return text.diagnostics();
  return parse_schedule(*text, path, kernel, model);
}

Diagnostics verify(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model) {
  Diagnostics problems;
  const auto transformed = scheduled_kernel(one_step_of(kernel), schedule);
  if (!transformed) return transformed.diagnostics();
  check(schedule, *transformed, model, {}, problems);
  return problems;
}

}  // namespace isamap
