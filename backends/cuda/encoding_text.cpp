// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/encoding_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

std::string operator_of(IntExpr::Op op) {
  switch (op) {
    case IntExpr::Op::add:
      return "+";
    case IntExpr::Op::sub:
      return "-";
    case IntExpr::Op::mul:
      return "*";
    case IntExpr::Op::div:
      return "/";
    case IntExpr::Op::mod:
      return "%";
    case IntExpr::Op::shl:
      return "<<";
    case IntExpr::Op::shr:
      return ">>";
    case IntExpr::Op::band:
      return "&";
    case IntExpr::Op::bor:
      return "|";
    default:
      return "";
  }
}

std::string text(const IntExpr& e, const std::function<std::string(const Reference&)>& text_of) {
  if (e.op == IntExpr::Op::number) return std::to_string(e.number);
  if (e.op == IntExpr::Op::reference) return text_of(e.reference);
  const std::string symbol = operator_of(e.op);
  if (symbol.empty() || e.args.size() != 2) return print(e);
  return fmt::format("({} {} {})", text(e.args[0], text_of), symbol, text(e.args[1], text_of));
}

std::string in_place(const FormatField& field, const std::string& value) {
  const int width = field.high - field.low + 1;
  const std::string masked = width >= 64 ? value : fmt::format("({} & {:#x})", value, (std::uint64_t{1} << width) - 1);
  const std::string wide = "std::uint64_t" + (masked.front() == '(' ? masked : "(" + masked + ")");
  return field.low == 0 ? wide : fmt::format("{} << {}", wide, field.low);
}

}  // namespace

std::string word_text(const FormatUse& use, const Format& format,
                      const std::function<std::string(const Reference&)>& text_of) {
  std::string word;
  const auto add = [&](const std::string& part) { word += (word.empty() ? "" : " | ") + part; };
  for (const FormatField& field : format.fields) {
    const auto given =
        std::find_if(use.fields.begin(), use.fields.end(), [&](const auto& f) { return f.first == field.name; });
    if (given != use.fields.end())
      add(in_place(field, text(given->second, text_of)));
    else if (field.value)
      add(in_place(field, std::to_string(*field.value)));
  }
  return word.empty() ? "0" : word;
}

}  // namespace isamap
