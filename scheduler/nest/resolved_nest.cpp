// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/resolved_nest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "hwdesc/model/program_language.h"
#include "ir/operand_use.h"
#include "ir/text/access_name.h"
#include "mapper/match/instruction_tree.h"
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

Diagnostic problem_at(const Nest& nest, int line, const std::string& message, const std::string& hint) {
  const auto l = static_cast<std::size_t>(line);
  if (l >= nest.lines.size()) return error(message, hint);
  return error_at(nest.lines[l].where, "'" + print(nest.lines[l]) + "': " + message, hint);
}

/// The last line of a nest, and no other, is a `do` of its statement.
Diagnostics do_line_problems(const Nest& nest, const Computation& statement) {
  const Do* last = nullptr;
  for (std::size_t l = 0; l < nest.lines.size(); ++l) {
    const Do* line = std::get_if<Do>(&nest.lines[l].is);
    if (line && l + 1 < nest.lines.size())
      return {problem_at(nest, static_cast<int>(l), "do must be the last line of a nest", "")};
    if (line) last = line;
  }
  const int line = static_cast<int>(nest.lines.size()) - 1;
  if (!last)
    return {problem_at(nest, line, "the nest of " + statement.name + " has no do line",
                       "end it with 'do " + statement.name + " with INSTRUCTION(...)'")};
  if (last->statement != statement.name)
    return {problem_at(nest, line, "this nest computes " + statement.name + ", not " + last->statement, "")};
  return {};
}

/// What a stage needs to know of the loops above it.
struct LoopsAbove {
  std::vector<bool> one_step;  ///< by loop
  int fused_below = 0;         ///< loops above the last tile that a fused producer makes
};

/// Does the tile of an access stay as it is at each step of this loop?
bool keeps_tile(const Nest& nest, const LoopLevel& w, bool one_step, const AccessFacts& access) {
  if (w.unit.valid() || w.combine.valid() || w.orders_all_loops()) return false;
  if (!access.uses[static_cast<std::size_t>(w.dim)]) return true;
  return one_step && std::get<For>(nest.lines[static_cast<std::size_t>(w.line)].is).tail != Tail::pad;  // it grows
}

/// The loops above a stage, without those that leave its tile as it is: it is moved above them (StagedTile). A stage
/// that an unrolled loop or a fused statement refers to stays where it is written, and so does one whose calls may be
/// skipped, or whose sums nothing clears.
int loops_above(const Nest& nest, const ResolvedNest& view, const LoopsAbove& above, const StageFacts& known,
                int access) {
  const Stage& s = known.stage;
  const int all = static_cast<int>(view.loops.size());
  const bool rotates = s.buffers > 1 && view.model->memory(known.memory).is_register();
  const bool reloads = access == 0 && !known.clears;  // at each visit: moved out, it would have to be cleared
  if (!is_command_stream(*view.model) || !s.role.empty() || !s.from.empty() || !s.then.empty() || rotates || reloads ||
      skips(nest, view.kernel->tensors[access_of(view.statement, access).tensor.index()]))
    return all;
  const int parent = view.innermost[static_cast<std::size_t>(access)];
  const int outermost =
      std::max(above.fused_below, parent < 0 ? 0 : view.stages[static_cast<std::size_t>(parent)].loops);
  const AccessFacts& held = view.facts->accesses[static_cast<std::size_t>(access)];
  int moved = all;
  for (int w = all; w-- > outermost;) {
    const auto number = static_cast<std::size_t>(w);
    if (!keeps_tile(nest, view.loops[number], above.one_step[number], held)) break;
    if (!above.one_step[number]) moved = w;
  }
  return moved;
}

/// Outermost first: those that were moved above others come before them.
void order_stages(ResolvedNest& view) {
  const auto further_out = [](const StagedTile& a, const StagedTile& b) { return a.loops < b.loops; };
  if (std::is_sorted(view.stages.begin(), view.stages.end(), further_out)) return;
  std::vector<std::size_t> order(view.stages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return further_out(view.stages[a], view.stages[b]); });
  std::vector<int> place(order.size());
  for (std::size_t n = 0; n < order.size(); ++n) place[order[n]] = static_cast<int>(n);
  const auto renumber = [&](int& stage) { stage = stage < 0 ? stage : place[static_cast<std::size_t>(stage)]; };
  std::vector<StagedTile> sorted;
  sorted.reserve(order.size());
  for (const std::size_t from : order) {
    sorted.push_back(view.stages[from]);
    renumber(sorted.back().parent);
  }
  view.stages.swap(sorted);
  for (int& stage : view.innermost) renumber(stage);
}

/// Resolution of a nest, line by line. What the lines determine by themselves is known already (nest_facts.h).
class Resolver {
 public:
  Resolver(const Nest& nest, ResolvedNest& view, StatementFacts& facts)
      : nest_(nest), view_(view), facts_(facts), line_(static_cast<int>(nest.lines.size()) - 1) {
    add(view_.facts->problems);
    tile_.reserve(view_.statement.domain.dims.size());
    for (const Dim& d : view_.statement.domain.dims) tile_.push_back(std::max<std::int64_t>(d.extent, 1));
    last_tile_.assign(tile_.size(), 0);
    view_.loops.reserve(nest.lines.size() + tile_.size());
    view_.stages.reserve(nest.lines.size());
    view_.innermost.assign(view_.facts->accesses.size(), -1);
  }

  Diagnostics run() {
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
  void problem(const std::string& message, const std::string& hint = "") {
    problems_.push_back(problem_at(nest_, line_, message, hint));
  }
  /// Problems of this line wherever it stands.
  void add(const Diagnostics& problems) {
    for (const Diagnostic& one : problems) problem(one.message, one.hint);
  }

  void stage(const Stage& s) {
    const auto& known = facts_.of_stage(view_.facts, s);
    add(known->problems);
    if (!known->memory.valid()) return;
    const Memory& memory = view_.model->memory(known->memory);
    for (const int a : known->accesses) {
      if (memory.kind == MemoryKind::cache) {  // filled by accesses, not by moves
        if (s.ahead > 0)
          view_.prefetches.push_back({a, static_cast<int>(view_.loops.size()), s.ahead, !used_right_above(a)});
        continue;
      }
      int& last = view_.innermost[static_cast<std::size_t>(a)];
      view_.stages.push_back({a, known->memory, loops_above(nest_, view_, above_, *known, a), last, line_, known,
                              nest_.lines[static_cast<std::size_t>(line_)].where});
      last = static_cast<int>(view_.stages.size()) - 1;
    }
    if (!s.layout.empty() && !memory.is_register() && !known->laid_out.contains(tile_)) layout(*known);
    if (s.buffers > 1 && memory.is_register() && !below_unrolled_loop())
      problem(fmt::format("x{}: several sets of registers need an unrolled loop right above", s.buffers),
              fmt::format("write it right below a sequential `for .. unroll`, or leave out x{}", s.buffers));
    if (s.ahead_of_time && !view_.loops.empty())
      problem("aot: tiles packed ahead of time must be staged above all loops");
    if (!s.from.empty()) above_.fused_below = static_cast<int>(view_.loops.size());
  }

  bool used_right_above(int access) const {
    if (view_.loops.empty()) return true;
    const auto dim = static_cast<std::size_t>(view_.loops.back().dim);
    return uses(access_of(view_.statement, access), view_.statement.domain.dims[dim].name);
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

  /// Checks the layout as lowering does, for the tiles at this line.
  void layout(const StageFacts& known) {
    const std::size_t before = problems_.size();
    Tiles tiles;
    for (std::size_t d = 0; d < tile_.size(); ++d)
      tiles[view_.statement.domain.dims[d].name] = {AffineExpr(0), tile_[d]};
    if (const std::string no = layout_refusal(known.stage.layout, view_.instruction.get(), tiles); !no.empty())
      return problem(no, "digits such as j/32 and j%32 together cover j");
    std::set<std::string> covered;
    for (const LayoutDigit& digit : known.stage.layout) covered.merge(digit.index.names());
    for (const int a : known.accesses)
      for (const AffineExpr& index : access_of(view_.statement, a).index)
        for (const std::string& name : index.names())
          if (tiles.at(name).size > 1 && covered.insert(name).second)
            problem(fmt::format("the layout lacks {}, of which the tile has {} points", name, tiles.at(name).size),
                    "each dim of " + known.stage.tensor + " must be in its layout, whole or in digits such as " + name +
                        "/16 and " + name + "%16");
    if (problems_.size() == before) known.laid_out.insert(tile_);
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
      std::int64_t& around =
          last_tile_[static_cast<std::size_t>(w.dim)];  // larger than the dim is legal: one schedule serves many sizes
      if (around > 0 && step.tile > around)
        problem(fmt::format("tile {} of {} is larger than the tile {} around it", step.tile, step.dim, around));
      around = step.tile;
      if (w.unit.valid()) on_unit(w, ceil_div(tile, w.tile));
      above_.one_step.push_back(w.tile >= tile);
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
    if (!id) {
      for (const Unit& u : view_.model->units()) known.push_back(u.name);
      return problem("no unit '" + text.substr(0, dot) + "' in " + view_.model->name, yaml::did_you_mean(text, known)),
             false;
    }
    w.unit = *id;
    const Unit& u = view_.model->unit(*id);
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
    double& used = used_[{w.unit.value, w.axis}];
    if (used == 0) used = 1;
    used *= static_cast<double>(trip);
    if (used > static_cast<double>(count) && !u.queued)
      problem(fmt::format("needs {:.0f} instances of {}; there are {}", used, name_of(u, w.axis), count),
              "loop over the rest sequentially");
  }

  static std::string name_of(const Unit& unit, int axis) {
    return axis < 0 ? unit.name : unit.name + "." + unit.axes[static_cast<std::size_t>(axis)].first;
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
      const std::string& tensor = view_.facts->accesses[static_cast<std::size_t>(a)].name;
      problem(fmt::format("{} takes {} from {}; here it is in {}", view_.instruction->name, tensor,
                          view_.model->memory(needed).name, view_.model->memory(given).name),
              fmt::format("add 'stage {} in {}'", tensor, view_.model->memory(needed).name) + exchange(a));
    }
  }

  /// ", or exchange factors: 'operands A=B B=A'" if another read is where the instruction takes this one from.
  std::string exchange(int access) const {
    const auto given = [&](int a) { return view_.memory_of(view_.innermost[static_cast<std::size_t>(a)]); };
    for (int other = 1; access > 0 && other < access_count(view_.statement); ++other) {
      if (other == access || operand_memory(view_, other) != given(access) ||
          operand_memory(view_, access) != given(other))
        continue;
      std::string text;
      for (std::size_t i = 1; i < view_.mapping.operands.size(); ++i) {
        const int read = view_.mapping.operands[i];
        if (read >= access_count(view_.statement)) return "";  // a constant
        const int exchanged = read == access ? other : read == other ? access : read;
        text += fmt::format(" {}={}", operand_of(*view_.instruction, static_cast<int>(i)).name,
                            view_.facts->accesses[static_cast<std::size_t>(exchanged)].name);
      }
      return ", or exchange the factors: 'operands" + text + "'";
    }
    return "";
  }

  const Nest& nest_;
  ResolvedNest& view_;
  StatementFacts& facts_;
  Diagnostics problems_;
  int line_ = 0;
  std::vector<std::int64_t> tile_;       // by dim, at this line
  std::vector<std::int64_t> last_tile_;  // by dim: tile of its innermost loop so far
  LoopsAbove above_;
  std::map<std::pair<std::int32_t, int>, double> used_;
};

}  // namespace

std::vector<std::int64_t> ResolvedNest::tiles(int count) const {
  std::vector<std::int64_t> result;
  result.reserve(statement.domain.dims.size());
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
  for (std::size_t m = 0; m < std::min(extents.size(), facts->statement_dim.size()); ++m)
    if (const int d = facts->statement_dim[m]; d >= 0) extents[m] = innermost_tiles[static_cast<std::size_t>(d)];
  return extents;
}

int instruction_access(const Mapping& mapping, int access) {
  const auto at = std::find(mapping.operands.begin(), mapping.operands.end(), access);
  return at == mapping.operands.end() ? -1 : static_cast<int>(at - mapping.operands.begin());
}

MemoryId operand_memory(const ResolvedNest& view, int access) {
  return view.facts->accesses[static_cast<std::size_t>(access)].operand_memory;
}

Result<ResolvedNest> resolve(const Nest& nest, StatementFacts& facts) {
  if (Diagnostics problems = do_line_problems(nest, facts.kernel().statements[facts.statement().index()]);
      !problems.empty())
    return problems;
  const auto of_do = facts.of_do(nest);
  if (!of_do) {
    Diagnostics problems;
    for (const Diagnostic& one : of_do.diagnostics())
      problems.push_back(problem_at(nest, static_cast<int>(nest.lines.size()) - 1, one.message, one.hint));
    return problems;
  }
  Result<ResolvedNest> view = ResolvedNest(*of_do);
  if (Diagnostics problems = Resolver(nest, *view, facts).run(); !problems.empty()) return problems;
  order_stages(*view);
  return view;
}

Result<ResolvedNest> resolve(const Nest& nest, const Kernel& kernel, StatementId statement,
                             const HardwareModel& model) {
  StatementFacts facts(kernel, statement, model);
  return resolve(nest, facts);
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
  if (line.instruction.empty()) return mapping;
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
