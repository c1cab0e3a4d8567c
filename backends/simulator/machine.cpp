// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/simulator/operand_position.h"
#include "hwdesc/model/encodable_values.h"
#include "hwdesc/model/memory_time.h"
#include "ir/legal.h"
#include "ir/operand_use.h"
#include "isamap/interpret.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::int64_t max_scratch = std::int64_t{64} << 20;

/// Calls f for every point of a box, the last dim fastest.
template <class F>
void for_each_point(const std::vector<std::int64_t>& extents, F&& f) {
  std::vector<std::int64_t> point(extents.size() + 1, 0);
  if (std::any_of(extents.begin(), extents.end(), [](std::int64_t e) { return e <= 0; })) return;
  for (;;) {
    f(point);
    std::size_t d = extents.size();
    while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

Machine::Machine(const Program& program, const HardwareModel& model) : model_(model), images_(model.memories().size()) {
  Random random(0x9a7ba9e);
  std::vector<std::int64_t> needed(images_.size(), 0), narrowest(images_.size(), 4);
  for (const Buffer& buffer : program.buffers) {
    narrowest[buffer.memory.index()] =
        std::clamp<std::int64_t>(bytes(buffer.dtype), 1, narrowest[buffer.memory.index()]);
    const Memory& memory = model.memory(buffer.memory);
    const std::int64_t end = buffer.slots >= 0
                                 ? (buffer.address + slot_count(buffer) * buffer.registers_per_slot) * memory.size
                                 : buffer.address + element_span(buffer) * bytes(buffer.dtype);
    needed[buffer.memory.index()] = std::max(needed[buffer.memory.index()], end);
  }
  for (std::size_t m = 0; m < images_.size(); ++m) {
    const Memory& memory = model.memories()[m];
    // A scratchpad is allocated whole; of a large memory only the bytes that the program uses.
    std::int64_t size = needed[m];
    if (memory.kind != MemoryKind::dram && memory.kind != MemoryKind::cache && memory.capacity <= max_scratch)
      size = std::max(size, memory.capacity);
    images_[m].bytes.resize(static_cast<std::size_t>(size));
    for (std::uint8_t& byte : images_[m].bytes) byte = static_cast<std::uint8_t>(random.next() >> 56);
    images_[m].block = memory.is_register() ? std::max<std::int64_t>(memory.size, 1) : narrowest[m];
    const auto blocks = static_cast<std::size_t>(size / images_[m].block + 1);
    images_[m].written = ReadyTimes(blocks);
    images_[m].read = ReadyTimes(blocks);
  }
}

/// Number of leading positions of a dim that its mask enables. All of them without a mask.
Result<std::int64_t> Machine::masked_extent(const Command& command, const Dim& dim) const {
  for (const auto& [name, memory] : command.instruction->masks) {
    if (name != dim.name) continue;
    const auto number = command.value({"mask", "", name});
    if (!number) return error(fmt::format("the command does not encode the mask of '{}'", dim.name));
    const std::vector<std::uint8_t>& image = images_[memory.index()].bytes;
    const std::int64_t from = *number * std::max<std::int64_t>(model_.memory(memory).size, 1);
    if (*number < 0 || from + dim.extent > static_cast<std::int64_t>(image.size()))
      return error(fmt::format("mask {} of '{}' is outside {}", *number, dim.name, model_.memory(memory).name));
    const auto set = [&](std::int64_t p) { return (image[static_cast<std::size_t>(from + p)] & 1) != 0; };
    std::int64_t count = 0;
    while (count < dim.extent && set(count)) ++count;
    for (std::int64_t p = count; p < dim.extent; ++p)
      if (set(p))
        return error(fmt::format("mask {} of '{}' has a gap at {}: a mask must enable a prefix of the positions",
                                 *number, dim.name, count));
    return count;
  }
  return dim.extent;
}

std::optional<Diagnostic> Machine::extents_of(const Command& command, Use& use) const {
  const Instruction& instruction = *command.instruction;
  const auto& dims = instruction.statement().domain.dims;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    auto masked = masked_extent(command, dims[d]);
    if (!masked) return masked.diagnostics().front();
    const std::int64_t extent = command.value({"extent", "", dims[d].name}).value_or(*masked);
    const DimRange range =
        d < instruction.ranges.size() ? instruction.ranges[d] : DimRange{.min = dims[d].extent, .max = dims[d].extent};
    if (extent < range.min || extent > range.max ||
        extent % std::max<std::int64_t>(range.fixed() ? 1 : range.multiple_of, 1) != 0)
      return error(fmt::format("extent {} of {} in '{}' is not in {}..{}", extent, dims[d].name, instruction.name,
                               range.min, range.max));
    use.extents.push_back(extent);
  }
  const std::string no = broken_condition(instruction, [&](const Reference& r) {
    const int d = r.object == "extent" ? instruction.statement().domain.find(r.argument) : -1;
    return d < 0 ? command.value(r) : std::optional(use.extents[static_cast<std::size_t>(d)]);
  });
  return no.empty() ? std::nullopt : std::optional(error(no));
}

std::optional<DType> Machine::type_moved_by(const Instruction& move) const {
  const auto [found, fresh] = moved_types_.try_emplace(&move);
  if (fresh) found->second = moved_type(move, model_.instructions());
  return found->second;
}

std::optional<Diagnostic> Machine::access_of_operand(const Command& command, int number, Use& use) const {
  const Instruction& instruction = *command.instruction;
  const Operand& operand = operand_of(instruction, number);
  const isamap::Access& subscripts = isamap::access_of(instruction.statement(), number);
  use.accesses.emplace_back();
  Access& access = use.accesses.back();
  access.dtype = operand.dtype ? *operand.dtype
                 : is_move(instruction)
                     ? type_moved_by(instruction).value_or(instruction.tensors[subscripts.tensor.index()].dtype)
                     : instruction.tensors[subscripts.tensor.index()].dtype;
  auto at = command.value({operand.name, "", ""});
  if (!at && operand.memory.valid() && model_.memory(operand.memory).is_register() &&
      model_.memory(operand.memory).count == 1)
    at = 0;  // a file of one register: index 0
  if (!operand.memory.valid()) {
    if (at) access.number = constant_value(operand, Ref{BufferId{}, {AffineExpr(*at)}});
    if (!access.number) return error(fmt::format("'{}' of '{}' has no value", operand.name, instruction.name));
    return std::nullopt;
  }
  if (!at) return error(fmt::format("the command does not encode the address of '{}'", operand.name));
  access.memory = operand.memory;
  const Memory& memory = model_.memory(operand.memory);
  const std::int64_t step = memory.is_register() ? std::max<std::int64_t>(memory.size, 1) : memory.granularity;
  const auto size = static_cast<std::int64_t>(images_[operand.memory.index()].bytes.size());
  const std::int64_t steps = memory.is_register() ? *at : *at - memory.base;
  if (steps < 0 || steps > size / std::max<std::int64_t>(step, 1))
    return error(fmt::format("address {} of '{}' is outside {}", *at, operand.name, memory.name));
  access.origin = steps * step;
  if (const auto* strided = std::get_if<StridedLayout>(&operand.layout)) access.swizzle = strided->swizzle;
  if (operand.align > 1 && access.origin % operand.align != 0)
    return error(fmt::format("address {} of '{}' is not aligned to {} bytes", *at, operand.name, operand.align));
  auto position = position_of(command, number, access.dtype);
  if (!position) return position.diagnostics().front();
  Ranges ranges;
  const auto& dims = instruction.statement().domain.dims;
  // Positions beyond the extents that become zero or garbage are written too.
  const std::vector<std::int64_t> touched = number == 0 ? touched_extents(instruction, use.extents) : use.extents;
  for (std::size_t d = 0; d < dims.size(); ++d) ranges[dims[d].name] = {0, touched[d] - 1};
  const auto span = bounds(*position, ranges);
  if (!span) return error(fmt::format("'{}' has no bounded position", operand.name));
  access.low = span->low;
  access.high = span->high;
  const std::int64_t width = bytes(access.dtype);
  const bool empty = std::any_of(use.extents.begin(), use.extents.end(), [](std::int64_t e) { return e == 0; });
  if (!empty && (access.origin + access.low * width < 0 || access.origin + (access.high + 1) * width > size))
    return error(
        fmt::format("'{}' of '{}' reaches byte {} of {}, of which the program has {}", operand.name, instruction.name,
                    access.low < 0 ? access.origin + access.low * width : access.origin + (access.high + 1) * width - 1,
                    memory.name, size));
  access.position = CompiledAffine(*position, dim_names(instruction.statement()));
  return std::nullopt;
}

std::size_t Machine::byte_of(const Access& access, const std::int64_t* point) const {
  auto at = static_cast<std::uint64_t>(access.origin + access.position(point) * bytes(access.dtype));
  if (access.swizzle) {
    const std::uint64_t mask = (std::uint64_t{1} << access.swizzle->bits) - 1;
    at ^= ((at >> access.swizzle->from) & mask) << access.swizzle->to;
    at = std::min<std::uint64_t>(
        at, images_[access.memory.index()].bytes.size() - static_cast<std::size_t>(bytes(access.dtype)));
  }
  return at;
}

Scalar Machine::load(const Access& access, const std::int64_t* point) const {
  if (access.number) return *access.number;
  const std::uint8_t* from = images_[access.memory.index()].bytes.data() + byte_of(access, point);
  std::uint64_t raw = 0;
  for (int b = bytes(access.dtype); b-- > 0;) raw = raw << 8 | from[b];
  return decode(access.dtype, raw);
}

void Machine::store(const Access& access, const std::int64_t* point, Scalar value) {
  std::uint8_t* to = images_[access.memory.index()].bytes.data() + byte_of(access, point);
  const std::uint64_t raw = encode(access.dtype, value);
  for (int b = 0; b < bytes(access.dtype); ++b) to[b] = static_cast<std::uint8_t>(raw >> (8 * b));
}

void Machine::compute(const Use& use) {
  const Computation& statement = use.instruction->statement();
  const Access& written = use.accesses[0];
  if (use.start_at_identity) {
    const Scalar neutral = identity(statement.reduction, written.dtype);
    for_each_point(use.extents, [&](const std::vector<std::int64_t>& p) { store(written, p.data(), neutral); });
  }
  std::vector<Scalar> reads(use.accesses.size());
  for_each_point(use.extents, [&](const std::vector<std::int64_t>& p) {
    for (std::size_t r = 1; r < use.accesses.size(); ++r) reads[r - 1] = load(use.accesses[r], p.data());
    Scalar value = evaluate(statement.body, reads.data());
    if (statement.reduction != Reduction::assign)
      value = combine(statement.reduction, written.dtype, load(written, p.data()), value);
    store(written, p.data(), value);
  });
}

/// Positions of the written operand beyond the extents: zero, or garbage.
void Machine::deaden(const Use& use) {
  const Instruction& instruction = *use.instruction;
  if (instruction.inactive != Inactive::zero && instruction.inactive != Inactive::undefined) return;
  const auto& dims = instruction.statement().domain.dims;
  std::vector<std::int64_t> box;
  bool partial = false;
  const std::vector<std::int64_t> touched = touched_extents(instruction, use.extents);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool of_output = dims[d].kind == DimKind::parallel;
    box.push_back(of_output ? touched[d] : 1);
    partial = partial || (of_output && use.extents[d] < touched[d]);
  }
  if (!partial) return;
  const Scalar dead =
      instruction.inactive == Inactive::zero
          ? Scalar{}
          : convert({0x1.23456p+9, 0x5a5a5a5a}, is_float(use.accesses[0].dtype) ? DType::f64 : DType::s64,
                    use.accesses[0].dtype, false);
  for_each_point(box, [&](const std::vector<std::int64_t>& p) {
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d].kind == DimKind::parallel && p[d] >= use.extents[d]) return store(use.accesses[0], p.data(), dead);
  });
}

/// Start byte of each accessed element, once for each point of the domain.
template <class F>
void Machine::for_each_element(const Use& use, std::size_t access, F&& f) const {
  const Access& a = use.accesses[access];
  if (!a.memory.valid()) return;
  std::vector<std::int64_t> extents = access == 0 ? touched_extents(*use.instruction, use.extents) : use.extents;
  const auto& dims = use.instruction->statement().domain.dims;
  const isamap::Access& subscripts = isamap::access_of(use.instruction->statement(), static_cast<int>(access));
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (!uses(subscripts, dims[d].name)) extents[d] = std::min<std::int64_t>(extents[d], 1);
  for_each_point(extents, [&](const std::vector<std::int64_t>& p) { f(byte_of(a, p.data())); });
}

std::int64_t Machine::bytes_accessed(const Use& use, std::size_t access) const {
  const auto& dims = use.instruction->statement().domain.dims;
  const isamap::Access& subscripts = isamap::access_of(use.instruction->statement(), static_cast<int>(access));
  std::int64_t moved = bytes(use.accesses[access].dtype);
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (uses(subscripts, dims[d].name)) moved *= use.extents[d];
  return moved;
}

void Machine::count(const Use& use) {
  ++time_.commands;
  const bool adds = use.instruction->statement().reduction != Reduction::assign && !use.start_at_identity;
  for (std::size_t a = 0; a < use.accesses.size(); ++a) {
    if (!use.accesses[a].memory.valid()) continue;
    AccessedBytes& all = time_.memories[model_.memory(use.accesses[a].memory).name];
    const std::int64_t moved = bytes_accessed(use, a);
    if (a > 0 || adds) all.read += moved;
    if (a == 0) all.written += moved;
  }
}

void Machine::tell(const Use& use, const Turn& turn) const {
  for (std::size_t a = 0; a < use.accesses.size(); ++a)
    for_each_element(use, a, [&](std::size_t byte) {
      turn.touch(use.accesses[a].memory, byte, bytes(use.accesses[a].dtype), a == 0);
    });
}

void Machine::account(const Command& command, const Use& use, Turn* turn) {
  const Instruction& instruction = *use.instruction;
  const auto cycles = [&](const std::optional<IntExpr>& e) {
    const auto lookup = [&](const Reference& r) -> std::optional<std::int64_t> {
      const int d = r.object == "extent" ? instruction.statement().domain.find(r.argument) : -1;
      return d >= 0 ? std::optional(use.extents[static_cast<std::size_t>(d)]) : command.value(r);
    };
    const auto value = e ? evaluate(*e, lookup) : std::optional<std::int64_t>(1);
    return std::max<std::int64_t>(value.value_or(1), 0);
  };
  const std::string port = port_name(instruction);
  auto& instances = port_free_[port];
  if (instances.empty()) {
    const auto& ports = model_.unit(instruction.unit).ports;
    const auto found = ports.find(port);
    instances.assign(
        static_cast<std::size_t>(std::clamp<std::int64_t>(found == ports.end() ? 1 : found->second, 1, 1024)), 0);
  }
  auto& free = *std::min_element(instances.begin(), instances.end());
  std::int64_t start = std::max(turn ? turn->earliest : issue_, free);
  const auto blocks = [&](std::size_t a, auto&& f) {
    Image* image = use.accesses[a].memory.valid() ? &images_[use.accesses[a].memory.index()] : nullptr;
    std::size_t last = SIZE_MAX;
    const auto more = static_cast<std::size_t>(std::max<std::int64_t>(bytes(use.accesses[a].dtype), 1) - 1);
    for_each_element(use, a, [&](std::size_t byte) {
      const auto block = static_cast<std::size_t>(image->block);
      for (std::size_t b = byte / block; b <= (byte + more) / block; ++b) {
        if (b != last) f(*image, b);
        last = b;
      }
    });
  };
  for (std::size_t a = 0; a < use.accesses.size(); ++a)
    blocks(a, [&](Image& image, std::size_t b) {
      start = std::max({start, image.written[b], a == 0 ? image.read[b] : 0});
    });
  const double moved = carried_bytes(instruction, use.extents, use.accesses[0].dtype);
  const auto shared = shared_port_uses(instruction, use.extents, use.accesses[0].dtype, model_);
  const auto held = held_ports(shared, instruction);
  for (const SharedPortUse& one : held) start = std::max(start, shared_free_[one.port]);
  const auto transfer = static_cast<std::int64_t>(transfer_cycles(shared, instruction, moved, model_));
  const std::int64_t interval = std::max(cycles(instruction.timing.interval), transfer);
  const std::int64_t end =
      start + std::lround(result_latency(static_cast<double>(interval),
                                         static_cast<double>(cycles(instruction.timing.latency)), instruction, model_));
  for (std::size_t a = 0; a < use.accesses.size(); ++a)
    blocks(a, [&](Image& image, std::size_t b) {
      auto& when = a == 0 ? image.written[b] : image.read[b];
      when = std::max(when, end);
    });
  free = start + interval;
  for (const SharedPortUse& one : held)
    shared_free_[one.port] = start + static_cast<std::int64_t>(std::ceil(one.cycles));
  (turn ? turn->end : issue_) = turn ? end : start;
  time_.cycles = std::max(time_.cycles, end);
  time_.port_busy[port] += interval;
  if (!instruction.link.valid()) return;
  time_.link_bytes[model_.link(instruction.link).name] += static_cast<std::int64_t>(moved);
}

std::int64_t Machine::port_free(const Instruction& instruction) const {
  const auto found = port_free_.find(port_name(instruction));
  return found == port_free_.end() ? 0 : *std::min_element(found->second.begin(), found->second.end());
}

std::optional<Diagnostic> Machine::execute(const Command& command, Turn* turn) {
  const Instruction& instruction = *command.instruction;
  if (is_setter(instruction)) {
    if (turn) return turn->end = turn->earliest, std::nullopt;  // it forwards tokens
    ++issue_;
    time_.cycles = std::max(time_.cycles, issue_);
    return std::nullopt;
  }
  if (instruction.semantics.size() != 1)
    return error(
        fmt::format("'{}' has several statements; the simulator executes instructions of one", instruction.name));
  Use use;
  use.instruction = &instruction;
  if (auto problem = extents_of(command, use)) return problem;
  for (int a = 0; a < access_count(instruction.statement()); ++a)
    if (auto problem = access_of_operand(command, a, use)) return problem;
  for (const auto& [operand, choices] : instruction.start) {
    const auto chosen = command.value({"start", "", operand}).value_or(0);
    if (chosen < 0 || chosen >= static_cast<std::int64_t>(choices.size()))
      return error(fmt::format("'{}' has no start {}", instruction.name, chosen));
    if (operand == operand_of(instruction, 0).name)
      use.start_at_identity = choices[static_cast<std::size_t>(chosen)] == Start::zero;
  }
  compute(use);
  deaden(use);
  if (turn) tell(use, *turn);
  account(command, use, turn);
  count(use);
  return std::nullopt;
}

}  // namespace isamap
