// SPDX-License-Identifier: Apache-2.0
// Invariants of a program, checked before it is emitted or run: index bounds, types, memories, alignment, write
// conflicts, capacities. Bounds use interval arithmetic, which is exact for the linear indices that lowering makes.

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/chosen_registers.h"
#include "hwdesc/model/parallel_units.h"
#include "hwdesc/model/prefetch.h"
#include "ir/legal.h"
#include "ir/start.h"
#include "ir/symbolic/known_bounds.h"
#include "isamap/program_on_machine.h"
#include "program/exceeded_capacities.h"

namespace isamap {

namespace {

// The loops and guards around a node, and the problems so far.
struct Verifier {
  const Program& program;
  const HardwareModel& model;
  Diagnostics problems = {};
  std::vector<ChosenRegister> chosen = {};
  Ranges ranges = {};
  std::set<std::string> unrolled = {};
  std::map<std::string, UnitId> open_units = {};   // open loops over instances of a unit
  std::vector<AffineExpr> conditions = {};         // of enclosing guards, in both branches
  std::vector<AffineExpr> known_nonnegative = {};  // of those in whose `then` branch this is

  void problem(const std::string& text) {
    if (problems.size() < 20) problems.push_back(error(text));
  }

  void list(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (const auto* loop = std::get_if<Loop>(&node.is)) {
        enter(*loop);
      } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
        guarded(*guard);
      } else if (const auto* c = std::get_if<Call>(&node.is)) {
        call(*c);
      } else if (const auto* e = std::get_if<Element>(&node.is)) {
        element(*e);
      }
    }
  }

  void enter(const Loop& loop) {
    if (ranges.contains(loop.variable)) problem("loop variable " + loop.variable + " is used twice at once");
    if (loop.trip < 0) problem(fmt::format("loop {} has trip {}", loop.variable, loop.trip));
    if (loop.trip <= 0) return;
    ranges[loop.variable] = {0, loop.trip - 1};
    if (loop.unroll) unrolled.insert(loop.variable);
    if (const auto unit = model.find_unit(loop.unit)) open_units[loop.variable] = *unit;
    list(loop.body);
    ranges.erase(loop.variable);
    unrolled.erase(loop.variable);
    open_units.erase(loop.variable);
  }

  // Conditions narrow ranges: an expression that is a condition is known to be >= 0 inside.
  void guarded(const Guard& guard) {
    const auto before = known_nonnegative.size();
    const Ranges outside = ranges;
    known_nonnegative.insert(known_nonnegative.end(), guard.conditions.begin(), guard.conditions.end());
    for (const AffineExpr& condition : guard.conditions) narrow(ranges, condition);
    const auto around = conditions.size();
    conditions.insert(conditions.end(), guard.conditions.begin(), guard.conditions.end());
    list(guard.then);
    known_nonnegative.resize(before);
    ranges = outside;
    list(guard.otherwise);
    conditions.resize(around);
  }

  bool nonnegative(const AffineExpr& e, const Ranges& at) const {
    return isamap::nonnegative(e, at, known_nonnegative);
  }

  bool names_buffer(const Ref& r) const { return r.buffer.valid() && r.buffer.index() < program.buffers.size(); }

  void ref(const Ref& r, const Ranges& at, const std::string& who) {
    if (!names_buffer(r)) return problem(who + " names no buffer");
    const Buffer& buffer = program.buffers[r.buffer.index()];
    if (r.index.size() != buffer.extents.size())
      return problem(fmt::format("{} gives {} indices to {}, which has {} axes", who, r.index.size(), buffer.name,
                                 buffer.extents.size()));
    for (std::size_t i = 0; i < r.index.size(); ++i) {
      if (!nonnegative(r.index[i], at) || !nonnegative(AffineExpr(buffer.extents[i] - 1) - r.index[i], at))
        problem(fmt::format("{}: index {} of axis {} of {} may leave 0..{}", who, print(r.index[i]), i, buffer.name,
                            buffer.extents[i] - 1));
      if (static_cast<int>(i) < buffer.slots)
        for (const std::string& name : r.index[i].names())
          if (!unrolled.contains(name) && !instance_of_owner(name, buffer)) {
            const auto same = [&](const ChosenRegister& c) { return c.buffer == r.buffer && c.variable == name; };
            if (std::none_of(chosen.begin(), chosen.end(), same)) chosen.push_back({r.buffer, name});
            problem(fmt::format("{}: register of {} is chosen by {}, which is not an unrolled loop", who, buffer.name,
                                name));
          }
    }
  }

  // If each instance of the loop's unit owns the register, the variable selects no register within an instance.
  bool instance_of_owner(const std::string& variable, const Buffer& buffer) const {
    const auto unit = open_units.find(variable);
    return unit != open_units.end() && side_by_side(model, unit->second) &&
           model.inside(model.memory(buffer.memory).per, unit->second);
  }

  void call(const Call& c) {
    const Instruction& instruction = model.instruction(c.instruction);
    const auto& dims = instruction.statement().domain.dims;
    if (c.extents.size() != dims.size())
      return problem(instruction.name + " is called with the wrong number of extents");
    Ranges at = ranges;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const DimRange& range = instruction.ranges[d];
      if (c.extents[d] < range.min || c.extents[d] > range.max ||
          c.extents[d] % std::max<std::int64_t>(1, range.multiple_of) != 0)
        problem(fmt::format("{}: extent {} of {} is not in {}..{}", instruction.name, c.extents[d], dims[d].name,
                            range.min, range.max));
      at["$" + dims[d].name] = {0, c.extents[d] - 1};
    }
    if (c.operands.size() != static_cast<std::size_t>(access_count(instruction.statement())))
      return problem(instruction.name + " is called with the wrong number of operands");
    if (const std::string no = broken_condition(instruction, c, program.buffers, ranges); !no.empty()) problem(no);
    if (is_prefetch(instruction, model)) {
      const Ref& lines = c.operands[1];
      if (!lines.buffer.valid() || lines.buffer.index() >= program.buffers.size() ||
          lines.index.size() != program.buffers[lines.buffer.index()].extents.size())
        problem(instruction.name + " prefetches from no buffer");
      return;
    }
    if (!may_start(instruction, c.start))
      problem(fmt::format("{} {}", instruction.name,
                          c.start == Start::keep ? "always overwrites its output; the call accumulates"
                                                 : "always accumulates; the call overwrites its output"));
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      const Operand& operand = instruction.operands[operand_of_access(instruction, static_cast<int>(i)).index()];
      if (!operand.memory.valid()) {
        if (!constant_value(operand, c.operands[i]))
          problem(fmt::format("{}: operand {} has no value", instruction.name, operand.name));
        continue;
      }
      if (!names_buffer(c.operands[i])) {
        problem(instruction.name + " names no buffer");
        continue;
      }
      // Tensor descriptors define out-of-bounds accesses.
      if (operand.object.empty() || !operand.outside) ref(c.operands[i], at, instruction.name);
      const Buffer& buffer = program.buffers[c.operands[i].buffer.index()];
      if (operand.memory != buffer.memory)
        problem(fmt::format("{}: operand {} is in {}, not {}", instruction.name, operand.name,
                            model.memory(buffer.memory).name, model.memory(operand.memory).name));
      if (operand.dtype && *operand.dtype != buffer.dtype && !is_bits(*operand.dtype))
        problem(fmt::format("{}: operand {} is {}, not {}", instruction.name, operand.name, name(buffer.dtype),
                            name(*operand.dtype)));
      if (operand.object.empty()) aligned(c.operands[i], operand, instruction);
    }
    if (names_buffer(c.operands[0])) check_write_conflict(c.operands[0], instruction.atomic, instruction.name);
  }

  // Parallel instances that share a memory must not write one element, unless the instruction is atomic among them.
  // Reports definite conflicts only: neither the index nor a condition contains the loop variable.
  void check_write_conflict(const Ref& written, UnitId atomic, const std::string& who) {
    if (!written.buffer.valid()) return;
    const Buffer& buffer = program.buffers[written.buffer.index()];
    for (const auto& [variable, unit] : open_units) {
      const auto says = [&, v = variable](const AffineExpr& e) { return e.names().contains(v); };
      if (ranges.at(variable).high < 1 || !side_by_side(model, unit) ||
          model.inside(model.memory(buffer.memory).per, unit) ||
          (atomic.valid() && unit != atomic && model.inside(unit, atomic)) ||
          std::any_of(written.index.begin(), written.index.end(), says) ||
          std::any_of(conditions.begin(), conditions.end(), says))
        continue;
      problem(fmt::format("{}: all instances of {} ({}) write the same elements of {}, and it is not atomic among them",
                          who, model.unit(unit).name, variable, buffer.name));
    }
  }

  // Every term of the address must keep the alignment.
  void aligned(const Ref& r, const Operand& operand, const Instruction& instruction) {
    const Buffer& buffer = program.buffers[r.buffer.index()];
    const std::int64_t unit = std::max(operand.align, model.memory(buffer.memory).granularity);
    if (buffer.slots >= 0 || unit <= 1) return;
    AffineExpr offset;
    for (std::size_t i = 0; i < r.index.size(); ++i) offset += r.index[i] * (buffer.strides[i] * bytes(buffer.dtype));
    std::map<std::string, AffineExpr> start;
    for (const std::string& n : offset.names())
      if (n.front() == '$') start[n] = AffineExpr(0);
    offset = simplify(substitute(offset, start), ranges);
    bool ok = offset.constant() % unit == 0 && buffer.address % unit == 0 && buffer.align % operand.align == 0;
    for (const AffineTerm& term : offset.terms()) ok &= term.coefficient % unit == 0;
    if (!ok)
      problem(fmt::format("{}: operand {} at byte {} of {} is not aligned to {} B", instruction.name, operand.name,
                          print(offset), buffer.name, unit));
  }

  void element(const Element& e) {
    ref(e.write, ranges, "element statement");
    if (!names_buffer(e.write)) return;
    if (e.reduction != Reduction::assign) check_write_conflict(e.write, {}, "element statement");
    for (const Ref& r : e.reads) r.buffer.valid() ? ref(r, with_computed(e, r), "element statement") : value(r);
    for (const Ref* r : all(e)) {
      const Buffer& buffer = program.buffers[r->buffer.index()];
      if (model.memory(buffer.memory).is_register() || !model.scalar_unit_for(buffer.memory))
        problem(fmt::format("no scalar unit reaches {} in {}", buffer.name, model.memory(buffer.memory).name));
    }
  }
  static std::vector<const Ref*> all(const Element& e) {
    std::vector<const Ref*> refs{&e.write};
    for (const Ref& r : e.reads)
      if (r.buffer.valid()) refs.push_back(&r);
    return refs;
  }

  void value(const Ref& r) {
    if (r.index.size() != 1 || !bounds(r.index[0], ranges))
      problem("element statement: the value of an index is no expression of the loops around it");
  }

  /// Subscripts of this read that earlier ones compute are clamped into their axes.
  Ranges with_computed(const Element& e, const Ref& r) {
    Ranges all = ranges;
    for (std::size_t i = 0; i < r.index.size(); ++i) {
      const auto name = r.index[i].as_dim();
      const auto by = name ? computed_read(*name) : std::nullopt;
      if (!by || !r.buffer.valid() || i >= program.buffers[r.buffer.index()].extents.size()) continue;
      const bool earlier =
          &e.reads[static_cast<std::size_t>(std::min<std::ptrdiff_t>(*by, std::ssize(e.reads) - 1))] < &r;
      const bool integer = earlier && e.reads[static_cast<std::size_t>(*by)].buffer.valid() &&
                           is_integer(program.buffers[e.reads[static_cast<std::size_t>(*by)].buffer.index()].dtype);
      if (!integer) problem("element statement: a subscript is computed by no earlier read of integers");
      all[*name] = {0, program.buffers[r.buffer.index()].extents[i] - 1};
    }
    return all;
  }
};

}  // namespace

Diagnostics verify(const Program& program, const HardwareModel& model) {
  Verifier verifier{program, model};
  verifier.list(program.prepack);
  verifier.list(program.body);
  for (Diagnostic& full : exceeded_capacities(program, model)) verifier.problems.push_back(std::move(full));
  return verifier.problems;
}

std::vector<ChosenRegister> registers_chosen_by_loops(const Program& program, const HardwareModel& model) {
  Verifier verifier{program, model};
  verifier.list(program.prepack);
  verifier.list(program.body);
  return verifier.chosen;
}

}  // namespace isamap
