// SPDX-License-Identifier: Apache-2.0
// Reference semantics of a program: loops run sequentially, calls by the described semantics of their instructions,
// point by point. Undefined values are poisoned (NaN, 0x5eadbeef...), so that a use of them shows in the result.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hwdesc/model/prefetch.h"
#include "ir/element_places.h"
#include "isamap/program_on_machine.h"
#include "program/call_rows.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr double garbage_real = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t garbage_integer = 0x5eadbeef5eadbeef;

// Row-major extents of a register buffer, element strides of others.
std::vector<std::int64_t> flat_strides(const Buffer& buffer) {
  if (buffer.slots < 0) return buffer.strides;
  std::vector<std::int64_t> strides(buffer.extents.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * buffer.extents[i];
  return strides;
}

std::int64_t flat_count(const Buffer& buffer) {
  if (buffer.slots < 0) return element_span(buffer);
  std::int64_t count = 1;
  for (std::int64_t extent : buffer.extents) count *= extent;
  return count;
}

// One operand of a statement or call: its element as an index into the buffer's values, or a constant.
struct OperandCode {
  std::size_t buffer = 0;
  CompiledAffine offset;
  std::optional<Scalar> constant = std::nullopt;  // immediate or state field
  std::optional<Scalar> outside = std::nullopt;   // value of out-of-bounds reads
  std::vector<CompiledAffine> indices = {};       // of each axis, if `outside` is set
  std::vector<std::int64_t> extents = {};
  std::optional<DType> other_sign = std::nullopt;  // type as which the call reads the bits
};

// Slots of loop variables and instruction dims in one array of values.
class Names {
 public:
  std::size_t slot(const std::string& name) {
    const auto [it, fresh] = slots_.try_emplace(name, order_.size());
    if (fresh) order_.push_back(name);
    return it->second;
  }
  const std::vector<std::string>& order() const { return order_; }

 private:
  std::map<std::string, std::size_t> slots_;
  std::vector<std::string> order_;
};

// Every name needs a slot before the first index is compiled.
void collect_names(const std::vector<Node>& nodes, const HardwareModel& model, Names& names) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) {
      names.slot(loop->variable);
      collect_names(loop->body, model, names);
    } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
      collect_names(guard->then, model, names);
      collect_names(guard->otherwise, model, names);
    } else if (const auto* call = std::get_if<Call>(&node.is)) {
      for (const Dim& dim : model.instruction(call->instruction).statement().domain.dims) names.slot("$" + dim.name);
    }
  }
}

/// Of all buffers: arguments that are read have their values, everything else is undefined.
std::vector<Storage> memory_with(const std::vector<TensorData>& data, const Program& program) {
  std::vector<Storage> memory;
  for (const Buffer& buffer : program.buffers) {
    Storage s{buffer.dtype, buffer.name, {}};
    s.values.assign(static_cast<std::size_t>(flat_count(buffer)), Scalar{garbage_real, garbage_integer});
    if (buffer.role == BufferRole::argument && !buffer.ahead_of_time) {
      const TensorData& from = data[buffer.tensor.index()];
      const bool read =
          role_of(program.kernel, buffer.tensor) == Role::input || program.kernel.tensors[buffer.tensor.index()].inout;
      const auto take = [&](std::int64_t i, std::int64_t at) { s.values[static_cast<std::size_t>(at)] = from.get(i); };
      if (read) for_each_place(buffer.extents, flat_strides(buffer), take);
    }
    memory.push_back(std::move(s));
  }
  return memory;
}

void store(const std::vector<Storage>& memory, const Program& program, std::vector<TensorData>& data) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.role != BufferRole::argument || buffer.ahead_of_time) continue;
    if (role_of(program.kernel, buffer.tensor) == Role::input) continue;
    TensorData& to = data[buffer.tensor.index()];
    for_each_place(buffer.extents, flat_strides(buffer),
                   [&](std::int64_t i, std::int64_t at) { to.set(i, memory[b].values[static_cast<std::size_t>(at)]); });
  }
}

/// By buffer that is filled ahead of time, in order.
std::vector<TensorData> packed_buffers(const std::vector<Storage>& memory, const Program& program) {
  std::vector<TensorData> packed;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (!program.buffers[b].ahead_of_time) continue;
    Tensor flat;
    flat.dtype = program.buffers[b].dtype;
    flat.shape = {static_cast<std::int64_t>(memory[b].values.size())};
    packed.push_back(make_data(flat));
    for (std::int64_t i = 0; i < flat.shape[0]; ++i) {
      const Scalar& value = memory[b].values[static_cast<std::size_t>(i)];
      const bool filled = !std::isnan(value.real) || value.integer != garbage_integer;
      if (filled) packed.back().set(i, value);
    }
  }
  return packed;
}

/// What one call adds to which counts.
std::vector<std::pair<std::int64_t*, std::int64_t>> counters_of(const Call& c, const Program& program,
                                                                const HardwareModel& model, Counts& counts) {
  const Instruction& instruction = model.instruction(c.instruction);
  std::vector<std::pair<std::int64_t*, std::int64_t>> counted{{&counts.calls[instruction.name], 1}};
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    if (!c.operands[i].buffer.valid()) continue;
    const Buffer& buffer = program.buffers[c.operands[i].buffer.index()];
    std::int64_t elements = 1;
    std::set<std::string> names;
    for (const AffineExpr& e : access_of(instruction.statement(), static_cast<int>(i)).index) names.merge(e.names());
    for (std::size_t d = 0; d < c.extents.size(); ++d)
      if (names.contains(instruction.statement().domain.dims[d].name)) elements *= c.extents[d];
    auto& by = (i == 0 ? counts.written_bytes : counts.read_bytes)[model.memory(buffer.memory).name];
    counted.emplace_back(&by[buffer.tensor.valid() ? program.kernel.tensors[buffer.tensor.index()].name : buffer.name],
                         elements * bytes(buffer.dtype));
  }
  return counted;
}

/// An element statement. Subscripts that reads compute are left out of offsets, and added at each visit.
struct ElementCode {
  OperandCode write;
  std::vector<OperandCode> reads;  ///< of values: without indices or offset
  struct Computed {
    std::size_t read = 0, by = 0;       ///< the read, and the earlier one whose value is the subscript
    std::int64_t stride = 0, last = 0;  ///< in elements; the greatest subscript of the axis
  };
  std::vector<Computed> computed;
  std::vector<std::pair<std::size_t, CompiledAffine>> values;  ///< read, index
};

/// A call of an instruction: operands of its points, and rows of points where it can be run in rows.
struct CallCode {
  std::vector<OperandCode> operands;                            // by tensor of the instruction
  std::vector<std::size_t> dims;                                // slots of the instruction's dims
  std::vector<std::pair<std::int64_t*, std::int64_t>> counted;  // calls, and bytes read and written
  std::optional<CallRows> rows;
};

/// Conditions, statements and calls with their indices compiled over the slots of names, each at its first visit.
class CompiledNodes {
 public:
  /// `names`: of all loops and calls; `counts`: what calls add to.
  CompiledNodes(const Program& program, const HardwareModel& model, Names& names, Counts& counts)
      : program_(program), model_(model), names_(names), counts_(counts) {}

  const std::vector<CompiledAffine>& of(const Guard& guard) {
    auto [it, fresh] = guards_.try_emplace(&guard);
    if (fresh)
      for (const AffineExpr& e : guard.conditions) it->second.emplace_back(e, names_.order());
    return it->second;
  }

  const ElementCode& of(const Element& e) {
    auto [it, fresh] = elements_.try_emplace(&e);
    if (fresh) compile(e, it->second);
    return it->second;
  }

  CallCode& of(const Call& c) {
    auto [it, fresh] = calls_.try_emplace(&c);
    if (fresh) compile(c, it->second);
    return it->second;
  }

 private:
  AffineExpr offset_of(const Ref& ref) const {
    const auto strides = flat_strides(program_.buffers[ref.buffer.index()]);
    AffineExpr offset;
    for (std::size_t i = 0; i < ref.index.size(); ++i) offset += ref.index[i] * strides[i];
    return offset;
  }

  OperandCode operand_at(const Ref& ref) const {
    return {ref.buffer.index(), CompiledAffine(offset_of(ref), names_.order())};
  }

  /// Bounds of each index, checked separately, for operands with a value out of bounds.
  void set_out_of_bounds(OperandCode& operand, const Ref& ref, double value) const {
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    operand.outside = convert({value, 0}, DType::f64, buffer.dtype, false);
    for (std::size_t i = 0; i < ref.index.size(); ++i) {
      operand.indices.emplace_back(ref.index[i], names_.order());
      operand.extents.push_back(buffer.extents[i]);
    }
  }

  /// Subscripts that other reads compute are added to the offset when these are known.
  void compile(const Element& e, ElementCode& code) const {
    code.write = operand_at(e.write);
    for (std::size_t i = 0; i < e.reads.size(); ++i) {
      if (!e.reads[i].buffer.valid()) {
        code.values.emplace_back(i, CompiledAffine(e.reads[i].index.at(0), names_.order()));
        code.reads.push_back({0, {}, Scalar{}});
        continue;
      }
      Ref ref = e.reads[i];
      const Buffer& buffer = program_.buffers[ref.buffer.index()];
      for (std::size_t a = 0; a < ref.index.size(); ++a) {
        const auto name = ref.index[a].as_dim();
        const auto by = name ? computed_read(*name) : std::nullopt;
        if (!by) continue;
        code.computed.push_back({i, static_cast<std::size_t>(*by), flat_strides(buffer)[a], buffer.extents[a] - 1});
        ref.index[a] = AffineExpr(0);
      }
      code.reads.push_back(operand_at(ref));
    }
  }

  void compile(const Call& c, CallCode& code) {
    const Instruction& instruction = model_.instruction(c.instruction);
    for (const Dim& dim : instruction.statement().domain.dims) code.dims.push_back(names_.slot("$" + dim.name));
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      const auto& own = instruction.operands[operand_of_access(instruction, static_cast<int>(i)).index()];
      const auto constant = own.memory.valid() ? std::nullopt : constant_value(own, c.operands[i]);
      code.operands.push_back(constant ? OperandCode{0, {}, constant} : operand_at(c.operands[i]));
      if (const BufferId id = c.operands[i].buffer; !constant && id.valid() && own.dtype)
        if (const DType stored = program_.buffers[id.index()].dtype;
            stored != *own.dtype && same_ring(*own.dtype, stored))
          code.operands.back().other_sign = own.dtype;
      if (!own.object.empty() && own.outside) set_out_of_bounds(code.operands.back(), c.operands[i], *own.outside);
    }
    code.counted = counters_of(c, program_, model_, counts_);
    code.rows = rows_of(c, instruction, code);
  }

  /// Nothing where points depend on one another or on bounds, or offsets have no table.
  std::optional<CallRows> rows_of(const Call& c, const Instruction& instruction, const CallCode& code) {
    std::vector<std::string> dims;
    for (const Dim& dim : instruction.statement().domain.dims) dims.push_back("$" + dim.name);
    std::vector<RowOperand> operands;
    for (std::size_t i = 0; i < code.operands.size(); ++i) {
      const OperandCode& own = code.operands[i];
      operands.push_back({own.buffer, {}, nullptr, own.constant.value_or(Scalar{}), own.other_sign});
      if (i > 0 && own.constant) continue;
      const auto split = split_offset(offset_of(c.operands[i]));
      if (!split || own.outside || (i > 0 && own.buffer == code.operands[0].buffer)) return std::nullopt;
      operands.back().base = CompiledAffine(split->base, names_.order());
      operands.back().table = tables_.over(split->distance, dims, c.extents);
      if (!operands.back().table) return std::nullopt;
    }
    return CallRows(bodies_.try_emplace(&instruction, instruction.statement()).first->second, std::move(operands));
  }

  const Program& program_;
  const HardwareModel& model_;
  Names& names_;
  Counts& counts_;
  std::map<const Guard*, std::vector<CompiledAffine>> guards_;
  std::map<const Element*, ElementCode> elements_;
  std::map<const Call*, CallCode> calls_;
  std::map<const Instruction*, RowBody> bodies_;
  DistanceTables tables_;
};

/// Values of loop variables and buffers while a program runs, and the first problem: it ends the run.
class Machine {
 public:
  Machine(const Program& program, const HardwareModel& model)
      : program_(program), model_(model), code_(program, model, names_, counts_) {}

  Result<Counts> run(std::vector<TensorData>& data) {
    collect_names(program_.prepack, model_, names_);
    collect_names(program_.body, model_, names_);
    values_.assign(names_.order().size(), 0);
    memory_ = memory_with(data, program_);
    list(program_.prepack);
    list(program_.body);
    if (!problem_.empty()) return error(problem_);
    store(memory_, program_, data);
    return counts_;
  }

  /// By buffer that is filled ahead of time, in order.
  Result<std::vector<TensorData>> pack(const std::vector<TensorData>& data) {
    collect_names(program_.prepack, model_, names_);
    values_.assign(names_.order().size(), 0);
    memory_ = memory_with(data, program_);
    list(program_.prepack);
    if (!problem_.empty()) return error(problem_);
    return packed_buffers(memory_, program_);
  }

 private:
  void fail(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }

  void list(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (!problem_.empty()) return;
      if (const auto* loop = std::get_if<Loop>(&node.is)) {
        std::int64_t& value = values_[names_.slot(loop->variable)];
        for (value = 0; value < loop->trip && problem_.empty(); ++value) list(loop->body);
      } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
        list(holds(*guard) ? guard->then : guard->otherwise);
      } else if (const auto* c = std::get_if<Call>(&node.is)) {
        call(*c);
      } else if (const auto* e = std::get_if<Element>(&node.is)) {
        element(*e);
      }
    }
  }

  bool holds(const Guard& guard) {
    const std::vector<CompiledAffine>& conditions = code_.of(guard);
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const CompiledAffine& e) { return e(values_.data()) >= 0; });
  }

  bool is_outside(const OperandCode& operand) const {
    for (std::size_t i = 0; i < operand.indices.size(); ++i)
      if (const std::int64_t at = operand.indices[i](values_.data()); at < 0 || at >= operand.extents[i]) return true;
    return false;
  }

  std::optional<std::size_t> place(const OperandCode& operand, const char* doing, std::int64_t computed = 0) {
    const std::int64_t at = operand.offset(values_.data()) + computed;
    if (at >= 0 && at < static_cast<std::int64_t>(memory_[operand.buffer].values.size()))
      return static_cast<std::size_t>(at);
    fail(fmt::format("{} {} at element {}; it has {}", doing, memory_[operand.buffer].name, at,
                     memory_[operand.buffer].values.size()));
    return std::nullopt;
  }

  /// The offset that computed subscripts add to a read; the reads before it are in `scratch_`.
  std::int64_t computed_offset(const ElementCode& code, std::size_t read) const {
    std::int64_t offset = 0;
    for (const auto& [of, by, stride, last] : code.computed)
      if (of == read) offset += stride * std::clamp<std::int64_t>(scratch_[by].integer, 0, last);
    return offset;
  }

  void element(const Element& e) {
    const ElementCode& code = code_.of(e);
    scratch_.resize(code.reads.size());
    for (const auto& [i, value] : code.values) scratch_[i] = {0, value(values_.data())};
    for (std::size_t i = 0; i < code.reads.size(); ++i) {
      if (!e.reads[i].buffer.valid()) continue;
      const auto at = place(code.reads[i], "an element statement reads", computed_offset(code, i));
      if (!at) return;
      scratch_[i] = memory_[code.reads[i].buffer].values[*at];
    }
    const auto at = place(code.write, "an element statement writes");
    if (!at) return;
    Scalar& to = memory_[code.write.buffer].values[*at];
    const DType type = memory_[code.write.buffer].dtype;
    to = combine(e.reduction, type, to, evaluate(e.body, scratch_.data()));
    if (type != e.body.type && same_ring(type, e.body.type)) to.integer = wrap_to(type, to.integer);
    ++counts_.element_statements;
  }

  // Visits every point of a box; `visit` sees the point in values_.
  template <class Visit>
  void points(const std::vector<std::size_t>& slots, const std::vector<std::int64_t>& extents, const Visit& visit) {
    for (std::int64_t extent : extents)
      if (extent == 0) return;
    for (std::size_t slot : slots) values_[slot] = 0;
    while (problem_.empty()) {
      visit();
      std::size_t d = slots.size();
      while (d > 0 && ++values_[slots[d - 1]] >= extents[d - 1]) values_[slots[--d]] = 0;
      if (d == 0) return;
    }
  }

  void call(const Call& c) {
    const Instruction& instruction = model_.instruction(c.instruction);
    if (is_prefetch(instruction, model_)) {
      ++counts_.calls[instruction.name];
      return;
    }
    if (instruction.semantics.size() != 1)
      return fail(instruction.name + ": several statements in one instruction are not executed yet");
    CallCode& code = code_.of(c);
    for (const auto& [counter, by] : code.counted) *counter += by;
    if (!code.rows || !code.rows->run(memory_, values_.data(), c.start == Start::zero))
      one_by_one(c, instruction.statement(), code);
    inactive(c, instruction, code);
  }

  void one_by_one(const Call& c, const Computation& statement, const CallCode& code) {
    if (c.start == Start::zero)
      points(code.dims, c.extents, [&] {
        if (const auto at = place(code.operands[0], "a start writes"))
          memory_[code.operands[0].buffer].values[*at] =
              identity(statement.reduction, memory_[code.operands[0].buffer].dtype);
      });
    points(code.dims, c.extents, [&] {
      scratch_.resize(code.operands.size());
      for (std::size_t i = 1; i < code.operands.size(); ++i) {
        if (code.operands[i].constant) {
          scratch_[i - 1] = *code.operands[i].constant;
          continue;
        }
        if (code.operands[i].outside && is_outside(code.operands[i])) {
          scratch_[i - 1] = *code.operands[i].outside;
          continue;
        }
        const auto at = place(code.operands[i], "a call reads");
        if (!at) return;
        scratch_[i - 1] = memory_[code.operands[i].buffer].values[*at];
        if (const auto& own = code.operands[i].other_sign)
          scratch_[i - 1].integer = wrap_to(*own, scratch_[i - 1].integer);
      }
      const auto at = place(code.operands[0], "a call writes");
      if (!at) return;
      Storage& out = memory_[code.operands[0].buffer];
      out.values[*at] =
          combine(statement.reduction, out.dtype, out.values[*at], evaluate(statement.body, scratch_.data()));
      if (code.operands[0].other_sign) out.values[*at].integer = wrap_to(out.dtype, out.values[*at].integer);
    });
  }

  // Sets the elements from the extents to the maximum, which the call leaves 0 or undefined.
  void inactive(const Call& c, const Instruction& instruction, const CallCode& code) {
    if (instruction.inactive != Inactive::zero && instruction.inactive != Inactive::undefined) return;
    const std::vector<std::int64_t> full = touched_extents(instruction, c.extents);
    if (full == c.extents) return;
    const Scalar left = instruction.inactive == Inactive::zero ? Scalar{} : Scalar{garbage_real, garbage_integer};
    points(code.dims, full, [&] {
      bool active = true;
      for (std::size_t d = 0; d < full.size(); ++d) active &= values_[code.dims[d]] < c.extents[d];
      if (active) return;
      const std::int64_t at = code.operands[0].offset(values_.data());
      auto& values = memory_[code.operands[0].buffer].values;
      if (at >= 0 && at < static_cast<std::int64_t>(values.size())) values[static_cast<std::size_t>(at)] = left;
    });
  }

  const Program& program_;
  const HardwareModel& model_;
  Names names_;
  std::vector<std::int64_t> values_;
  std::vector<Storage> memory_;
  std::vector<Scalar> scratch_;
  Counts counts_;
  CompiledNodes code_;
  std::string problem_;
};

}  // namespace

Result<Counts> interpret(const Program& program, const HardwareModel& model, std::vector<TensorData>& data) {
  return Machine(program, model).run(data);
}

Result<std::vector<TensorData>> pack(const Program& program, const HardwareModel& model,
                                     const std::vector<TensorData>& data) {
  return Machine(program, model).pack(data);
}

}  // namespace isamap
