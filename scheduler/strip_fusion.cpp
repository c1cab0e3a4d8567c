// SPDX-License-Identifier: Apache-2.0
#include "scheduler/strip_fusion.h"

#include <algorithm>
#include <map>

#include "scheduler/nest/fused_tiles.h"

namespace isamap {
namespace {

/// The producer whose tile this nest uses.
std::optional<std::size_t> producer_of(const Kernel& kernel, const Nest& nest) {
  for (const Line& line : nest.lines)
    if (const auto* stage = std::get_if<Stage>(&line.is); stage != nullptr && !stage->from.empty())
      for (std::size_t s = 0; s < kernel.statements.size(); ++s)
        if (kernel.statements[s].name == stage->from) return s;
  return std::nullopt;
}

bool has_consumer_tile(const Nest& nest) {
  return std::any_of(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    return stage != nullptr && !stage->then.empty();
  });
}

/// Reader dims by writer dims; empty unless both index the tensor by plain dims.
std::map<std::string, std::string> renamed(const Computation& writer, const Computation& reader) {
  std::map<std::string, std::string> names;
  for (const Access& read : reader.reads) {
    if (read.tensor != writer.write.tensor) continue;
    for (std::size_t axis = 0; axis < read.index.size(); ++axis) {
      const auto own = writer.write.index[axis].as_dim(), theirs = read.index[axis].as_dim();
      if (!own || (!theirs && !read.index[axis].names().empty())) return {};
      if (theirs) names[*own] = *theirs;
    }
    break;
  }
  return names;
}

bool is_parallel(const Computation& statement, const std::string& dim) {
  const int at = statement.domain.find(dim);
  return at >= 0 && statement.domain.dims[static_cast<std::size_t>(at)].kind == DimKind::parallel;
}

/// Loops on units, in dims of the first statement of the chain.
std::vector<Line> in_dims_of_first(std::vector<Line> loops, const std::map<std::string, std::string>& own) {
  for (Line& line : loops)
    for (TiledLoop& loop : std::get<For>(line.is).loops)
      for (const auto& [first, theirs] : own)
        if (loop.dim == theirs) {
          loop.dim = first;
          break;
        }
  return loops;
}

struct NestParts {
  std::vector<Line> copies, on_units, others;
};

/// Packed copies, then loops on units, then the others; nothing: inner loops run on units.
std::optional<NestParts> split_nest(const Nest& nest) {
  NestParts parts;
  std::size_t at = 0;
  const auto loop = [&](std::size_t l) { return std::get_if<For>(&nest.lines[l].is); };
  for (; at < nest.lines.size() && std::holds_alternative<Stage>(nest.lines[at].is); ++at)
    parts.copies.push_back(nest.lines[at]);
  for (; at < nest.lines.size() && loop(at) != nullptr && !loop(at)->unit.empty(); ++at)
    parts.on_units.push_back(nest.lines[at]);
  for (; at < nest.lines.size(); ++at) {
    if (loop(at) != nullptr && (!loop(at)->unit.empty() || !loop(at)->combine.empty())) return std::nullopt;
    parts.others.push_back(nest.lines[at]);
  }
  return parts;
}

/// Without loops whose tile covers a whole strip.
std::vector<Line> without_strip_loops(const std::vector<Line>& lines, const std::string& dim, std::int64_t rows) {
  std::vector<Line> kept;
  for (const Line& line : lines) {
    kept.push_back(line);
    auto* loop = std::get_if<For>(&kept.back().is);
    if (loop == nullptr) continue;
    std::erase_if(loop->loops, [&](const TiledLoop& w) { return w.dim == dim && w.tile >= rows; });
    if (loop->loops.empty()) kept.pop_back();
  }
  return kept;
}

bool stages(const std::vector<Line>& lines, const std::string& tensor, const std::string& memory) {
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    return stage != nullptr && stage->tensor == tensor && stage->memory == memory;
  });
}

}  // namespace

std::vector<StripChain> strip_chains(const Kernel& kernel, const Schedule& fused, std::size_t last) {
  std::vector<StripChain> chains;
  for (std::size_t s = last; s-- > 0;) {
    if (!reads(kernel.statements[last], kernel.statements[s].write.tensor)) continue;
    std::vector<std::size_t> statements{last, s};
    while (const auto before = producer_of(kernel, fused.nests[statements.back()])) statements.push_back(*before);
    std::reverse(statements.begin(), statements.end());
    const auto last_but_one = fused.nests[s];
    if (has_consumer_tile(last_but_one)) continue;  // fused with another consumer
    for (const Dim& dim : kernel.statements[statements.front()].domain.dims) {
      StripChain chain{statements, {dim.name}};
      for (std::size_t i = 0; i < statements.size(); ++i) {
        const Computation& own = kernel.statements[statements[i]];
        if (i > 0) {
          const auto names = renamed(kernel.statements[statements[i - 1]], own);
          const auto found = names.find(chain.dims.back());
          if (found == names.end()) break;
          chain.dims.push_back(found->second);
        }
        if (!is_parallel(own, chain.dims.back())) break;
        if (i + 1 == statements.size()) chains.push_back(chain);
      }
    }
  }
  return chains;
}

std::optional<std::vector<Nest>> in_strips(const Kernel& kernel, const HardwareModel& model,
                                           const std::vector<Nest>& unfused, const StripChain& chain,
                                           std::int64_t rows) {
  const std::string& home = model.memory(model.home()).name;
  std::vector<Nest> nests;
  std::map<std::string, std::string> names;  // dims of this statement by dims of the first
  std::vector<Line> on_units;
  for (std::size_t i = 0; i < chain.statements.size(); ++i) {
    const Computation& own = kernel.statements[chain.statements[i]];
    const auto parts = split_nest(unfused[chain.statements[i]]);
    if (!parts) return std::nullopt;
    if (i == 0) {
      for (const Dim& dim : own.domain.dims) names[dim.name] = dim.name;
      on_units = parts->on_units;
    } else {
      const auto next = renamed(kernel.statements[chain.statements[i - 1]], own);
      std::erase_if(names, [&](const auto& name) { return !next.contains(name.second); });
      for (auto& [first, theirs] : names) theirs = next.at(theirs);
    }
    if (in_dims_of_first(parts->on_units, names) != on_units) return std::nullopt;
    Nest nest;
    const auto append = [&](const std::vector<Line>& lines) {
      nest.lines.insert(nest.lines.end(), lines.begin(), lines.end());
    };
    const auto tile = [&](TensorId tensor) {
      Stage stage;
      stage.tensor = kernel.tensors[tensor.index()].name;
      stage.memory = home;
      return stage;
    };
    std::vector<Line> ahead_of_time, per_strip;
    for (const Line& copy : parts->copies)
      (i == 0 || std::get<Stage>(copy.is).ahead_of_time ? ahead_of_time : per_strip).push_back(copy);
    append(ahead_of_time);
    append(parts->on_units);
    For strip;
    strip.loops = {{chain.dims[i], rows}};
    nest.lines.push_back(Line{strip});
    if (i > 0) {
      const Computation& before = kernel.statements[chain.statements[i - 1]];
      Stage consumed = tile(before.write.tensor);
      consumed.from = before.name;
      nest.lines.push_back(Line{consumed});
    }
    if (i + 1 < chain.statements.size()) {
      Stage stored = tile(own.write.tensor);
      stored.then = {kernel.statements[chain.statements[i + 1]].name};
      if (stages(parts->copies, stored.tensor, home) || stages(parts->others, stored.tensor, home)) return std::nullopt;
      nest.lines.push_back(Line{stored});
    }
    append(per_strip);
    append(without_strip_loops(parts->others, chain.dims[i], rows));
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace isamap
