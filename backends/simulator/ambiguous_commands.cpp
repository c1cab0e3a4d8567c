// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/ambiguous_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "backends/assembly/command_text.h"
#include "backends/simulator/decoder.h"
#include "backends/simulator/machine.h"
#include "hwdesc/model/instruction_pairs.h"
#include "hwdesc/model/program_language.h"
#include "ir/legal.h"
#include "isamap/interpret.h"
#include "isamap/program.h"

namespace isamap {
namespace {

constexpr std::int64_t room = std::int64_t{1} << 16;        // bytes of each memory that are initialized and compared
constexpr std::int64_t image_size = std::int64_t{1} << 20;  // bytes of a large memory

/// Extents of a large command of at most about `room` points, as no more bytes are compared: the largest ones halved.
std::vector<std::int64_t> large_extents(const Instruction& instruction) {
  std::vector<std::int64_t> extents;
  double points = 1;
  for (const DimRange& range : instruction.ranges) {
    extents.push_back(range.max);
    points *= static_cast<double>(range.max);
  }
  const auto half = [&](std::size_t d) {
    const DimRange& range = instruction.ranges[d];
    const std::int64_t unit = std::max<std::int64_t>(range.multiple_of, 1);
    return std::max({range.min, unit, extents[d] / 2 / unit * unit});
  };
  while (points > static_cast<double>(room)) {
    std::optional<std::size_t> largest;
    for (std::size_t d = 0; d < extents.size(); ++d)
      if (half(d) < extents[d] && (!largest || extents[d] > extents[*largest])) largest = d;
    if (!largest) break;
    points *= static_cast<double>(half(*largest)) / static_cast<double>(extents[*largest]);
    extents[*largest] = half(*largest);
  }
  return extents;
}

/// The operand values of a test command.
struct Sample {
  bool smallest = false;  ///< extents
  bool apart = true;      ///< operands at distinct addresses
  std::size_t choice = 0;
};
constexpr std::array<Sample, 6> samples{
    {{false, true, 0}, {true, true, 0}, {false, true, 1}, {true, false, 1}, {false, false, 2}, {true, true, 3}}};

const Operand* operand_named(const Instruction& instruction, const std::string& name) {
  for (const Operand& operand : instruction.operands)
    if (operand.name == name) return &operand;
  return nullptr;
}

/// A test command of one instruction.
class Written {
 public:
  Written(const HardwareModel& model, const Instruction& instruction, const Sample& sample)
      : model_(model), instruction_(instruction), sample_(sample), extents_(large_extents(instruction)) {
    if (!instruction.semantics.empty()) place_operands();
  }

  std::optional<std::int64_t> value(const Reference& r) const {
    if (r.object == "extent") return extent(r.argument);
    if (r.object == "push" || r.object == "pop" || r.object == "mask") return 0;
    if (r.object == "start")
      for (const auto& [operand, choices] : instruction_.start)
        if (operand == r.argument)
          return static_cast<std::int64_t>(sample_.choice % std::max<std::size_t>(choices.size(), 1));
    if (const Operand* operand = operand_named(instruction_, r.object)) return of_operand(*operand, r);
    const Sizes sizes = model_.sizes();
    if (const auto size = sizes.find(r.object); size != sizes.end() && r.property.empty()) return size->second;
    return field(field_name(r));
  }

  /// State before the command: its needs, and the needs of `other` that are the same for all its commands.
  KnownState state(const Instruction& other) const {
    KnownState known;
    for (const Operand& operand : other.operands)
      if (!operand.state.empty()) known[operand.state] = *field(operand.state);
    for (const StateValue& need : other.needs)
      if (const auto value = evaluate(need.value, [](const Reference&) { return std::optional<std::int64_t>(); }))
        known[need.field] = *value;
    for (const Operand& operand : instruction_.operands)
      if (!operand.state.empty()) known[operand.state] = *field(operand.state);
    for (const StateValue& need : instruction_.needs)
      if (const auto needed = evaluate(need.value, [&](const Reference& r) { return value(r); }))
        known[need.field] = *needed;
    return known;
  }

  Result<std::string> line() const {
    return command_text(
        instruction_, model_, [&](const Reference& r) { return value(r); },
        [&](const Reference& r) { return spelled(r); });
  }

 private:
  void place_operands() {
    std::map<std::size_t, std::int64_t> used;
    for (int a = 0; a < access_count(instruction_.statement()); ++a) {
      const Operand& operand = instruction_.operands[operand_of_access(instruction_, a).index()];
      if (!operand.memory.valid() || at_.contains(operand.name)) continue;
      const Memory& memory = model_.memory(operand.memory);
      std::int64_t& next = used[operand.memory.index()];
      if (memory.is_register()) {
        const std::int64_t step = std::max<std::int64_t>(operand.group, 1);
        if (next + step > memory.count) next = 0;
        at_[operand.name] = next;
        next = sample_.apart ? next + step : 0;
        continue;
      }
      constexpr std::int64_t tile = 1 << 13;
      const std::int64_t step = std::min<std::int64_t>(tile, memory.capacity / 8 / 256 * 256);
      at_[operand.name] = memory.base + next / memory.granularity;
      if (sample_.apart && next + step < std::min(memory.capacity, room)) next += step;
    }
  }

  std::optional<std::int64_t> extent(const std::string& name) const {
    const int d = instruction_.semantics.empty() ? -1 : instruction_.statement().domain.find(name);
    if (d < 0) return std::nullopt;
    const DimRange& range = instruction_.ranges[static_cast<std::size_t>(d)];
    return sample_.smallest ? range.min : extents_[static_cast<std::size_t>(d)];
  }

  std::optional<std::int64_t> of_operand(const Operand& operand, const Reference& r) const {
    constexpr std::int64_t elements = 64;
    switch (property_of(r)) {
      case OperandProperty::group:
        return operand.group;
      case OperandProperty::coord:
        return 0;
      case OperandProperty::stride:
        return elements;
      case OperandProperty::pitch:
        return elements * bytes(operand.dtype.value_or(DType::f32));
      case OperandProperty::type:
      case OperandProperty::field:
        return field(operand.name + "." + r.property);
      case OperandProperty::none:
      case OperandProperty::index:
        break;
    }
    if (!operand.immediate.empty()) return operand.immediate[sample_.choice % operand.immediate.size()];
    if (!operand.state.empty()) return field(operand.state);
    const auto found = at_.find(operand.name);
    return found == at_.end() ? std::nullopt : std::optional(found->second);
  }

  /// A legal value of the field.
  std::optional<std::int64_t> field(const std::string& name) const {
    for (const State& state : model_.states())
      for (const StateField& f : state.fields)
        if (state.name + "." + f.name == name && !f.values.empty()) return f.values[sample_.choice % f.values.size()];
    return static_cast<std::int64_t>(sample_.choice);
  }

  std::string spelled(const Reference& r) const {
    const Operand* operand = operand_named(instruction_, r.object);
    if (operand == nullptr || !r.property.empty() || !operand->memory.valid()) return "";
    const std::string& print = model_.memory(operand->memory).print;
    const std::size_t at = print.find("{index}");
    const auto number = at_.find(operand->name);
    if (at == std::string::npos || number == at_.end()) return "";
    return print.substr(0, at) + std::to_string(number->second) + print.substr(at + 7);
  }

  const HardwareModel& model_;
  const Instruction& instruction_;
  Sample sample_;
  std::vector<std::int64_t> extents_;
  std::map<std::string, std::int64_t> at_;
};

/// A program with a buffer in every memory, since memories are sized by their use.
Program touching_all(const HardwareModel& model) {
  Program program;
  for (std::size_t m = 0; m < model.memories().size(); ++m) {
    const Memory& memory = model.memories()[m];
    if (memory.kind == MemoryKind::cache) continue;
    Buffer buffer;
    buffer.memory = make_id<MemoryId>(m);
    buffer.dtype = DType::u8;
    buffer.extents = {memory.is_register() ? memory.count : std::min(memory.capacity, image_size)};
    buffer.strides = {1};
    if (memory.is_register()) buffer.slots = 1;
    program.buffers.push_back(std::move(buffer));
  }
  return program;
}

class Telling {
 public:
  explicit Telling(const HardwareModel& model) : model_(model), decoder_(model), program_(touching_all(model)) {}

  Diagnostics run() {
    const auto& all = model_.instructions();
    for (std::size_t a = 0; a < all.size(); ++a)
      for (const Sample& sample : samples) {
        const Written written(model_, all[a], sample);
        const auto line = written.line();
        if (!line) continue;
        for (std::size_t b = 0; b < all.size(); ++b)
          if (b != a && !said_.contains({std::min(a, b), std::max(a, b)})) compare(a, b, written, *line);
      }
    return std::move(problems_);
  }

 private:
  void compare(std::size_t a, std::size_t b, const Written& written, const std::string& line) {
    const Instruction &own = model_.instructions()[a], &other = model_.instructions()[b];
    KnownState state = written.state(other), after = state, other_after = state;
    const auto second = decoder_.as(other, line, other_after);
    if (!second || !legal(*second)) return;
    const auto first = decoder_.as(own, line, after);
    if (!first || !legal(*first) || (after == other_after && same_meaning(*first, *second))) return;
    const std::pair<std::size_t, std::size_t> pair = std::minmax(a, b);
    constexpr int enough = 4;  // commands of a pair
    if (after == other_after && (++executed_[pair] > enough || !differ(*first, *second))) return;
    said_.insert(pair);
    const Instruction& earlier = a < b ? own : other;
    const Instruction& later = a < b ? other : own;
    Diagnostic problem =
        error_at(later.where,
                 fmt::format("instructions '{}' and '{}' print the same command and have different effects: {}",
                             earlier.name, later.name, line),
                 "give them different texts or encodings, or distinguish them by state (`needs`)");
    problem.notes.push_back(
        fmt::format("'{}' is at {}:{}:{}", earlier.name, earlier.where.file, earlier.where.line, earlier.where.column));
    problems_.push_back(std::move(problem));
  }

  /// Conditions on extents may distinguish two instructions.
  static bool legal(const Command& command) {
    const Instruction& instruction = *command.instruction;
    if (instruction.semantics.empty()) return true;
    std::vector<std::int64_t> extents;
    for (const Dim& dim : instruction.statement().domain.dims)
      extents.push_back(command.value({"extent", "", dim.name}).value_or(dim.extent));
    return extents_fit(instruction, extents);
  }

  /// Equal semantics in the description: no need to execute.
  static bool same_meaning(const Command& a, const Command& b) {
    const Instruction &x = *a.instruction, &y = *b.instruction;
    return x.semantics == y.semantics && x.tensors == y.tensors && x.operands == y.operands && x.start == y.start &&
           x.inactive == y.inactive && x.ranges == y.ranges && a.values == b.values;
  }

  /// Executed on the same bytes, do they leave different ones? What cannot be executed is no legal command.
  bool differ(const Command& a, const Command& b) {
    if (is_setter(*a.instruction) || is_setter(*b.instruction))
      return is_setter(*a.instruction) != is_setter(*b.instruction);
    while (machines_.size() < 2) machines_.emplace_back(program_, model_);
    // Signalling NaNs of f32, bf16, f16 and f64; small integers; bytes that differ.
    const std::vector<std::vector<std::uint8_t>> patterns{
        {1, 0, 0x80, 0x7f}, {0x81, 0x7f}, {1, 0x7c}, {1, 0, 0, 0, 0, 0, 0xf0, 0x7f}, {1, 0, 0, 0}, {}, {}, {}};
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      for (Machine& machine : machines_) fill(machine, patterns[p], p);
      if (machines_[0].execute(a) || machines_[1].execute(b)) return false;
      for (const Buffer& buffer : program_.buffers) {
        const auto &x = machines_[0].image(buffer.memory), &y = machines_[1].image(buffer.memory);
        if (!std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(touched(x)), y.begin())) return true;
      }
    }
    return false;
  }

  static std::size_t touched(const std::vector<std::uint8_t>& image) {
    return std::min(image.size(), static_cast<std::size_t>(room));
  }
  void fill(Machine& machine, const std::vector<std::uint8_t>& pattern, std::uint64_t seed) const {
    Random random(seed);
    for (const Buffer& buffer : program_.buffers) {
      auto& bytes = machine.image(buffer.memory);
      for (std::size_t i = 0; i < touched(bytes); ++i)
        bytes[i] = pattern.empty() ? static_cast<std::uint8_t>(random.next() >> 56) : pattern[i % pattern.size()];
    }
  }

  const HardwareModel& model_;
  Decoder decoder_;
  Program program_;
  std::vector<Machine> machines_;  ///< two with the same contents; created on first use
  std::map<std::pair<std::size_t, std::size_t>, int> executed_;
  std::set<std::pair<std::size_t, std::size_t>> said_;
  Diagnostics problems_;
};

}  // namespace

Diagnostics ambiguous_commands(const HardwareModel& model) {
  if (!is_command_stream(model) || model.instructions().size() > most_paired_instructions) return {};
  return Telling(model).run();
}

}  // namespace isamap
