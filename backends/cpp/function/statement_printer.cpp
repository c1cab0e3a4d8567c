// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/statement_printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/function/call_text.h"
#include "backends/cpp/function/declarations.h"
#include "backends/cpp/text/types.h"

namespace isamap {
namespace {

constexpr const char* forgets = "__asm__ volatile(\"\" ::: \"memory\");  // no room to keep what was read";

/// The text of a step of a completion object; empty: it has none.
std::string object_text(const AsyncObject& object) {
  for (const char* key : {"emit", "emit.asm"}) {
    if (!object.texts.contains(key)) continue;
    const auto emit = parse_template(object.texts.at(key));
    const std::string said = fill(*emit, [](const Placeholder&) { return std::string(); });
    return key == std::string("emit") ? said : assembly_statement(said);
  }
  return "";
}

}  // namespace

void TextLines::lines(const std::string& s) {
  for (std::size_t at = 0; at <= s.size();) {
    const std::size_t end = std::min(s.find('\n', at), s.size());
    if (end > at) line(s.substr(at, end - at));
    at = end + 1;
  }
}

StatementPrinter::StatementPrinter(const PrintedFunction& function, OpenLoops& open, TextLines& out)
    : function_(function),
      open_(open),
      out_(out),
      place_(function.program, function.model, function.dialect, function.places, open, function.elements),
      context_{function.program,
               function.model,
               function.places,
               [this](const Place& p, const Ranges& r) { return place_.address(p, r); },
               [this](const Place& p, const Ranges& r, const std::string& more) {
                 return place_.permuted_address(p, r, more);
               },
               [this](const AffineExpr& e, const Ranges& r) { return place_.index(e, r); },
               [this](const Word& word) { return block_of(word); },
               function.diagnostics,
               function.numbers},
      state_(function.model, context_, [this](const std::string& text) { out_.lines(text); }) {}

/// A packed configuration block as bytes, lowest first.
std::string StatementPrinter::block_of(const Word& word) {
  const std::string name = function_.names.unique("block");
  std::string list;
  for (const std::uint8_t byte : word.bytes()) list += (list.empty() ? "" : ", ") + std::to_string(byte);
  out_.line(fmt::format("alignas(64) static const unsigned char {}[{}] = {{{}}};", name, word.bytes().size(), list));
  return name;
}

void StatementPrinter::declare(const std::set<int>& variables) {
  std::map<std::string, std::string> lists;
  for (const int v : variables) {
    const Variable& variable = function_.places.variables[static_cast<std::size_t>(v)];
    std::string& list = lists[variable.type];
    list += (list.empty() ? "" : ", ") + variable.name;
    if (variable.count > 0) list += fmt::format("[{}]", variable.count);
  }
  for (const auto& [type, list] : lists) out_.line(type + " " + list + ";");
}

void StatementPrinter::declare_pointers(const std::vector<Item>& items) {
  const Places& places = function_.places;
  const auto open = [&](const std::string& variable) { return variable.empty() || open_.ranges.contains(variable); };
  std::set<int> wanted;
  for (const Item& item : items) {
    const bool guard = std::holds_alternative<Guard>(item.node->is);
    for (const int p : item.pointers) {
      const Pointer& pointer = places.pointers[static_cast<std::size_t>(p)];
      if (!guard && !pointer.row && !pointers_.contains(p) && open(pointer.variable)) wanted.insert(p);
    }
  }
  for (const int p : wanted) declare_pointer(p);
}

void StatementPrinter::declare_pointer(int number) {
  const Places& places = function_.places;
  const Pointer& pointer = places.pointers[static_cast<std::size_t>(number)];
  pointers_.insert(number);
  const std::string base = pointer.parent < 0 ? places.buffers[pointer.buffer.index()]
                                              : places.pointers[static_cast<std::size_t>(pointer.parent)].name;
  out_.line(fmt::format("{} const {} = {};", pointer_type(pointer.buffer), pointer.name,
                        place_.sum(base, pointer.offset, open_.ranges)));
}

std::string StatementPrinter::pointer_type(BufferId id) const {
  const std::string type = (function_.constant.contains(id.value) ? "const " : "") +
                           element_type(function_.model, function_.program.buffers[id.index()].dtype);
  return function_.dialect != nullptr ? function_.dialect->pointer_type(id, type) : type + "*";
}

void StatementPrinter::call(const Call& call, const Item& item, const std::set<int>& fresh) {
  for (const int p : item.pointers)  // parents before children
    if (function_.places.pointers[static_cast<std::size_t>(p)].row && !pointers_.contains(p)) declare_pointer(p);
  state_.before_call(item, call);
  const Instruction& instruction = function_.model.instruction(call.instruction);
  const Dialect* dialect = function_.dialect;
  std::string statement = dialect != nullptr && instruction.emit.empty() ? dialect->assembly(item, call, context_)
                                                                         : call_text(item, call, context_);
  state_.after_call(instruction);
  while (!statement.empty() && (statement.back() == '\n' || statement.back() == ' ')) statement.pop_back();
  std::set<int> left = fresh;
  const int written = item.places.empty() ? -1 : item.places[0].variable;
  if (dialect == nullptr && left.contains(written) &&
      declare_in_place(statement, function_.places.variables[static_cast<std::size_t>(written)]))
    left.erase(written);
  declare(left);
  forget_before(item);
  out_.lines(statement);
  if (written >= 0 && is_move(instruction)) pin(call.operands[0].buffer, written);
}

/// Compilers read memory again rather than keep a register for what is used several times.
void StatementPrinter::pin(BufferId id, int variable) {
  if (function_.numbers == nullptr || !function_.numbers->pinned.contains(id.value)) return;
  const Buffer& buffer = function_.program.buffers[id.index()];
  out_.line(fmt::format("__asm__(\"\" : \"+{}\"({}));",
                        register_constraint(function_.model.memory(buffer.memory), buffer.dtype),
                        function_.places.variables[static_cast<std::size_t>(variable)].name));
}

void StatementPrinter::forget_before(const Item& item) {
  if (function_.hints.forget.contains(&item)) out_.line(forgets);
}

void StatementPrinter::element(const Element& element, const Item& item, const std::set<int>& fresh) {
  declare(fresh);
  std::vector<std::string> reads;
  for (std::size_t r = 0; r < element.reads.size(); ++r) reads.push_back(read_of(element, item, r, reads));
  const DType type = function_.program.buffers[element.write.buffer.index()].dtype;
  const std::string place = target_.empty() ? element_place(item.places[0]) : target_;
  out_.line(function_.elements.statement(element.reduction, type, place, element.body, reads,
                                         target_.empty() ? value_at(item.places[0]) : ""));
}

/// `before`: texts of the reads before it, as far as it needs them.
std::string StatementPrinter::read_of(const Element& element, const Item& item, std::size_t read,
                                      const std::vector<std::string>& before) {
  name_computed(element.reads[read], before);
  const Place& place = item.places[read + 1];
  return element.reads[read].buffer.valid() ? value_at(place)
                                            : portable_type(DType::s32) + "(" + place_.index(place.last) + ")";
}

std::string StatementPrinter::position_in(const Item& item, const Scatter& scatter) {
  const auto& element = std::get<Element>(item.node->is);
  std::vector<std::string> reads(element.reads.size());
  for (const int operand : scatter.operands) {
    const auto r = static_cast<std::size_t>(operand);
    reads[r] = read_of(element, item, r, reads);
  }
  const auto counted = [](const std::string& text) { return "static_cast<std::uint64_t>(" + text + ")"; };
  const std::string place = counted(function_.elements.value(scatter.place, reads));
  return scatter.offset == AffineExpr() ? place : place + " - " + counted(place_.index(scatter.offset));
}

/// Subscripts of a read that earlier ones compute, as text in place of their names.
void StatementPrinter::name_computed(const Ref& ref, const std::vector<std::string>& reads) {
  for (std::size_t axis = 0; axis < ref.index.size(); ++axis) {
    const auto name = ref.index[axis].as_dim();
    if (const auto by = name ? computed_read(*name) : std::nullopt)
      open_.names[*name] = function_.elements.clamped_index(
          reads[static_cast<std::size_t>(*by)], function_.program.buffers[ref.buffer.index()].extents[axis] - 1);
  }
}

std::string StatementPrinter::element_place(const Place& place) {
  if (const auto text = place_.element(place)) return *text;
  function_.diagnostics.push_back(
      error("an element statement uses a register of several elements, which C++ cannot index",
            "stage the tensor in an addressed memory, or move it with an instruction"));
  return "x";
}

void StatementPrinter::sync(const Sync& sync, const std::set<int>& opened, bool in_unit) {
  if (function_.dialect != nullptr) {
    std::vector<Variable> variables;
    for (const int v : opened) variables.push_back(function_.places.variables[static_cast<std::size_t>(v)]);
    return out_.lines(function_.dialect->sync(sync, variables, [&](const AffineExpr& e) { return place_.index(e); }));
  }
  const auto& objects = function_.model.async_objects();
  const auto object =
      std::find_if(objects.begin(), objects.end(), [&](const AsyncObject& o) { return o.name == sync.object; });
  if (object != objects.end() && (object->texts.contains("emit") || object->texts.contains("emit.asm")))
    return out_.lines(object_text(*object));
  if (!sync.object.empty())
    function_.diagnostics.push_back(
        error_at(object == objects.end() ? SourceLocation{} : object->where,
                 fmt::format("completion object '{}' cannot be waited for in a C++ program", sync.object)));
  else if (in_unit)
    function_.diagnostics.push_back(error(
        fmt::format("a barrier of '{}' inside a loop over its instances, which a C++ program runs one after another",
                    function_.model.unit(sync.unit).name)));
}

void StatementPrinter::comment(const Comment& comment) {
  std::string safe = comment.text;
  for (char& c : safe)
    if (static_cast<unsigned char>(c) < ' ' || c == '\\') c = ' ';
  out_.line("// " + safe);
}

}  // namespace isamap
