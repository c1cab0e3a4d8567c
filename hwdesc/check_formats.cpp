// Words and blocks of bits: no bit is set twice, and what is known fits its field.

#include <algorithm>

#include "hwdesc/loader_internal.h"

namespace isamap::loader {

namespace {

const Format* find_format(const Context& context, const std::string& name) {
  for (const Format& format : context.parts.formats)
    if (format.name == name) return &format;
  return nullptr;
}

const FormatField* find_field(const Format& format, const std::string& name) {
  for (const FormatField& field : format.fields)
    if (field.name == name) return &field;
  return nullptr;
}

/// The fields that a use sets: those it gives and the constants it leaves alone.
std::vector<const FormatField*> set_fields(const FormatUse& use, const Format& format, const std::string& what,
                                           const Instruction& instruction, Context& context) {
  std::vector<const FormatField*> fields;
  for (const auto& [name, value] : use.fields) {
    const FormatField* field = find_field(format, name);
    if (field) {
      fields.push_back(field);
      continue;
    }
    std::vector<std::string> known;
    for (const FormatField& f : format.fields) known.push_back(f.name);
    context.problems.error(instruction.where,
                           what + " sets '" + name + "', which format '" + format.name + "' does not have", "",
                           {"fields: " + join(known)});
  }
  for (const FormatField& field : format.fields)
    if (field.value && std::find(fields.begin(), fields.end(), &field) == fields.end()) fields.push_back(&field);
  return fields;
}

void check_fits(std::int64_t value, const FormatField& field, const std::string& what, const Instruction& instruction,
                Context& context) {
  const int width = field.count > 0 ? field.width : field.high - field.low + 1;
  if (width >= 63) return;
  const std::int64_t limit = std::int64_t{1} << width;
  if (value >= -(limit / 2) && value < limit) return;
  context.problems.error(instruction.where, what + " puts " + std::to_string(value) + " into field '" + field.name +
                                                "' of " + std::to_string(width) + " bits");
}

void check_use(const FormatUse& use, const std::string& what, const Instruction& instruction, Context& context) {
  const Format* format = find_format(context, use.format);
  if (!format) return;
  const auto fields = set_fields(use, *format, what, instruction, context);
  for (std::size_t a = 0; a < fields.size(); ++a)
    for (std::size_t b = a + 1; b < fields.size(); ++b) {
      const int low = std::max(fields[a]->low, fields[b]->low), high = std::min(fields[a]->high, fields[b]->high);
      if (low <= high)
        context.problems.error(instruction.where, what + " sets bit " + std::to_string(low) + " of format '" +
                                                      format->name + "' twice: by '" + fields[a]->name + "' and '" +
                                                      fields[b]->name + "'");
    }
  for (const auto& [name, expression] : use.fields) {
    const FormatField* field = find_field(*format, name);
    const auto value = at_sizes(expression, context);
    if (field && value && references(expression).empty()) check_fits(*value, *field, what, instruction, context);
  }
}

}  // namespace

void check_formats(const Instruction& instruction, Context& context) {
  const std::string what = "instruction '" + instruction.name + "'";
  if (instruction.encoding) check_use(*instruction.encoding, "'encoding' of " + what, instruction, context);
  if (instruction.pack) check_use(*instruction.pack, "'pack' of " + what, instruction, context);
  for (const Operand& operand : instruction.operands)
    if (operand.pack)
      check_use(*operand.pack, "'pack' of operand '" + operand.name + "' of " + what, instruction, context);
}

}  // namespace isamap::loader
