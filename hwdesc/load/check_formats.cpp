// SPDX-License-Identifier: Apache-2.0
// Checks words and blocks of bits: no bit is set twice, and known values fit their fields.

#include <algorithm>
#include <map>

#include "hwdesc/load/loader_internal.h"
#include "hwdesc/model/encodable_values.h"

namespace isamap::loader {

namespace {

template <class List>
auto* find_named(List& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.name == name; });
  return found == list.end() ? nullptr : &*found;
}

/// A use of a format: its name in messages, and the map of its fields.
struct FormatPlace {
  std::string what;
  const Node* written;  ///< null: only the instruction's place is known
  SourceLocation instruction;
  Context& context;

  SourceLocation use() const { return written ? written->where : instruction; }
  SourceLocation value(const std::string& field) const { return written ? place_of(*written, {field}) : instruction; }
  SourceLocation key(const std::string& field) const {
    for (std::size_t i = 0; written && i < written->entries.size(); ++i)
      if (written->entries[i].first == field) return written->key_where[i];
    return use();
  }
};

/// The fields that a use sets: its own and the format's constants.
std::vector<const FormatField*> set_fields(const FormatUse& use, const Format& format, const FormatPlace& place) {
  std::vector<const FormatField*> fields;
  for (const auto& [name, value] : use.fields) {
    const FormatField* field = find_named(format.fields, name);
    if (field) {
      fields.push_back(field);
      continue;
    }
    std::vector<std::string> known;
    for (const FormatField& f : format.fields) known.push_back(f.name);
    const std::string guess = yaml::nearest(name, known);
    place.context.problems.error(
        place.key(name), place.what + " sets '" + name + "', which format '" + format.name + "' does not have",
        guess.empty() ? "declare it in 'fields' of the format" : "did you mean '" + guess + "'?",
        {"fields: " + join(known)});
  }
  for (const FormatField& field : format.fields)
    if (field.value && std::find(fields.begin(), fields.end(), &field) == fields.end()) fields.push_back(&field);
  return fields;
}

void check_apart(const FormatField& a, const FormatField& b, const Format& format, const FormatPlace& place) {
  const int low = std::max(a.low, b.low), high = std::min(a.high, b.high);
  if (low > high) return;
  const bool second_written = place.written && place.written->find(b.name);
  const std::string bits =
      low == high ? "bit " + std::to_string(low) : "bits " + std::to_string(high) + " to " + std::to_string(low);
  place.context.problems.error(
      place.key(second_written ? b.name : a.name),
      place.what + " sets " + bits + " of format '" + format.name + "' twice: by '" + a.name + "' and '" + b.name + "'",
      b.value && !second_written ? "'" + b.name + "' is constant in the format: it is set in every word"
                                 : "fields that overlap are alternatives: set one of them");
}

/// The largest value of the field, if it depends on register numbers and extents only.
std::optional<std::int64_t> largest(const IntExpr& expression, const Instruction& instruction, const Context& context) {
  return evaluate(expression, [&](const Reference& r) -> std::optional<std::int64_t> {
    if (r.object == "extent") {
      const std::vector<Dim>& dims = instruction.statement().domain.dims;
      for (std::size_t d = 0; d < dims.size() && d < instruction.ranges.size(); ++d)
        if (dims[d].name == r.argument) return instruction.ranges[d].max;
    } else if (const Operand* operand = find_named(instruction.operands, r.object);
               operand != nullptr && operand->memory.valid() && property_of(r) == OperandProperty::index) {
      const Memory& memory = context.parts.memories[operand->memory.index()];
      if (memory.count > 0 && !memory.named_by_compiler()) return memory.count - 1;
    }
    return std::nullopt;
  });
}

/// Reports possible values of a use that do not fit, before a program with such a value fails to print.
void check_reach(const IntExpr& expression, const FormatField& field, const Instruction& instruction,
                 const FormatPlace& place) {
  if (references(expression).empty() || instruction.semantics.size() != 1) return;
  const auto most = largest(expression, instruction, place.context);
  const auto range = range_of(field);
  if (!most || !range || *most <= range->high) return;
  place.context.problems.warning(
      place.value(field.name),
      place.what + ": " + print(expression) + " goes up to " + std::to_string(*most) + ", and field '" + field.name +
          "' holds " + std::to_string(range->low) + " to " + std::to_string(range->high),
      "widen the field, or say how many there are: a program that goes further cannot be encoded");
}

void check_use(const FormatUse& use, const Instruction& instruction, const FormatPlace& place) {
  const Format* format = find_named(place.context.parts.formats, use.format);
  if (!format) return;
  const auto fields = set_fields(use, *format, place);
  for (std::size_t a = 0; a < fields.size(); ++a)
    for (std::size_t b = a + 1; b < fields.size(); ++b) check_apart(*fields[a], *fields[b], *format, place);
  for (const auto& [name, expression] : use.fields) {
    const FormatField* field = find_named(format->fields, name);
    const auto value = at_sizes(expression, place.context);
    if (field && value && field->low <= field->high)
      check_fits(*value, *field, *format, place.what, place.value(name), place.context);
    else if (field && field->low <= field->high)
      check_reach(expression, *field, instruction, place);
  }
}

}  // namespace

void check_fits(std::int64_t value, const FormatField& field, const Format& format, const std::string& what,
                const SourceLocation& where, Context& context) {
  const auto range = range_of(field);
  if (!range || (value >= range->low && value <= range->high)) return;
  const int width = field.count > 0 ? field.width : field.high - field.low + 1;
  const bool as_signed = value < 0 && value >= -(std::int64_t{1} << (width - 1));
  context.problems.error(
      where,
      what + " puts " + std::to_string(value) + " into field '" + field.name + "' of format '" + format.name +
          "', whose " + std::to_string(width) + (width == 1 ? " bit holds " : " bits hold ") +
          std::to_string(range->low) + " to " + std::to_string(range->high),
      as_signed ? "'" + field.name + ": {bits: [" + std::to_string(field.high) + ", " + std::to_string(field.low) +
                      "], signed: true}' in the format holds negative numbers"
                : "write a number in this range, or widen the field");
}

void check_formats(const Instruction& instruction, const Node& node, Context& context) {
  const std::string what = "instruction '" + instruction.name + "'";
  if (instruction.encoding)
    check_use(*instruction.encoding, instruction,
              {"'encoding' of " + what, node.find("encoding"), instruction.where, context});
  if (instruction.pack)
    check_use(*instruction.pack, instruction, {"'pack' of " + what, node.find("pack"), instruction.where, context});
  const Node* operands = node.find("operands");
  for (const Operand& operand : instruction.operands) {
    if (!operand.pack) continue;
    const Node* entry = operands ? operands->find(operand.name) : nullptr;
    check_use(*operand.pack, instruction,
              {"'pack' of operand '" + operand.name + "' of " + what, entry ? entry->find("pack") : nullptr,
               instruction.where, context});
  }
}

namespace {

/// The data that distinguishes two commands beside their words: registers, states, and memories of operands.
bool told_apart(const Instruction& a, const Instruction& b) {
  if (a.unit != b.unit || a.needs != b.needs || a.operands.size() != b.operands.size()) return true;
  for (std::size_t i = 0; i < a.operands.size(); ++i)
    if (a.operands[i].memory != b.operands[i].memory || a.operands[i].dtype != b.operands[i].dtype) return true;
  return false;
}

}  // namespace

void check_words(Context& context) {
  std::map<std::string, const Instruction*> first;
  for (const Instruction& instruction : context.parts.instructions) {
    if (!instruction.encoding || instruction.semantics.empty()) continue;
    std::string word = instruction.encoding->format;
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& [name, value] : instruction.encoding->fields) fields.emplace_back(name, print(value));
    std::sort(fields.begin(), fields.end());
    for (const auto& [name, value] : fields) word += " " + name + "=" + value;
    const auto [same, inserted] = first.emplace(word, &instruction);
    if (inserted || told_apart(*same->second, instruction) || same->second->semantics == instruction.semantics)
      continue;
    context.problems.warning(instruction.where,
                             "instructions '" + same->second->name + "' and '" + instruction.name +
                                 "' have the same words and do different things",
                             "give one of them another opcode in its 'encoding'");
  }
}

}  // namespace isamap::loader
