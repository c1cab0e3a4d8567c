// SPDX-License-Identifier: Apache-2.0
// From a schedule to a program: tensors become buffers, nests become loops and calls (lower_nest.h), buffers get
// addresses (buffer_allocation.h), and the verifier checks the result.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hwdesc/model/chosen_registers.h"
#include "hwdesc/model/program_language.h"
#include "ir/begun_sums.h"
#include "ir/liveness.h"
#include "ir/text/access_name.h"
#include "ir/verify/regions.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "mapper/check_given_mapping.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/buffer_allocation.h"
#include "scheduler/lowering/hoisted_stages.h"
#include "scheduler/lowering/lower_nest.h"
#include "scheduler/lowering/recurrence_loop.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/horizontal_sum.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/nest/matched_dims.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "support/stop.h"

namespace isamap {

namespace {

/// Does the node, or one inside it, touch the buffer?
bool touches(const Node& node, BufferId buffer) {
  bool found = false;
  for_each_ref(node, [&](const Ref& ref) { found = found || ref.buffer == buffer; });
  const auto any = [&](const std::vector<Node>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& one) { return touches(one, buffer); });
  };
  if (const auto* loop = std::get_if<Loop>(&node.is)) return found || any(loop->body);
  if (const auto* guard = std::get_if<Guard>(&node.is)) return found || any(guard->then) || any(guard->otherwise);
  return found;
}

BufferId written_by(const Node& fill) {
  if (const auto* element = std::get_if<Element>(&fill.is)) return element->write.buffer;
  return std::get<Call>(fill.is).operands[0].buffer;
}

/// Masks and constants are set ahead of the nest that reads them first, so that their registers are free before it.
std::vector<Node> before_first_use(const std::vector<Node>& fills, std::vector<Node> body) {
  std::vector<bool> is_fill(body.size(), false);
  for (auto fill = fills.rbegin(); fill != fills.rend(); ++fill) {
    const BufferId buffer = written_by(*fill);
    auto at = std::find_if(body.begin(), body.end(), [&](const Node& node) { return touches(node, buffer); });
    if (at == body.end()) at = body.begin();
    while (at != body.begin() && is_fill[static_cast<std::size_t>(at - body.begin()) - 1]) --at;
    is_fill.insert(is_fill.begin() + (at - body.begin()), true);
    body.insert(at, *fill);
  }
  return body;
}

const Do* do_line(const Nest& nest) { return nest.lines.empty() ? nullptr : std::get_if<Do>(&nest.lines.back().is); }

/// The time loops of recurrences: a kernel of one step, and the loops around its groups.
struct TimeLoop {
  const Kernel* whole = nullptr;
  OneStep step;
  std::vector<std::string> variables;  ///< of the loops over steps, by recurrence
};

void add_tensors(Lowering& lowering, std::vector<TileLayout>& tensors, const HardwareModel& model,
                 const TimeLoop* steps, const std::vector<Strides>& strides) {
  const Kernel& kernel = lowering.program.kernel;
  std::vector<TensorId> order = arguments(kernel);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    if (role_of(kernel, make_id<TensorId>(t)) == Role::intermediate) order.push_back(make_id<TensorId>(t));
  tensors.resize(kernel.tensors.size());
  for (TensorId id : order) {
    const Tensor& tensor = kernel.tensors[id.index()];
    Buffer buffer;
    buffer.name = tensor.name;
    buffer.memory = model.home();
    buffer.dtype = tensor.dtype;
    buffer.extents = tensor.shape;
    buffer.strides = steps ? strides_of(*steps->whole, steps->step.slices[id.index()]) : strides_of(tensor);
    if (role_of(kernel, id) == Role::intermediate) buffer.strides = dense_strides(tensor.shape);
    // Arguments come first, in the order of the signature.
    if (const std::size_t a = lowering.program.buffers.size(); a < strides.size() && !strides[a].empty())
      buffer.strides = strides[a];
    buffer.tensor = id;
    buffer.role = role_of(kernel, id) == Role::intermediate ? BufferRole::local : BufferRole::argument;
    if (buffer.role == BufferRole::argument && !is_command_stream(model))
      buffer.align = argument_alignment(model, tensor.dtype);
    tensors[id.index()].buffer = make_id<BufferId>(lowering.program.buffers.size());
    tensors[id.index()].whole_tensor = true;
    lowering.program.buffers.push_back(std::move(buffer));
  }
}

/// Why the mapping of a `do` line is refused; empty: it is proved and supported by lowering.
std::string unproved(const Do& line, const Kernel& kernel, const Mapping& mapping, const HardwareModel& model) {
  const CheckedMapping stated = check_given_mapping(kernel, model, mapping);
  if (!stated.mapping)
    return fmt::format("{} does not compute {} with this mapping: {}", line.instruction, line.statement,
                       stated.refusal);
  const std::string no = not_lowered(*stated.mapping, model);
  return no.empty() ? "" : fmt::format("this mapping of {} cannot be lowered: {}", line.instruction, no);
}

// Problems without a line of their own are reported at the `do` line, which depends on all others.
Diagnostics at_last_line(Diagnostics problems, const Nest& nest) {
  for (Diagnostic& problem : problems)
    if (problem.where.file.empty() && !nest.lines.empty()) problem.where = nest.lines.back().where;
  return problems;
}

/// "i12" is a loop over i (Lowering::variable).
bool is_loop_over(const std::string& variable, const std::string& dim) {
  return variable.starts_with(dim) && variable.size() > dim.size() &&
         variable.find_first_not_of("0123456789", dim.size()) == std::string::npos;
}

/// Loops below the stage of a register tile whose variable indexes its registers, and that are not unrolled.
void lines_that_choose(const Nest& nest, const ChosenRegister& chosen, const std::string& tile, Diagnostics& found) {
  const Stage* stage = nullptr;
  std::map<std::string, std::int64_t> tiles;  // of dims, so far
  for (const Line& line : nest.lines) {
    const auto* held = std::get_if<Stage>(&line.is);
    if (held && tile.starts_with(tile_name(*held))) stage = held;
    const auto* loop = std::get_if<For>(&line.is);
    for (const TiledLoop& w : loop ? loop->loops : std::vector<TiledLoop>{}) {
      const auto [around, is_first] = tiles.emplace(w.dim, INT64_MAX);
      const bool one_step = !is_first && w.tile >= around->second;
      around->second = w.tile;
      if (!stage || one_step || loop->unroll || !loop->unit.empty() || !is_loop_over(chosen.variable, w.dim)) continue;
      const std::string text = print(line);
      Diagnostic wrong = error_at(
          line.where, fmt::format("'{}': its variable selects registers of {} in {}, so the loop must be unrolled",
                                  text, stage->tensor, stage->memory));
      wrong.hint = "add unroll" + (line.where.line > 0 ? fmt::format(" at line {}", line.where.line) : "") + ": " +
                   text + " unroll";
      const auto same = [&](const Diagnostic& d) { return d.where == wrong.where && d.message == wrong.message; };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back(std::move(wrong));
    }
  }
}

/// Problems of `verify` with registers indexed by loops, in terms of the schedule; empty: there are none.
Diagnostics loops_to_unroll(const Schedule& schedule, const Program& program, const HardwareModel& model) {
  Diagnostics found;
  for (const ChosenRegister& chosen : registers_chosen_by_loops(program, model))
    for (const Nest& nest : schedule.nests)
      lines_that_choose(nest, chosen, program.buffers[chosen.buffer.index()].name, found);
  return found;
}

/// Lowers the nests of a schedule, fused consumers inside of their producers.
class Nests {
 public:
  Nests(Lowering& lowering, const Schedule& schedule, DoLines lines, TimeLoop* steps,
        const std::vector<Strides>& strides)
      : lowering_(lowering), schedule_(schedule), lines_(lines), steps_(steps) {
    add_tensors(lowering, tensors_, lowering.model, steps, strides);
  }

  Result<std::vector<Node>> run() {
    const Kernel& kernel = lowering_.program.kernel;
    auto found = tile_fusions(schedule_, kernel, lowering_.model);
    if (!found) return found.diagnostics();
    for (const TileFusion& h : *found)  // statements without points have no tiles and are not fused
      if (!without_points(kernel.statements[h.from.index()]) && !without_points(kernel.statements[h.to.index()]))
        (h.whole ? kept_ : fusions_).push_back(h);
    if (const auto no = fused_across_steps()) return Diagnostics{*no};
    std::vector<Node> all;
    Loop time_loop_node;
    for (std::size_t s = 0; s < schedule_.nests.size(); ++s) {
      const Repeat* repeat = steps_ ? repeat_of(*steps_->whole, s) : nullptr;
      if (repeat && s == repeat->first) time_loop_node = time_loop(*repeat);
      const auto is_consumer = [&](const TileFusion& h) { return h.to.index() == s; };
      if (!std::any_of(fusions_.begin(), fusions_.end(), is_consumer) && !is_begun(schedule_, kernel, s)) {
        auto nodes = statement(s, std::nullopt);
        if (!nodes) return at_last_line(nodes.diagnostics(), schedule_.nests[s]);
        auto& into = repeat ? time_loop_node.body : all;
        into.insert(into.end(), nodes->begin(), nodes->end());
      }
      if (repeat && s + 1 == repeat->first + repeat->count) all.push_back(Node{std::move(time_loop_node)});
    }
    return all;
  }

 private:
  Loop time_loop(const Repeat& repeat) const {
    steps_->variables.push_back(lowering_.variable(repeat.dim, repeat.steps));
    return Loop{steps_->variables.back(), repeat.steps, false, "", {}};
  }

  /// A consumer runs where its producer does: within the same step.
  std::optional<Diagnostic> fused_across_steps() const {
    for (const TileFusion& h : fusions_)
      if (steps_ && repeat_of(*steps_->whole, h.from.index()) != repeat_of(*steps_->whole, h.to.index()))
        return error(
            fmt::format("then {}: it is repeated otherwise than {}", steps_->whole->statements[h.to.index()].name,
                        steps_->whole->statements[h.from.index()].name),
            "leave it out");
    return std::nullopt;
  }

  static bool without_points(const Computation& statement) {
    return std::any_of(statement.domain.dims.begin(), statement.domain.dims.end(),
                       [](const Dim& d) { return d.extent == 0; });
  }

  /// A statement with dims fused as its instruction has them.
  struct PairedStatement {
    Computation statement;
    InstructionForm instruction;
    Mapping mapping;
  };
  Result<PairedStatement> paired_statement(std::size_t s, const Do& line) const {
    const Kernel& kernel = lowering_.program.kernel;
    PairedStatement made{kernel.statements[s], {}, {}};
    if (line.instruction.empty()) return made;
    auto found = mapping_of(line, kernel, make_id<StatementId>(s), lowering_.model);
    if (!found) return found.diagnostics();
    made.mapping = *found;
    if (lines_ == DoLines::proved)
      if (const std::string no = unproved(line, kernel, made.mapping, lowering_.model); !no.empty())
        return error(no, "isamap map lists mappings that do");
    if (!made.statement.domain.faces.empty())
      return error(fmt::format("statement {} has a cut domain; lowering it to instructions is not supported",
                               made.statement.name));
    made.statement = fuse(made.statement, made.mapping);
    made.instruction = form_in(schedule_.nests[s], made.mapping, made.statement, lowering_.model);
    return made;
  }

  /// The buffer of a tensor that is kept whole, as its consumer's stage lays it out; over the dims of the producer if
  /// that is given, else over those of the consumer.
  Result<TileLayout> kept_tile(const TileFusion& h, const std::optional<Computation>& producer) {
    const Kernel& kernel = lowering_.program.kernel;
    const Nest& nest = schedule_.nests[h.to.index()];
    const Do* line = do_line(nest);
    if (!line) return error(fmt::format("the nest of {} has no `do`", kernel.statements[h.to.index()].name));
    const auto paired = paired_statement(h.to.index(), *line);
    if (!paired) return paired.diagnostics();
    const Computation& consumer = paired->statement;
    const TensorId tensor = kernel.statements[h.from.index()].write.tensor;
    int access = 1;
    while (access_of(consumer, access).tensor != tensor) ++access;
    Tiles whole;
    for (const Dim& dim : consumer.domain.dims) whole[dim.name] = {AffineExpr(0), dim.extent};
    const auto& stage = std::get<Stage>(nest.lines[h.to_line].is);
    auto made = make_tile(pair(consumer, paired->instruction, paired->mapping), kernel,
                          {access, *lowering_.model.find_memory(stage.memory), stage.layout}, whole, lowering_.model);
    if (!made) return made.diagnostics();
    const auto [known, is_new] = kept_buffers_.emplace(tensor, make_id<BufferId>(lowering_.program.buffers.size()));
    if (is_new) {
      made->buffer.name = fmt::format("{}_kept", kernel.tensors[tensor.index()].name);
      lowering_.program.buffers.push_back(std::move(made->buffer));
    }
    made->tile.buffer = known->second;
    made->tile.zero_padded = false;  // nothing fills it
    if (!producer) return std::move(made->tile);
    std::map<std::string, AffineExpr> names;
    const MatchedDims dims = matched_dims(producer->write, access_of(consumer, access)).value_or(MatchedDims{});
    for (const auto& [own, theirs] : dims) names[*theirs.as_dim()] = AffineExpr::dim(own);
    for (Coordinate& c : made->tile.coordinates) {
      for (const std::string& name : c.form.names())
        if (!names.contains(name))
          return error(fmt::format("{} is laid out along {}, which {} has not", kernel.tensors[tensor.index()].name,
                                   name, producer->name));
      c.form = substitute(c.form, names);
    }
    return std::move(made->tile);
  }

  /// Preceded by the statement as a comment.
  Result<std::vector<Node>> statement(std::size_t s, std::optional<FusedTile> fused_tile) {
    const Kernel& kernel = lowering_.program.kernel;
    const Nest& nest = schedule_.nests[s];
    const Do* line = do_line(nest);
    if (!line)
      return error(fmt::format("the nest of statement {} does not end with a `do` line", kernel.statements[s].name));
    NestInput input;
    input.kernel = &kernel;
    input.id = make_id<StatementId>(s);
    input.nest = &nest;
    input.tensors = tensors_;
    input.starts_from_memory = holds_a_value(kernel, input.id);
    input.written = written_elements(kernel.statements[s], kernel.tensors[kernel.statements[s].write.tensor.index()]);
    input.completed = !input.written.all && completed_by_others(kernel, s);
    const auto paired = paired_statement(s, *line);
    if (!paired) return paired.diagnostics();
    const Computation& fused = paired->statement;
    input.pairing = pair(fused, paired->instruction, paired->mapping);
    for (const TileFusion& h : kept_)
      if (h.from.index() == s || h.to.index() == s) {
        auto tile = kept_tile(h, h.from.index() == s ? std::optional(fused) : std::nullopt);
        if (!tile) return tile.diagnostics();
        input.kept_whole.emplace(h.from.index() == s ? h.from_line : h.to_line, std::move(*tile));
      }
    input.fused_tile = std::move(fused_tile);
    if (has_consumer(s))
      input.continue_with = [&, s](const std::string& name, const TileLayout& tile, const Tiles& tiles) {
        return continue_with(s, fused, name, tile, tiles);
      };
    std::vector<Node> nodes{Node{Comment{print(kernel.statements[s], kernel.tensors)}}};
    auto own = lower_nest(lowering_, input);
    if (!own) return own;
    nodes.insert(nodes.end(), own->begin(), own->end());
    return nodes;
  }

  bool has_consumer(std::size_t s) const {
    return std::any_of(fusions_.begin(), fusions_.end(), [&](const TileFusion& h) { return h.from.index() == s; });
  }

  Result<std::vector<Node>> continue_with(std::size_t from, const Computation& producer, const std::string& name,
                                          const TileLayout& tile, const Tiles& tiles) {
    const Kernel& kernel = lowering_.program.kernel;
    const auto h = std::find_if(fusions_.begin(), fusions_.end(), [&](const TileFusion& one) {
      return one.from.index() == from && kernel.statements[one.to.index()].name == name;
    });
    if (h == fusions_.end()) return std::vector<Node>{};
    Computation consumer = kernel.statements[h->to.index()];
    if (const Do* line = do_line(schedule_.nests[h->to.index()]); line != nullptr && !line->instruction.empty())
      if (const auto mapping = mapping_of(*line, kernel, h->to, lowering_.model)) consumer = fuse(consumer, *mapping);
    return statement(h->to.index(), make_fused_tile(producer, tile, tiles, consumer, h->to_line));
  }

  Lowering& lowering_;
  const Schedule& schedule_;
  DoLines lines_;
  TimeLoop* steps_;  ///< nullptr: nothing is repeated
  std::vector<TileLayout> tensors_;
  std::vector<TileFusion> fusions_;
  std::vector<TileFusion> kept_;  ///< whole
  std::map<TensorId, BufferId> kept_buffers_;
};

/// `kernel`: with the schedule's splits applied; of one step for recurrences.
Result<Program> lower_kernel(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model, DoLines lines,
                             TimeLoop* steps, const std::vector<Strides>& strides) {
  if (schedule.nests.size() != kernel.statements.size())
    return error(fmt::format("the schedule has {} nests; kernel {} has {} statements", schedule.nests.size(),
                             kernel.name, kernel.statements.size()));
  leave_if_asked();
  Lowering lowering(model);
  Program& program = lowering.program;
  program.name = schedule.name.empty() ? kernel.name : schedule.name;
  program.kernel = kernel;
  program.schedule_text = print(schedule);
  program.sizes = model.sizes();
  Schedule hoisted = schedule;
  for (std::size_t s = 0; s < hoisted.nests.size(); ++s)
    hoisted.nests[s] = hoist_stages(schedule.nests[s], kernel, make_id<StatementId>(s), model);
  auto body = Nests(lowering, hoisted, lines, steps, strides).run();
  if (!body) return body.diagnostics();
  program.body = std::move(*body);
  append_fences(program.body, model);
  if (is_host_code(model))
    program.body = before_first_use(lowering.mask_fills, std::move(program.body));
  else
    program.body.insert(program.body.begin(), lowering.mask_fills.begin(), lowering.mask_fills.end());
  return std::move(program);
}

}  // namespace

Result<Program> lower(const Schedule& schedule, const Kernel& whole, const HardwareModel& model, DoLines lines,
                      const std::vector<Strides>& strides) {
  if (const auto problem = strides_problem(strides, whole)) return Diagnostics{*problem};
  const auto transformed = scheduled_kernel(whole, schedule);
  if (!transformed) return transformed.diagnostics();
  const Kernel& kernel = *transformed;
  std::optional<TimeLoop> steps;
  if (!kernel.repeats.empty()) steps = TimeLoop{&kernel, one_step(kernel), {}};
  auto program =
      lower_kernel(schedule, steps ? steps->step.kernel : kernel, model, lines, steps ? &*steps : nullptr, strides);
  if (!program) return program;
  if (steps) program = wrap_in_recurrence(*program, steps->step, kernel, steps->variables, model);
  const auto is_real = [&](const std::string& name) {
    return std::any_of(whole.statements.begin(), whole.statements.end(),
                       [&](const Computation& one) { return one.name == name && is_float(one.body.type); });
  };
  for (const VectorizedReduction& parts : schedule.lanes)
    if (is_real(parts.statement))
      program->assumptions.push_back(
          {Assumption::Kind::sums_in_any_order,
           fmt::format("{} of {} is summed in any order: in {} lanes", parts.dim, parts.statement, parts.lanes)});
  for (const Nest& nest : schedule.nests)
    for (const Instruction& instruction : model.instructions())
      if (const Do* line = do_line(nest);
          line != nullptr && line->instruction == instruction.name && sums_lanes_in_any_order(instruction))
        program->assumptions.push_back(
            {Assumption::Kind::sums_in_any_order,
             fmt::format("lanes of {} are added up in any order, by {}", line->statement, instruction.name)});
  allocate(*program, model);
  Diagnostics problems = verify(*program, model);
  if (!has_errors(problems)) return program;
  if (const Diagnostics unroll = loops_to_unroll(schedule, *program, model); !unroll.empty()) return unroll;
  return at_last_line(problems, schedule.nests.back());
}

}  // namespace isamap
