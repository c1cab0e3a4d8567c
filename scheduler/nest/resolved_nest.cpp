// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/resolved_nest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/access_name.h"
#include "mapper/instruction_tree.h"
#include "scheduler/nest/in_bounds_fraction.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/nest/out_of_bounds.h"
#include "scheduler/nest/split_reduction.h"
#include "scheduler/nest/staged_tile.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"
#include "support/yaml.h"

namespace isamap {
namespace {

/// Resolution of `stage` lines, and the state of a resolution in progress.
class StageResolver {
 protected:
  StageResolver(const Nest& nest, ResolvedNest& view) : nest_(nest), view_(view) {}

  void problem(const std::string& message, const std::string& hint = "") {
    const auto l = static_cast<std::size_t>(line_);
    if (l >= nest_.lines.size()) return problems_.push_back(error(message, hint));
    problems_.push_back(error_at(nest_.lines[l].where, "'" + print(nest_.lines[l]) + "': " + message, hint));
  }

  void stage(const Stage& s) {
    const auto memory = view_.model->find_memory(s.memory);
    std::vector<std::string> known;
    for (const Memory& m : view_.model->memories()) known.push_back(m.name);
    if (!memory)
      return problem("no memory '" + s.memory + "' in " + view_.model->name, yaml::did_you_mean(s.memory, known));
    known.clear();
    bool found = false;
    for (int a = 0; a < access_count(view_.statement); ++a) {
      const std::string name = access_name(view_.kernel->tensors, view_.statement, a);
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
      if (!holds(s, view_.kernel->tensors, view_.statement, a)) continue;
      found = true;
      if (view_.model->memory(*memory).kind == MemoryKind::cache) {  // filled by accesses, not by moves
        if (s.ahead > 0) view_.prefetches.push_back({a, static_cast<int>(view_.loops.size()), s.ahead});
        continue;
      }
      int& last = view_.innermost[static_cast<std::size_t>(a)];
      view_.stages.push_back({a, *memory, static_cast<int>(view_.loops.size()), last, line_, s,
                              nest_.lines[static_cast<std::size_t>(line_)].where});
      last = static_cast<int>(view_.stages.size()) - 1;
    }
    if (!found) problem("no tensor '" + s.tensor + "' in " + view_.statement.name, yaml::did_you_mean(s.tensor, known));
    moves(s);
    if (!s.layout.empty()) layout(s, *memory);
    if (s.buffers < 1) problem(fmt::format("x{}: at least one buffer", s.buffers));
    if (const auto lacks = missing_buffers(s, view_.model->memory(*memory))) problem(lacks->message, lacks->hint);
    if (s.buffers > 1 && view_.model->memory(*memory).is_register() && !below_unrolled_loop())
      problem(fmt::format("x{}: several sets of registers need an unrolled loop right above", s.buffers),
              fmt::format("write it right below a sequential `for .. unroll`, or leave out x{}", s.buffers));
    initial_value(s, found);
    if (s.ahead_of_time) ahead_of_time(s, *memory);
  }

  const Nest& nest_;
  ResolvedNest& view_;
  Diagnostics problems_;
  int line_ = 0;
  std::vector<std::int64_t> tile_;  // by dim, at this line

 private:
  /// Checks `first`; `found`: the statement has the tensor.
  void initial_value(const Stage& s, bool found) {
    const std::string& written = view_.kernel->tensors[view_.statement.write.tensor.index()].name;
    if (found && s.first != First::fill && s.tensor != written)
      problem("'first' sets the initial value of an accumulator; " + s.tensor + " is only read", "leave it out");
    else if (s.first == First::load && !inout(s.tensor))
      problem("first load: " + s.tensor + " is not inout, so memory has no initial value",
              "leave it out, or write inout: true at the tensor");
    else if (s.first == First::flag && !(view_.instruction && can_start_at_zero(*view_.instruction)))
      problem(fmt::format("first flag: {} always accumulates, and {} is undefined at the first call",
                          view_.instruction ? view_.instruction->name : "the scalar unit", s.tensor),
              view_.instruction ? "leave it out: the tile is cleared first; or describe the choice at the instruction, "
                                  "start: {OPERAND: [zero, keep]}"
                                : "leave it out: the tile is cleared first");
  }

  void ahead_of_time(const Stage& s, MemoryId memory) {
    if (const auto by = written_by(s))
      problem("aot: " + s.tensor + " is computed by " + *by + "; only inputs can be packed before the program runs",
              "leave it out: the copy is made at every call");
    if (!view_.loops.empty()) problem("aot: tiles packed ahead of time must be staged above all loops");
    if (!view_.model->versions().empty())
      problem("aot: the packed layout may differ between the versions for other sizes of " + view_.model->name,
              "leave it out: the copy is made at every call");
    if (memory != view_.model->home())
      problem("aot: tiles packed before the program runs must be in " + view_.model->memory(view_.model->home()).name,
              "put a second stage below it for " + s.memory);
  }

  /// The statement that writes the tensor of a stage; nothing: it is an input.
  std::optional<std::string> written_by(const Stage& s) const {
    for (int a = 0; a < access_count(view_.statement); ++a)
      for (const Computation& c : view_.kernel->statements)
        if (holds(s, view_.kernel->tensors, view_.statement, a) &&
            c.write.tensor == access_of(view_.statement, a).tensor)
          return c.name;
    return std::nullopt;
  }

  /// Is the next loop above sequential and unrolled, with only multi-buffered register stages in between?
  bool below_unrolled_loop() const {
    for (int l = line_ - 1; l >= 0; --l) {
      const auto& line = nest_.lines[static_cast<std::size_t>(l)].is;
      if (const auto* f = std::get_if<For>(&line)) return f->unroll && f->unit.empty();
      const auto* s = std::get_if<Stage>(&line);
      const auto memory = s ? view_.model->find_memory(s->memory) : std::nullopt;
      if (!memory || s->buffers < 2 || !view_.model->memory(*memory).is_register()) return false;
    }
    return false;
  }

  void moves(const Stage& s) {
    std::vector<std::string> known;
    for (const Instruction& i : view_.model->instructions())
      if (is_move(i)) known.push_back(i.name);
    for (const std::string& name : s.via)
      if (std::find(known.begin(), known.end(), name) == known.end())
        problem("no move '" + name + "' in " + view_.model->name, yaml::did_you_mean(name, known));
  }

  bool inout(const std::string& tensor) const {
    return std::any_of(view_.kernel->tensors.begin(), view_.kernel->tensors.end(),
                       [&](const Tensor& t) { return t.name == tensor && t.inout; });
  }

  /// Checks the layout as lowering does, for the tiles at this line.
  void layout(const Stage& s, MemoryId memory) {
    if (view_.model->memory(memory).is_register())
      return problem("in registers the instruction determines the layout", "leave 'as' out");
    Tiles tiles;
    for (std::size_t d = 0; d < tile_.size(); ++d)
      tiles[view_.statement.domain.dims[d].name] = {AffineExpr(0), tile_[d]};
    if (const std::string no = layout_refusal(s.layout, view_.instruction.get(), tiles); !no.empty())
      return problem(no, "digits such as j/32 and j%32 together cover j");
    std::set<std::string> covered;
    for (const LayoutDigit& digit : s.layout) covered.merge(digit.index.names());
    for (int a = 0; a < access_count(view_.statement); ++a) {
      const Access& access = access_of(view_.statement, a);
      if (!holds(s, view_.kernel->tensors, view_.statement, a)) continue;
      for (const AffineExpr& index : access.index)
        for (const std::string& name : index.names())
          if (tiles.at(name).size > 1 && covered.insert(name).second)
            problem(fmt::format("the layout lacks {}, of which the tile has {} points", name, tiles.at(name).size),
                    "each dim of " + s.tensor + " must be in its layout, whole or in digits such as " + name +
                        "/16 and " + name + "%16");
    }
  }
};

/// Resolution of a nest, line by line.
class Resolver : StageResolver {
 public:
  Resolver(const Nest& nest, ResolvedNest& view) : StageResolver(nest, view) {}

  Diagnostics run() {
    if (!find_do()) return std::move(problems_);
    for (std::size_t l = 0; l < nest_.lines.size(); ++l) {
      line_ = static_cast<int>(l);
      std::visit(overloaded{[&](const For& f) { loop(f); }, [&](const Stage& s) { stage(s); }, [](const Do&) {}},
                 nest_.lines[l].is);
    }
    line_ = static_cast<int>(nest_.lines.size()) - 1;
    check_call_extents();
    return std::move(problems_);
  }

 private:
  bool find_do() {
    const Do* last = nullptr;
    for (std::size_t l = 0; l < nest_.lines.size(); ++l) {
      const Do* d = std::get_if<Do>(&nest_.lines[l].is);
      line_ = static_cast<int>(l);
      if (d && l + 1 < nest_.lines.size()) return problem("do must be the last line of a nest"), false;
      if (d) last = d;
    }
    const Computation& original = view_.kernel->statements[view_.id.index()];
    if (!last)
      return problem("the nest of " + original.name + " has no do line",
                     "end it with 'do " + original.name + " with INSTRUCTION(...)'"),
             false;
    if (last->statement != original.name)
      return problem("this nest computes " + original.name + ", not " + last->statement), false;
    if (last->instruction.empty() && !last->outside.empty())
      problem("outside " + last->outside.front().first + ": scalar code computes with what the tensor yields there",
              "leave it out");
    for (const auto& [tensor, how] : last->outside)
      if (const auto no = outside_problem(*view_.kernel, original, tensor)) problem(no->message, no->hint);
    view_.in_bounds = in_bounds_fraction(nest_, *view_.kernel, original);
    auto mapping = mapping_of(*last, *view_.kernel, view_.id, *view_.model);
    if (!mapping) return problem(mapping.diagnostics().front().message, mapping.diagnostics().front().hint), false;
    view_.mapping = std::move(*mapping);
    view_.statement = fuse(original, view_.mapping);
    view_.instruction = form_in(nest_, view_.mapping, view_.statement, *view_.model);
    view_.block.assign(view_.statement.domain.dims.size(), 1);
    view_.instruction_dim.assign(view_.statement.domain.dims.size(), -1);
    for (std::size_t m = 0; m < view_.mapping.dims.size(); ++m) {
      if (view_.mapping.dims[m].empty()) continue;
      const int d = view_.statement.domain.find(fused_name(view_.mapping.dims[m]));
      if (d < 0) continue;
      view_.block[static_cast<std::size_t>(d)] = view_.instruction->ranges[m].max;
      view_.instruction_dim[static_cast<std::size_t>(d)] = static_cast<int>(m);
    }
    for (const Dim& d : view_.statement.domain.dims) tile_.push_back(std::max<std::int64_t>(d.extent, 1));
    view_.innermost.assign(static_cast<std::size_t>(access_count(view_.statement)), -1);
    return true;
  }

  void loop(const For& f) {
    LoopLevel w;
    static_cast<LoopKeywords&>(w) = f;
    w.line = line_;
    if (!f.unit.empty() && !unit(f.unit, w)) return;
    if (!f.combine.empty()) w.combine = combined(f);
    for (const TiledLoop& step : f.loops) {
      w.dim = view_.statement.domain.find(step.dim);
      if (w.dim < 0) {
        problem("no dim '" + step.dim + "' in " + view_.statement.name,
                yaml::did_you_mean(step.dim, dim_names(view_.statement)));
        continue;
      }
      std::int64_t& tile = tile_[static_cast<std::size_t>(w.dim)];
      if (step.tile < 1) {
        problem(fmt::format("tile {} of {} must be at least 1", step.tile, step.dim));
        continue;
      }
      w.tile = std::min(step.tile, tile);
      std::int64_t& around = last_tile_[w.dim];  // larger than the dim is legal: one schedule serves many sizes
      if (around > 0 && step.tile > around)
        problem(fmt::format("tile {} of {} is larger than the tile {} around it", step.tile, step.dim, around));
      around = step.tile;
      if (w.unit.valid()) on_unit(w, ceil_div(tile, w.tile));
      tile = w.tile;
      view_.loops.push_back(w);
    }
    if (f.loops.empty()) problem("a for needs a dim and a tile", "write 'for i by 16'");
  }

  /// Invalid: reported as a problem.
  InstructionId combined(const For& f) {
    const Tensor& output = view_.kernel->tensors[view_.statement.write.tensor.index()];
    const auto id = combine_of(f, view_.statement, output, *view_.model);
    if (!id) return problem(id.diagnostics().front().message, id.diagnostics().front().hint), InstructionId{};
    const auto other = std::find_if(view_.loops.begin(), view_.loops.end(),
                                    [&](const LoopLevel& w) { return w.combine.valid() && w.combine != *id; });
    if (other != view_.loops.end())
      problem("combine " + f.combine + ": an outer loop adds the partial sums by " +
                  view_.model->instruction(other->combine).name,
              "use the same at both");
    const int held = view_.innermost[0];
    if (held >= 0 &&
        view_.stages[static_cast<std::size_t>(held)].memory != combine_target(view_.model->instruction(*id)))
      problem(fmt::format("combine {}: {} is staged in {} here, and it adds to {}", f.combine, output.name,
                          view_.model->memory(view_.stages[static_cast<std::size_t>(held)].memory).name,
                          view_.model->memory(combine_target(view_.model->instruction(*id))).name),
              "write the loop above the stage of " + output.name);
    return *id;
  }

  bool unit(const std::string& text, LoopLevel& w) {
    const auto dot = text.find('.');
    const auto id = view_.model->find_unit(text.substr(0, dot));
    std::vector<std::string> known;
    for (const Unit& u : view_.model->units()) known.push_back(u.name);
    if (!id)
      return problem("no unit '" + text.substr(0, dot) + "' in " + view_.model->name, yaml::did_you_mean(text, known)),
             false;
    w.unit = *id;
    const Unit& u = view_.model->unit(*id);
    known.clear();
    for (std::size_t a = 0; a < u.axes.size(); ++a) {
      known.push_back(u.axes[a].first);
      if (known.back() == text.substr(dot + 1)) w.axis = static_cast<int>(a);
    }
    if (known.empty() && dot == std::string::npos) return true;
    if (dot == std::string::npos)
      return problem(fmt::format("unit {} has the axes {}", u.name, fmt::join(known, ", ")),
                     fmt::format("name one: on {}.{}", u.name, known.front())),
             false;
    if (w.axis < 0)
      return problem("unit " + u.name + " has no axis '" + text.substr(dot + 1) + "'",
                     yaml::did_you_mean(text.substr(dot + 1), known)),
             false;
    return true;
  }

  /// Loops on one axis (or on the unit as a whole) together need at most its number of instances, unless it is queued.
  void on_unit(const LoopLevel& w, std::int64_t trip) {
    const Unit& u = view_.model->unit(w.unit);
    const std::int64_t count = w.axis < 0 ? u.count : u.axes[static_cast<std::size_t>(w.axis)].second;
    const std::string name = w.axis < 0 ? u.name : u.name + "." + u.axes[static_cast<std::size_t>(w.axis)].first;
    double& used = used_[{w.unit.value, w.axis}];
    if (used == 0) used = 1;
    used *= static_cast<double>(trip);
    if (used > static_cast<double>(count) && !u.queued)
      problem(fmt::format("needs {:.0f} instances of {}; there are {}", used, name, count),
              "loop over the rest sequentially");
  }

  /// ", or map it to mma: k=k" if the instruction has virtual dims.
  std::string free_dims(std::size_t d) const {
    if (!view_.instruction || view_.instruction_dim[d] >= 0) return "";
    std::vector<std::string> ways;
    for (std::size_t m = 0; m < view_.mapping.dims.size(); ++m)
      if (view_.mapping.dims[m].empty())
        ways.push_back(view_.instruction->statement().domain.dims[m].name + "=" + view_.statement.domain.dims[d].name);
    return ways.empty() ? "" : fmt::format(", or map it to {}: {}", view_.instruction->name, fmt::join(ways, " or "));
  }

  void check_call_extents() {
    for (std::size_t d = 0; d < tile_.size(); ++d)
      if (tile_[d] > view_.block[d])
        problem(fmt::format("loop over {1} is missing: its tile has {0} points, one call of {2} covers {3}", tile_[d],
                            view_.statement.domain.dims[d].name, view_.instruction ? view_.instruction->name : "scalar",
                            view_.block[d]),
                fmt::format("add 'for {} by {}'", view_.statement.domain.dims[d].name, view_.block[d]) + free_dims(d));
    for (int a = 0; a < access_count(view_.statement); ++a) {
      const MemoryId needed = operand_memory(view_, a);
      const MemoryId given = view_.memory_of(view_.innermost[static_cast<std::size_t>(a)]);
      if (!needed.valid() || needed == given) continue;
      const std::string tensor = access_name(view_.kernel->tensors, view_.statement, a);
      problem(fmt::format("{} takes {} from {}; here it is in {}", view_.instruction->name, tensor,
                          view_.model->memory(needed).name, view_.model->memory(given).name),
              fmt::format("add 'stage {} in {}'", tensor, view_.model->memory(needed).name));
    }
  }

  std::map<int, std::int64_t> last_tile_;  // dim -> tile of its innermost loop so far
  std::map<std::pair<std::int32_t, int>, double> used_;
};

}  // namespace

std::vector<std::int64_t> ResolvedNest::tiles(int count) const {
  std::vector<std::int64_t> result;
  for (const Dim& d : statement.domain.dims) result.push_back(d.extent);
  for (int w = 0; w < count; ++w) {
    std::int64_t& t = result[static_cast<std::size_t>(loops[static_cast<std::size_t>(w)].dim)];
    t = std::min(t, loops[static_cast<std::size_t>(w)].tile);
  }
  return result;
}

std::vector<std::int64_t> ResolvedNest::call_extents() const {
  std::vector<std::int64_t> extents(instruction->ranges.size(), 1);
  const std::vector<std::int64_t> innermost_tiles = tiles(static_cast<int>(loops.size()));
  for (std::size_t m = 0; m < std::min(extents.size(), mapping.dims.size()); ++m) {
    const int d = mapping.dims[m].empty() ? -1 : statement.domain.find(fused_name(mapping.dims[m]));
    if (d >= 0) extents[m] = innermost_tiles[static_cast<std::size_t>(d)];
  }
  return extents;
}

int instruction_access(const Mapping& mapping, int access) {
  const auto at = std::find(mapping.operands.begin(), mapping.operands.end(), access);
  return at == mapping.operands.end() ? -1 : static_cast<int>(at - mapping.operands.begin());
}

MemoryId operand_memory(const ResolvedNest& view, int access) {
  const int i = instruction_access(view.mapping, access);
  if (!view.instruction || i < 0) return {};
  return view.instruction->operands[operand_of_access(*view.instruction, i).index()].memory;
}

Result<ResolvedNest> resolve(const Nest& nest, const Kernel& kernel, StatementId statement,
                             const HardwareModel& model) {
  ResolvedNest view;
  view.kernel = &kernel;
  view.model = &model;
  view.id = statement;
  Diagnostics problems = Resolver(nest, view).run();
  if (!problems.empty()) return problems;
  return view;
}

std::optional<Diagnostic> missing_buffers(const Stage& stage, const Memory& memory) {
  if (stage.ahead < 1 || stage.ahead < stage.buffers || memory.kind == MemoryKind::cache) return std::nullopt;
  return error(fmt::format("ahead {} needs {} buffers: the tile in use has one too", stage.ahead, stage.ahead + 1),
               fmt::format("write x{} ahead {}; only caches need no buffers", stage.ahead + 1, stage.ahead));
}

// Conversion between `do` lines and mappings.

namespace {

/// Reads of the instruction are bound to those of the statement in order, unless the line names tensors.
Result<std::vector<int>> operand_order(const Do& line, const Kernel& kernel, const Computation& statement,
                                       const Instruction& instruction) {
  const Computation& semantics = instruction.statement();
  const int held = static_cast<int>(line.constants.size());
  if (line.operands.empty() && access_count(semantics) - held != access_count(statement))
    return error(fmt::format("{} has {} operands; {} has {}", instruction.name, access_count(semantics) - held,
                             statement.name, access_count(statement)));
  std::vector<int> order;
  std::vector<bool> taken(static_cast<std::size_t>(access_count(statement)), false);
  int next = 0;  // access of the statement
  for (int i = 0; i < access_count(semantics); ++i) {
    const std::string& operand = instruction.tensors[operand_of_access(instruction, i).index()].name;
    if (i > 0 && held > 0 && line.constants.front().first == operand) {
      order.push_back(access_count(statement));
      continue;
    }
    int found = line.operands.empty() || i == 0 ? next : -1;
    ++next;
    for (const auto& [name, tensor] : line.operands) {
      if (name != operand || i == 0) continue;
      for (const bool again : {false, true})  // x*x binds one read to two operands
        for (int a = 1; a < access_count(statement) && found < 0; ++a)
          if (taken[static_cast<std::size_t>(a)] == again && access_name(kernel.tensors, statement, a) == tensor)
            found = a;
      if (found < 0)
        return error(
            fmt::format("operand {} of {}: no read of '{}' in {}", operand, instruction.name, tensor, statement.name));
    }
    if (found < 0) return error(fmt::format("operand {} of {} has no tensor", operand, instruction.name));
    taken[static_cast<std::size_t>(found)] = true;
    order.push_back(found);
  }
  if (const auto left = std::find(taken.begin(), taken.end(), false); left != taken.end())
    return error(fmt::format("no operand of {} takes {}", instruction.name,
                             access_name(kernel.tensors, statement, static_cast<int>(left - taken.begin()))));
  return order;
}

/// The form with the dims that the line names.
InstructionForm form_named_by(const Do& line, InstructionId id, const HardwareModel& model) {
  const std::vector<std::string> own = dim_names(model.instruction(id).statement());
  for (const auto& [name, digits] : line.dims) {
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    const InstructionForm summed = summed_form(model, id);
    if (summed && summed->statement().domain.dims.back().name == name) return summed;
  }
  return written_form(model, id);
}

/// Names with dots are trees; one name is one where the statement has a constant instead of an operand.
std::optional<InstructionTree> tree_of(const Do& line, const Kernel& kernel, const Computation& statement,
                                       const HardwareModel& model) {
  const auto id = model.find_instruction(line.instruction);
  const bool single = id && (!line.constants.empty() || !line.operands.empty() ||
                             access_count(model.instruction(*id).statement()) <= access_count(statement));
  return single ? std::nullopt : tree_named(line.instruction, statement, kernel.tensors, model);
}

Diagnostic no_instruction(const Do& line, const HardwareModel& model) {
  if (line.instruction.find('.') != std::string::npos)
    return error(fmt::format("'{}' is no tree of instructions of {} that computes {}", line.instruction, model.name,
                             line.statement),
                 "operands come before the instruction that reads them; isamap map prints the tree it finds");
  std::vector<std::string> known;
  for (const Instruction& i : model.instructions())
    if (is_compute(i)) known.push_back(i.name);
  return error("no instruction '" + line.instruction + "' in " + model.name,
               yaml::did_you_mean(line.instruction, known));
}

}  // namespace

Result<Mapping> mapping_of(const Do& line, const Kernel& kernel, StatementId statement, const HardwareModel& model) {
  const Computation& computation = kernel.statements[statement.index()];
  Mapping mapping;
  mapping.statement = statement;
  if (line.instruction.empty() || line.instruction == "scalar") return mapping;
  const auto id = model.find_instruction(line.instruction);
  if (auto tree = tree_of(line, kernel, computation, model)) {
    mapping.instruction = tree->calls.back().instruction;
    mapping.tree = std::move(*tree);
  } else if (id) {
    if (is_setter(model.instruction(*id))) return error(line.instruction + " computes nothing: it is a setter");
    mapping.instruction = *id;
  } else {
    return no_instruction(line, model);
  }
  const InstructionForm form = mapping.tree.empty() ? form_named_by(line, *id, model) : mapping.tree.form;
  const Instruction& instruction = *form;
  if (form->ranges.size() > model.instruction(mapping.instruction).ranges.size())
    mapping.rolled = {form->statement().domain.dims.back()};
  auto order = operand_order(line, kernel, computation, instruction);
  if (!order) return order.diagnostics();
  mapping.operands = *order;
  if (line.constants.size() > 1) return error("at most one operand can hold a constant");
  if (!line.constants.empty()) {
    mapping.constant = line.constants.front().second;
    if (std::count(order->begin(), order->end(), access_count(computation)) == 0)
      return error(fmt::format("no operand '{}' in {}", line.constants.front().first, instruction.name));
    const auto held = std::find(order->begin(), order->end(), access_count(computation)) - order->begin();
    mapping.constant = round_to_operand(instruction, static_cast<int>(held), *mapping.constant);
    if (const std::string no = not_lowered(mapping, model); !no.empty()) return error(no);
  }
  const std::vector<std::string> dims = dim_names(instruction.statement());
  mapping.dims.resize(dims.size());
  for (const auto& [name, digits] : line.dims) {
    const auto at = std::find(dims.begin(), dims.end(), name);
    if (at == dims.end()) return error("no dim '" + name + "' in " + instruction.name, yaml::did_you_mean(name, dims));
    if (!mapping.dims[static_cast<std::size_t>(at - dims.begin())].empty())
      return error("dim " + name + " of " + instruction.name + " is given twice",
                   "several dims on one: " + name + "=c.r.s, the last one fastest");
    for (Digit digit : digits) {
      const auto dim = digit.column.as_dim();
      const int d = dim ? computation.domain.find(*dim) : -1;
      if (!dim) return error("digit " + print(digit.column) + " of " + name + ": only plain dims are supported yet");
      if (d < 0)
        return error("no dim '" + *dim + "' in " + computation.name, yaml::did_you_mean(*dim, dim_names(computation)));
      const std::int64_t whole = computation.domain.dims[static_cast<std::size_t>(d)].extent;
      if (digit.extent != 1 && digit.extent != whole)
        return error(fmt::format("digit {} takes {} of {} points: digits that split a dim are not supported yet", *dim,
                                 digit.extent, whole));
      digit.extent = whole;
      mapping.dims[static_cast<std::size_t>(at - dims.begin())].push_back(digit);
    }
  }
  return mapping;
}

Do do_line(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  const Computation& statement = kernel.statements[mapping.statement.index()];
  Do line;
  line.statement = statement.name;
  if (!mapping.instruction.valid()) return line;
  const InstructionForm form = instruction_form(mapping, model);
  const Instruction& instruction = *form;
  line.instruction = instruction.name;
  for (std::size_t m = 0; m < mapping.dims.size(); ++m)
    if (!mapping.dims[m].empty()) {
      line.dims.push_back({instruction.statement().domain.dims[m].name, mapping.dims[m]});
      for (Digit& digit : line.dims.back().second) digit.extent = 1;  // printed as a whole dim
    }
  bool in_order = true;
  int next = 0;
  for (std::size_t i = 0; i < mapping.operands.size(); ++i)
    if (is_constant_operand(mapping, i))
      line.constants.push_back(
          {instruction.tensors[operand_of_access(instruction, static_cast<int>(i)).index()].name, *mapping.constant});
    else
      in_order &= mapping.operands[i] == next++;
  if (in_order) return line;
  for (std::size_t i = 0; i < mapping.operands.size(); ++i)
    if (!is_constant_operand(mapping, i))
      line.operands.push_back({instruction.tensors[operand_of_access(instruction, static_cast<int>(i)).index()].name,
                               access_name(kernel.tensors, statement, mapping.operands[i])});
  return line;
}

}  // namespace isamap
