// SPDX-License-Identifier: Apache-2.0
// Schedule files: YAML with one of `nest`, `nests` and `levels`, and the checks of a schedule against its kernel and
// machine.

#include <fmt/format.h>

#include "ir/verify/recurrence.h"
#include "isamap/scheduler.h"
#include "mapper/advice/statement_splits.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/per_memory_view.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/scheduled_kernel.h"
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

Result<Schedule> read(const yaml::Node& root, const Kernel& whole, const HardwareModel& model) {
  Diagnostics problems;
  yaml::MapReader reader(root, "a schedule file", problems);
  Schedule schedule;
  schedule.name = reader.text("schedule", true).value_or("");
  same_name(reader, "kernel", whole.name, schedule.kernel, problems);
  same_name(reader, "target", model.name, schedule.target, problems);
  same_sizes(reader.child("sizes"), model, schedule, problems);
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
  if (forms != 1)
    problems.push_back(
        error_at(root.where, fmt::format("a schedule has one of nest, nests and levels; found {}", forms)));
  if (!problems.empty()) return problems;
  if (nest) schedule.nests = {read_nest(*nest, problems)};
  if (nests) schedule.nests = read_nests(*nests, problems);
  if (levels) {
    auto made = nest_of_levels(*levels, kernel, model);
    if (!made) return made.diagnostics();
    schedule.nests = {std::move(*made)};
  }
  if (problems.empty()) check(schedule, kernel, model, root.where, problems);
  if (!problems.empty()) return problems;
  return schedule;
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
  const yaml::Source source(text);
  for (Diagnostic& d : diagnostics) {
    if (d.where.file.empty()) d.where.file = file;
    if (d.source_line.empty()) source.attach(d);
  }
  return diagnostics;
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
