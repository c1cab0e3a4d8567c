// SPDX-License-Identifier: Apache-2.0
// Schedules as text. One line reads
//
//   for n.p by 48, k by 8 on core combine add_lanes tail split unroll
//   stage F in ram x2 ahead 1 as [k/32, r, s, c, k%32 pad 8] via load.store aot slide first load
//   do s0 with NAME(j=n.p, i=q:7.(q - s):3, k=-) operands A=F B=I outside I pad
//
// with the words after the first group in any order. A digit is a column and, unless it covers a whole dim, its extent;
// `-` is an instruction dim without digits; `xN` alone means ahead N-1; `scalar` is element by element.

#include "isamap/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "ir/schedule_words.h"

namespace isamap {

namespace {

template <class Names, class Value>
std::string word(const Names& names, Value value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

std::string print_line(const For& line) {
  std::string text = "for ";
  for (std::size_t i = 0; i < line.loops.size(); ++i)
    text += (i > 0 ? ", " : "") + line.loops[i].dim + " by " + std::to_string(line.loops[i].tile);
  if (!line.unit.empty()) text += " on " + line.unit;
  if (line.wrap) text += " wrap";
  if (line.raster > 0) text += " raster grouped(" + std::to_string(line.raster) + ")";
  if (!line.combine.empty()) text += " combine " + line.combine;
  if (line.tail != Tail::none) text += " tail " + word(tail_names, line.tail);
  if (line.unroll) text += " unroll";
  return text;
}

std::string print_layout(const std::vector<LayoutDigit>& layout) {
  std::string text = " as [";
  for (std::size_t i = 0; i < layout.size(); ++i) {
    text += (i > 0 ? ", " : "") + print(layout[i].index);
    if (layout[i].pad != 0) text += " pad " + std::to_string(layout[i].pad);
  }
  return text + "]";
}

std::string print_line(const Stage& line) {
  std::string text = "stage " + line.tensor + " in " + line.memory;
  if (line.buffers != 1) text += " x" + std::to_string(line.buffers);
  if (line.ahead != ahead_by_default(line.buffers)) text += " ahead " + std::to_string(line.ahead);
  if (!line.layout.empty()) text += print_layout(line.layout);
  if (line.swizzle)
    text += " xor " + std::to_string(line.swizzle->bits) + " from " + std::to_string(line.swizzle->from) + " to " +
            std::to_string(line.swizzle->to);
  for (std::size_t i = 0; i < line.via.size(); ++i) text += (i == 0 ? " via " : ".") + line.via[i];
  if (!line.role.empty()) text += " role " + line.role;
  if (line.ahead_of_time) text += " aot";
  if (line.slide) text += " slide";
  if (line.first != First::fill) text += " first " + word(first_names, line.first);
  for (std::size_t i = 0; i < line.then.size(); ++i) text += (i == 0 ? " then " : ".") + line.then[i];
  if (!line.from.empty()) text += " from " + line.from;
  return text;
}

std::string print_digits(const std::vector<Digit>& digits) {
  if (digits.empty()) return "-";
  std::string text;
  for (const Digit& digit : digits) {
    const auto dim = digit.column.as_dim();
    const bool plain = dim && dim->find('.') == std::string::npos;
    text += (text.empty() ? "" : ".") + (plain ? *dim : "(" + print(digit.column) + ")");
    if (digit.extent != 1) text += ":" + std::to_string(digit.extent);
  }
  return text;
}

std::string print_line(const Do& line) {
  std::string text = "do " + line.statement + " with ";
  if (line.instruction.empty()) {
    text += "scalar";
  } else {
    text += line.instruction + "(";
    for (std::size_t i = 0; i < line.dims.size(); ++i)
      text += (i > 0 ? ", " : "") + line.dims[i].first + "=" + print_digits(line.dims[i].second);
    text += ")";
  }
  for (std::size_t i = 0; i < line.operands.size(); ++i)
    text += (i == 0 ? " operands " : " ") + line.operands[i].first + "=" + line.operands[i].second;
  for (std::size_t i = 0; i < line.constants.size(); ++i)
    text += (i == 0 ? " holding " : " ") + line.constants[i].first + fmt::format("={}", line.constants[i].second);
  for (const auto& [tensor, how] : line.outside) text += " outside " + tensor + " " + word(outside_names, how);
  return text;
}

std::string yaml_scalar(const std::string& text) {
  const bool null = text == "null" || text == "Null" || text == "NULL";
  const bool plain = !null && !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.';
  });
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return quoted + "\"";
}

std::string print_lines(const Nest& nest, const std::string& indent) {
  std::string text;
  for (const Line& line : nest.lines) text += indent + "- " + print(line) + "\n";
  return text;
}

}  // namespace

std::string print(const Line& line) {
  return std::visit([](const auto& kind) { return print_line(kind); }, line.is);
}

std::string print(const SplitPart& part) { return part.statement + " " + std::to_string(part.operation); }

Result<SplitPart> parse_split_part(const std::string& text, const SourceLocation& where) {
  std::istringstream words(text);
  SplitPart part;
  std::string more;
  if (!(words >> part.statement >> part.operation) || (words >> more) || part.operation < 0)
    return error_at(where, "'" + text + "' does not say which operation of a statement becomes a statement of its own",
                    "write s0 1: operation 1 of the body of s0, counted from 0, innermost first");
  return part;
}

std::string print(const Schedule& schedule) {
  std::string text = "schedule: " + yaml_scalar(schedule.name) + "\nkernel: " + yaml_scalar(schedule.kernel) +
                     "\ntarget: " + yaml_scalar(schedule.target) + "\n";
  std::string sizes;
  for (const auto& [name, value] : schedule.sizes)
    sizes += (sizes.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  if (!sizes.empty()) text += "sizes: {" + sizes + "}\n";
  std::string splits;
  for (const SplitPart& part : schedule.splits) splits += (splits.empty() ? "" : ", ") + print(part);
  if (!splits.empty()) text += "splits: [" + splits + "]\n";
  std::string lanes;
  for (const VectorizedReduction& parts : schedule.lanes) lanes += (lanes.empty() ? "" : ", ") + print(parts);
  if (!lanes.empty()) text += "lanes: [" + lanes + "]\n";
  if (schedule.nests.size() == 1) {
    const std::string lines = print_lines(schedule.nests[0], "  ");
    return text + (lines.empty() ? "nest: []\n" : "nest:\n" + lines);
  }
  text += schedule.nests.empty() ? "nests: []\n" : "nests:\n";
  for (const Nest& nest : schedule.nests) {
    const std::string lines = print_lines(nest, "    ");
    text += lines.empty() ? "  - []\n" : "  -\n" + lines;
  }
  return text;
}

}  // namespace isamap
