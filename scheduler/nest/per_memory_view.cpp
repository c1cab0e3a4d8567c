// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/per_memory_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "ir/text/access_name.h"
#include "isamap/mapper.h"
#include "scheduler/nest/resolved_nest.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

struct Steps {
  int dim = 0;
  std::int64_t count = 1;
  std::string axis;  ///< spatial only
  SourceLocation where;
  std::int64_t tile = 1;  ///< of the loop: product of the counts below it
};

struct Level {
  MemoryId memory;
  std::vector<Steps> loops, spatial;
  std::vector<std::string> keep;
  bool keeps_all = true;
  std::vector<std::pair<std::string, std::int64_t>> buffers;
  SourceLocation where;
  bool keeps(const std::string& tensor) const {
    return keeps_all || std::find(keep.begin(), keep.end(), tensor) != keep.end();
  }
};

std::vector<std::string> tensors_of(const Kernel& kernel, const Computation& statement) {
  std::vector<std::string> names;
  for (int a = 0; a < access_count(statement); ++a) {
    const std::string name = access_name(kernel.tensors, statement, a);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

/// Reads the entries; the statement is fused.
class LevelsReader {
 public:
  LevelsReader(const Kernel& kernel, const Computation& statement, const HardwareModel& model, Diagnostics& problems)
      : kernel_(kernel), statement_(statement), model_(model), problems_(problems) {}

  std::vector<Level> read(const yaml::Node& node) {
    std::vector<Level> levels;
    if (node.kind != yaml::Kind::list || node.items.empty())
      problems_.push_back(error_at(node.where, "levels must be a list of memories, outermost first",
                                   "write - {memory: NAME, loops: [i 4]}"));
    for (const yaml::Node& item : node.items) levels.push_back(level(item));
    return levels;
  }

 private:
  Level level(const yaml::Node& item) {
    Level level;
    level.where = item.where;
    yaml::MapReader reader(item, "a level", problems_);
    if (const auto name = reader.text("memory", true)) {
      const auto memory = model_.find_memory(*name);
      std::vector<std::string> known;
      for (const Memory& m : model_.memories()) known.push_back(m.name);
      if (memory)
        level.memory = *memory;
      else
        problems_.push_back(
            error_at(item.where, "no memory '" + *name + "' in " + model_.name, known_words(*name, known)));
    }
    level.loops = steps(reader, "loops", false);
    level.spatial = steps(reader, "spatial", true);
    if (reader.has("keep")) {
      level.keeps_all = false;
      level.keep = reader.texts("keep");
      for (const std::string& t : level.keep) tensor(t, reader.child("keep")->where);
    }
    if (const yaml::Node* buffers = reader.child("buffers"))
      for (const auto& [name, count] : buffers->entries) {
        tensor(name, count.where);
        const auto n = yaml::to_integer(count);
        if (!n || *n < 1 || *n > 64)
          problems_.push_back(error_at(count.where, "buffers of " + name + " must be a number from 1 to 64"));
        level.buffers.push_back({name, n.value_or(1)});
      }
    reader.finish();
    return level;
  }

  static std::string known_words(const std::string& word, const std::vector<std::string>& known) {
    const std::string guess = yaml::nearest(word, known);
    if (!guess.empty()) return "did you mean '" + guess + "'?";
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "known: " : ", ") + k;
    return list;
  }

  void tensor(const std::string& name, const SourceLocation& where) {
    const auto known = tensors_of(kernel_, statement_);
    if (std::find(known.begin(), known.end(), name) == known.end())
      problems_.push_back(error_at(where, "no tensor '" + name + "' in " + statement_.name, known_words(name, known)));
  }

  std::vector<Steps> steps(yaml::MapReader& reader, const std::string& key, bool spatial) {
    std::vector<Steps> result;
    const yaml::Node* node = reader.child(key);
    if (!node || node->kind == yaml::Kind::null) return result;
    const std::string form = spatial ? "'m 8' or 'm 8 x'" : "'m 4'";
    if (node->kind != yaml::Kind::list) {
      problems_.push_back(error_at(node->where, key + " must be a list such as [m 4, k 2]"));
      return result;
    }
    for (const yaml::Node& item : node->items) {
      std::istringstream words(item.scalar);
      std::string dim, count, axis, more;
      words >> dim >> count >> axis >> more;
      Steps s;
      s.where = item.where;
      s.axis = axis;
      const auto [end, problem] = std::from_chars(count.data(), count.data() + count.size(), s.count);
      if (problem != std::errc() || end != count.data() + count.size() || s.count < 1 || !more.empty() ||
          (!spatial && !axis.empty())) {
        problems_.push_back(error_at(item.where, "'" + item.scalar + "' in " + key + " is not of the form " + form));
        continue;
      }
      s.dim = statement_.domain.find(dim);
      std::vector<std::string> known;
      for (const Dim& d : statement_.domain.dims) known.push_back(d.name);
      if (s.dim < 0)
        problems_.push_back(
            error_at(item.where, "no dim '" + dim + "' in " + statement_.name, known_words(dim, known)));
      else
        result.push_back(s);
    }
    return result;
  }

  const Kernel& kernel_;
  const Computation& statement_;
  const HardwareModel& model_;
  Diagnostics& problems_;
};

/// Tiles from the inside out; then, from the outside in, checks that trip counts equal ceil(parent / tile).
void find_tiles(std::vector<Level>& levels, const Computation& statement, const std::vector<std::int64_t>& block,
                Diagnostics& problems) {
  std::vector<std::int64_t> tile = block;
  std::vector<Steps*> order;
  for (Level& level : levels) {
    for (Steps& s : level.loops) order.push_back(&s);
    for (Steps& s : level.spatial) order.push_back(&s);
  }
  for (auto s = order.rbegin(); s != order.rend(); ++s) {
    std::int64_t& t = tile[static_cast<std::size_t>((*s)->dim)];
    (*s)->tile = t;
    t = checked_mul(t, (*s)->count).value_or(INT64_MAX / 2);
  }
  std::vector<std::int64_t> parent;
  for (std::size_t d = 0; d < tile.size(); ++d) {
    const Dim& dim = statement.domain.dims[d];
    parent.push_back(dim.extent);
    if (tile[d] < dim.extent)
      problems.push_back(
          error_at(levels.front().where, fmt::format("the steps of {} cover {} of {}", dim.name, tile[d], dim.extent)));
  }
  for (const Steps* s : order) {
    std::int64_t& p = parent[static_cast<std::size_t>(s->dim)];
    const std::int64_t needed = ceil_div(p, s->tile);
    if (needed < s->count && p > 0)
      problems.push_back(error_at(s->where, fmt::format("{} {}: {} steps of {} already cover {}",
                                                        statement.domain.dims[static_cast<std::size_t>(s->dim)].name,
                                                        s->count, needed, s->tile, p)));
    p = std::min(p, s->tile);
  }
}

/// The only instruction that matches the statement, in its first mapping.
Result<Mapping> only_mapping(const Kernel& kernel, const HardwareModel& model) {
  MapOptions options;
  options.max_mappings = 64;
  auto mapped = enumerate_mappings(kernel, model, options);
  if (!mapped) return mapped.diagnostics();
  std::erase_if(mapped->mappings, [](const Mapping& m) { return !m.tree.empty(); });
  if (mapped->mappings.empty())
    return error("no instruction of " + model.name + " matches " + kernel.statements.front().name);
  for (const Mapping& m : mapped->mappings)
    if (m.instruction != mapped->mappings.front().instruction)
      return error(fmt::format("levels needs the only matching instruction; {} and {} match",
                               model.instruction(mapped->mappings.front().instruction).name,
                               model.instruction(m.instruction).name),
                   "write the schedule as a nest");
  return mapped->mappings.front();
}

/// May consecutive tiles of this access overlap: does a subscript add dims?
bool has_window(const Computation& statement, const Kernel& kernel, const std::string& tensor) {
  for (int a = 1; a < access_count(statement); ++a)
    if (access_name(kernel.tensors, statement, a) == tensor)
      for (const AffineExpr& e : access_of(statement, a).index)
        if (e.is_linear() && e.names().size() > 1) return true;
  return false;
}

class LevelsWriter {
 public:
  LevelsWriter(const Kernel& kernel, const Computation& statement, const HardwareModel& model, Diagnostics& problems)
      : kernel_(kernel), statement_(statement), model_(model), problems_(problems) {}

  Nest write(const std::vector<Level>& levels, const Mapping& mapping) {
    if (!keeps_everything(levels.front()))
      problems_.push_back(error_at(levels.front().where,
                                   "tensors live in " + model_.memory(levels.front().memory).name +
                                       ", which keeps all of them: " + joined(tensors_of(kernel_, statement_)),
                                   "leave keep out"));
    if (levels.front().memory != model_.home())
      problems_.push_back(
          error_at(levels.front().where,
                   "the outermost level must be " + model_.memory(model_.home()).name + ", where tensors live"));
    Nest nest;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const Level& level = levels[l];
      if (l > 0) stages(level, nest);
      for (const Steps& s : level.loops) loop(s, "", nest);
      for (const Steps& s : level.spatial)
        if (const auto unit = unit_of(s, level, l + 1 < levels.size() ? &levels[l + 1] : nullptr)) loop(s, *unit, nest);
    }
    add({do_line(mapping, kernel_, model_)}, levels.back().where, nest);
    return nest;
  }

 private:
  static std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  }

  bool keeps_everything(const Level& level) const {
    const auto all = tensors_of(kernel_, statement_);
    return std::all_of(all.begin(), all.end(), [&](const std::string& tensor) { return level.keeps(tensor); });
  }

  static void add(Line line, const SourceLocation& where, Nest& nest) {
    line.where = where;
    nest.lines.push_back(std::move(line));
  }

  void loop(const Steps& s, const std::string& unit, Nest& nest) {
    if (s.count == 1) return;
    For f;
    f.loops = {{statement_.domain.dims[static_cast<std::size_t>(s.dim)].name, s.tile}};
    f.unit = unit;
    add({f}, s.where, nest);
  }

  void stages(const Level& level, Nest& nest) {
    for (const std::string& tensor : tensors_of(kernel_, statement_)) {
      if (!level.keeps(tensor)) continue;
      Stage stage;
      stage.tensor = tensor;
      stage.memory = model_.memory(level.memory).name;
      stage.slide = has_window(statement_, kernel_, tensor);
      for (const auto& [name, count] : level.buffers)
        if (name == tensor) stage.buffers = static_cast<int>(count);
      add({stage}, level.where, nest);
    }
  }

  std::optional<std::string> unit_of(const Steps& s, const Level& level, const Level* below) {
    const UnitId own = model_.memory(level.memory).per;
    const UnitId inner = below ? model_.memory(below->memory).per : own;
    if (!below || inner == own) {
      problems_.push_back(error_at(s.where, "spatial loops of " + model_.memory(level.memory).name +
                                                " need a memory below it that another unit owns"));
      return std::nullopt;
    }
    return model_.unit(inner).name + (s.axis.empty() ? "" : "." + s.axis);
  }

  const Kernel& kernel_;
  const Computation& statement_;
  const HardwareModel& model_;
  Diagnostics& problems_;
};

}  // namespace

Result<Nest> nest_of_levels(const yaml::Node& node, const Kernel& kernel, const HardwareModel& model) {
  if (kernel.statements.size() != 1)
    return error_at(node.where,
                    fmt::format("levels describes one statement; {} has {}", kernel.name, kernel.statements.size()),
                    "write nests");
  auto mapping = only_mapping(kernel, model);
  if (!mapping) {
    Diagnostics diagnostics = mapping.diagnostics();
    for (Diagnostic& d : diagnostics)
      if (d.where.line == 0) d.where = node.where;
    return diagnostics;
  }
  const Computation statement = fuse(kernel.statements.front(), *mapping);
  std::vector<std::int64_t> block(statement.domain.dims.size(), 1);
  for (std::size_t m = 0; m < mapping->dims.size(); ++m) {
    const int d = mapping->dims[m].empty() ? -1 : statement.domain.find(fused_name(mapping->dims[m]));
    if (d >= 0) block[static_cast<std::size_t>(d)] = instruction_form(*mapping, model)->ranges[m].max;
  }
  Diagnostics problems;
  std::vector<Level> levels = LevelsReader(kernel, statement, model, problems).read(node);
  if (!problems.empty() || levels.empty()) return problems;
  find_tiles(levels, statement, block, problems);
  Nest nest = LevelsWriter(kernel, statement, model, problems).write(levels, *mapping);
  if (!problems.empty()) return problems;
  return nest;
}

}  // namespace isamap
