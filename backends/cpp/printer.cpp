// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/common/expand_loops.h"
#include "backends/cpp/call_text.h"
#include "backends/cpp/declarations.h"
#include "backends/cpp/dialect.h"
#include "backends/cpp/helpers.h"
#include "backends/cpp/hoist_guards.h"
#include "backends/cpp/index_text.h"
#include "backends/cpp/operand_storage.h"
#include "backends/cpp/program_state.h"
#include "backends/cpp/register_hints.h"
#include "backends/cpp/team.h"
#include "backends/cpp/types.h"

namespace isamap {
namespace {

constexpr std::int64_t max_statements = 200'000;

class Printer {
 public:
  Printer(const Program& program, const HardwareModel& model, Places& places, Names& names, ElementText& elements,
          const Dialect* dialect, Diagnostics& diagnostics)
      : program_(program),
        model_(model),
        dialect_(dialect),
        places_(places),
        names_(names),
        elements_(elements),
        diagnostics_(diagnostics),
        context_{
            program,
            model,
            places,
            [this](const Place& p, const Ranges& r) { return address(p, r); },
            [this](const Place& p, const Ranges& r, const std::string& more) { return permuted_address(p, r, more); },
            [this](const AffineExpr& e, const Ranges& r) { return index(e, r); },
            [this](const Word& word) { return block_of(word); },
            diagnostics},
        state_(model, context_, [this](const std::string& text_of) { lines(text_of); }) {}

  void set_numbers(const RuntimeNumbers* numbers) { numbers_ = context_.numbers = numbers; }

  void function(const std::vector<Item>& items) {
    for (std::size_t before = 1; team_ && before != thread_values_.size();) {
      before = thread_values_.size();
      add_thread_values(items);
    }
    state_.function(items, [&] { block(items); });
  }
  const std::string& attributes() const { return state_.attributes(); }

  void block(const std::vector<Item>& items) {
    state_.block(items, [&] { print(items); });
  }
  void print(const std::vector<Item>& items) {
    const std::set<int> pointers_before = declared_pointers_, variables_before = declared_variables_;
    declare_pointers(items);
    auto starts = starting_variables(items, declared_variables_, model_);
    const bool divides = team_ && !divided_;
    bool alone = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto found = starts.find(i);
      const std::set<int> fresh = found == starts.end() ? std::set<int>{} : found->second;
      declared_variables_.insert(fresh.begin(), fresh.end());
      take_part(items[i], fresh);
      const bool declared = divides && divide(items[i], fresh, alone);
      if (divides) divided_ = alone;
      if (is_threads(items[i]) && !divided_) end_with(i, items, fresh, starts);
      opened_ = opened_by(items, i);
      state_.before_item(i);
      std::visit([&](const auto& n) { print(n, items[i], condition_.empty() && !declared ? fresh : std::set<int>{}); },
                 items[i].node->is);
    }
    all_take_part();
    if (divides) divided_ = false;
    if (alone) join(alone, true);
    declared_pointers_ = pointers_before;
    declared_variables_ = variables_before;
  }

  std::string text;

 private:
  void line(const std::string& s) { text += std::string(static_cast<std::size_t>(2 * depth_), ' ') + s + "\n"; }
  void lines(const std::string& s) {
    for (std::size_t at = 0; at <= s.size();) {
      const std::size_t end = std::min(s.find('\n', at), s.size());
      if (end > at) line(s.substr(at, end - at));
      at = end + 1;
    }
  }

  /// A packed configuration block as bytes, lowest first.
  std::string block_of(const Word& word) {
    const std::string name = names_.unique("block");
    std::string list;
    for (const std::uint8_t byte : word.bytes()) list += (list.empty() ? "" : ", ") + std::to_string(byte);
    line(fmt::format("alignas(64) static const unsigned char {}[{}] = {{{}}};", name, word.bytes().size(), list));
    return name;
  }

  // Participating threads ---------------------------------------------------------------------------------------------

  /// What a parallel loop declares is private to each of its iterations: the next item that uses it declares its own.
  static void end_with(std::size_t loop, const std::vector<Item>& items, const std::set<int>& fresh,
                       std::map<std::size_t, std::set<int>>& starts) {
    for (const int variable : fresh)
      for (std::size_t next = loop + 1; next < items.size(); ++next)
        if (items[next].variables.contains(variable)) {
          starts[next].insert(variable);
          break;
        }
  }

  /// Consecutive statements of the same threads share one condition.
  void take_part(const Item& item, const std::set<int>& fresh) {
    if (dialect_ == nullptr) return;
    std::string condition;
    if (const auto* call = std::get_if<Call>(&item.node->is)) {
      const Instruction& instruction = model_.instruction(call->instruction);
      condition = dialect_->chosen(around_, instruction.unit, instruction.issue_one);
    } else if (const auto* element = std::get_if<Element>(&item.node->is)) {
      condition = dialect_->chosen(around_, element->unit, false);
    } else if (const auto* sync = std::get_if<Sync>(&item.node->is)) {
      condition = dialect_->syncs(around_, *sync);
    }
    if (condition != condition_ || !fresh.empty()) all_take_part();
    if (condition.empty() || condition == condition_) return;
    declare(fresh);
    line("if (" + condition + ") {");
    ++depth_;
    condition_ = condition;
  }
  void all_take_part() {
    if (condition_.empty()) return;
    --depth_;
    line("}");
    condition_.clear();
  }

  // Members of a team -------------------------------------------------------------------------------------------------

  bool is_threads(const Item& item) const {
    const auto* loop = std::get_if<Loop>(&item.node->is);
    return loop != nullptr && in_threads(*loop, model_);
  }
  bool has_threads(const Item& item) const {
    const auto inside = [this](const Item& inner) { return has_threads(inner); };
    return is_threads(item) || std::any_of(item.body.begin(), item.body.end(), inside) ||
           std::any_of(item.otherwise.begin(), item.otherwise.end(), inside);
  }
  /// Adds the registers that parallel loops use, and those that they are computed from: each member has its own.
  void add_thread_values(const std::vector<Item>& items) {
    for (const Item& item : items) {
      if (is_threads(item) || sets_thread_value(item))
        thread_values_.insert(item.variables.begin(), item.variables.end());
      if (is_threads(item)) continue;
      add_thread_values(item.body);
      add_thread_values(item.otherwise);
    }
  }
  bool sets_thread_value(const Item& item) const {
    return std::holds_alternative<Call>(item.node->is) && !item.places.empty() &&
           item.places[0].kind == Place::Kind::variable && thread_values_.contains(item.places[0].variable);
  }
  /// Outside of parallel loops one member executes (`alone`), and the others wait for it; values in registers that the
  /// loops use, such as masks, are set by all. True: `fresh` are declared.
  bool divide(const Item& item, const std::set<int>& fresh, bool& alone) {
    if (std::holds_alternative<Comment>(item.node->is)) return false;
    const bool all = has_threads(item) || sets_thread_value(item);
    if (alone && (all || !fresh.empty())) join(alone, all);
    if (all || alone) return false;
    declare(fresh);
    line(fmt::format("if ({}.number == 0) {{", member_name));
    ++depth_;
    return alone = true;
  }
  void join(bool& alone, bool wait) {
    --depth_;
    line("}");
    if (wait) line(wait_for_all);
    alone = false;
  }

  /// Reads the instance index, unless the body does not depend on it.
  void print_instances(const Loop& loop, const Item& item, const Dialect::Number& number) {
    const std::string name = variable_names_[loop.variable] = names_.unique(loop.variable);
    line(number.opening(loop.unit, dialect_->loop_number));
    const std::size_t at = text.size();
    ranges_[loop.variable] = {0, loop.trip - 1};
    nested(item.body);
    if (says(text.substr(at), name)) {
      const std::string body = text.substr(at);
      text.resize(at);
      line(fmt::format("  const long {} = {};", name, number.text));
      text += body;
    }
    ranges_.erase(loop.variable);
    names_.release(name);
    line("}");
  }

  // Declarations -----------------------------------------------------------------------------------------------------

  /// A pointer is declared in the outermost block with its loop variable and an unguarded use: a pointer used under
  /// guards only is computed behind the guard, where it is inside the buffer.
  void declare_pointers(const std::vector<Item>& items) {
    std::set<int> wanted;
    for (const Item& item : items) {
      const bool guard = std::holds_alternative<Guard>(item.node->is);
      for (const int p : item.pointers)
        if (!guard && !declared_pointers_.contains(p) && open(places_.pointers[static_cast<std::size_t>(p)].variable))
          wanted.insert(p);
    }
    for (const int p : wanted) {
      const Pointer& pointer = places_.pointers[static_cast<std::size_t>(p)];
      declared_pointers_.insert(p);
      const std::string base = pointer.parent < 0 ? places_.buffers[pointer.buffer.index()]
                                                  : places_.pointers[static_cast<std::size_t>(pointer.parent)].name;
      line(fmt::format("{} const {} = {};", pointer_type(pointer.buffer), pointer.name,
                       sum(base, pointer.offset, ranges_)));
    }
  }
  bool open(const std::string& variable) const { return variable.empty() || ranges_.contains(variable); }
  std::string pointer_type(BufferId id) const {
    const std::string type =
        (const_.contains(id.value) ? "const " : "") + element_type(model_, program_.buffers[id.index()].dtype);
    return dialect_ != nullptr ? dialect_->pointer_type(id, type) : type + "*";
  }

  /// `float c;`, one line for each type.
  void declare(const std::set<int>& variables) {
    std::map<std::string, std::string> lists;
    for (const int v : variables) {
      const Variable& variable = places_.variables[static_cast<std::size_t>(v)];
      std::string& list = lists[variable.type];
      list += (list.empty() ? "" : ", ") + variable.name;
      if (variable.count > 0) list += fmt::format("[{}]", variable.count);
    }
    for (const auto& [type, list] : lists) line(type + " " + list + ";");
  }

  // Statements -------------------------------------------------------------------------------------------------------

  void print(const Loop& loop, const Item& item, const std::set<int>& fresh) {
    if (dialect_ == nullptr || loop.unit.empty()) return print_steps(loop, item, fresh);
    declare(fresh);
    around_.push_back(&loop);
    const auto number = dialect_->number(around_);
    if (number) print_instances(loop, item, *number);
    around_.pop_back();
    if (!number) print_steps(loop, item, {});
  }
  std::string trip_text(const Loop& loop) const {
    if (numbers_ != nullptr)
      if (const auto found = numbers_->trips.find(loop.variable); found != numbers_->trips.end()) return found->second;
    return std::to_string(loop.trip);
  }
  void print_steps(const Loop& loop, const Item& item, const std::set<int>& fresh) {
    const auto unit = model_.find_unit(loop.unit);
    const std::string threads = unit && !divided_ ? model_.unit(*unit).threads.loop : "";
    if (!threads.empty() && team_) return print_share(loop, item, fresh);
    if (threads.empty()) {
      declare(fresh);
      state_.before_loop(item.body);
    }
    const std::string name = variable_names_[loop.variable] = names_.unique(loop.variable);
    if (!threads.empty()) line(threads);
    forget_before(item);
    if (dialect_ != nullptr && !dialect_->before_loop.empty()) line(dialect_->before_loop);
    line(fmt::format("for ({3} {0} = 0; {0} < {1}; ++{0}) {{{2}", name, trip_text(loop),
                     loop.unit.empty() ? ""
                                       : fmt::format("  // instances of {}, {}", loop.unit,
                                                     threads.empty() ? "one after another" : "side by side"),
                     dialect_ != nullptr ? dialect_->loop_number : "long"));
    ranges_[loop.variable] = {0, loop.trip - 1};
    in_unit_ += loop.unit.empty() ? 0 : 1;
    ++depth_;
    if (!threads.empty()) declare(fresh);  // private to each thread
    --depth_;
    if (hints_.rolled.contains(&item))  // unknown index: the steps are not distinguishable
      line(fmt::format(
          "  __asm__ volatile(\"\" : \"+r\"({}) : : \"memory\");  // step by step: no room to keep what is read",
          name));
    if (threads.empty()) {
      nested(item.body);
    } else {
      divided_ = true;  // a loop on threads inside is executed by each
      in_thread(item.body);
      divided_ = false;
    }
    in_unit_ -= loop.unit.empty() ? 0 : 1;
    ranges_.erase(loop.variable);
    names_.release(name);
    line("}");
  }
  /// A loop whose iterations the members divide. Several that enclose nothing but each other are divided as one.
  void print_share(const Loop& loop, const Item& item, const std::set<int>& fresh) {
    const std::string name = variable_names_[loop.variable] = names_.unique(loop.variable);
    const bool outermost = digits_.empty(), inner = item.body.size() == 1 && is_threads(item.body.front());
    digits_.emplace_back(name, loop.trip);
    if (inner || !outermost)
      line(fmt::format("for (long {0} = 0; {0} < {1}; ++{0}) {{  // instances of {2}", name, loop.trip, loop.unit));
    else
      line(fmt::format("for (long {0} = {3}.number; {0} < {1}; {0} += {3}.members) {{  // instances of {2}", name,
                       loop.trip, loop.unit, member_name));
    ranges_[loop.variable] = {0, loop.trip - 1};
    if (!inner && !outermost)
      line(fmt::format("  if (({0}) % {1}.members != {1}.number) continue;", number_of_digits(), member_name));
    ++in_unit_;
    ++depth_;
    declare(fresh);  // private to each thread
    --depth_;
    if (inner) {
      nested(item.body);
    } else {
      divided_ = true;
      in_thread(item.body);
      divided_ = false;
    }
    --in_unit_;
    digits_.pop_back();
    ranges_.erase(loop.variable);
    names_.release(name);
    line("}");
    if (outermost) line(wait_for_all);
  }
  /// "k0 * 2 + p1"
  std::string number_of_digits() const {
    std::string number;
    for (const auto& [name, trip] : digits_)
      number = number.empty()
                   ? name
                   : fmt::format("{} * {} + {}", digits_.size() > 2 ? "(" + number + ")" : number, trip, name);
    return number;
  }
  void in_thread(const std::vector<Item>& items) {
    ++depth_;
    state_.thread(items, [&] { block(items); });
    --depth_;
  }
  void nested(const std::vector<Item>& items) {
    ++depth_;
    block(items);
    --depth_;
  }

  void print(const Guard& guard, const Item& item, const std::set<int>& fresh) {
    declare(fresh);
    std::string conditions;
    for (const AffineExpr& condition : guard.conditions)
      conditions += (conditions.empty() ? "" : " && ") + index(condition, ranges_) + " >= 0";
    line("if (" + (item.body.empty() ? "!(" + conditions + ")" : conditions) + ") {");
    const bool two = !item.body.empty() && !item.otherwise.empty();
    state_.either([&] { nested(item.body.empty() ? item.otherwise : item.body); },
                  [&] {
                    if (!two) return;
                    line("} else {");
                    nested(item.otherwise);
                  });
    line("}");
  }

  void print(const Call& call, const Item& item, const std::set<int>& fresh) {
    state_.before_call(item, call);
    const Instruction& instruction = model_.instruction(call.instruction);
    std::string statement = dialect_ != nullptr && instruction.emit.empty() ? dialect_->assembly(item, call, context_)
                                                                            : call_text(item, call, context_);
    state_.after_call(instruction);
    while (!statement.empty() && (statement.back() == '\n' || statement.back() == ' ')) statement.pop_back();
    std::set<int> left = fresh;
    const int written = item.places.empty() ? -1 : item.places[0].variable;
    if (dialect_ == nullptr && left.contains(written) &&
        declare_in_place(statement, places_.variables[static_cast<std::size_t>(written)]))
      left.erase(written);
    declare(left);
    forget_before(item);
    lines(statement);
  }
  void forget_before(const Item& item) {
    if (hints_.forget.contains(&item)) line(forgets);
  }
  void print(const Element& element, const Item& item, const std::set<int>& fresh) {
    declare(fresh);
    std::vector<std::string> reads;
    for (std::size_t i = 1; i < item.places.size(); ++i) {
      name_computed(element.reads[i - 1], reads);
      reads.push_back(element.reads[i - 1].buffer.valid()
                          ? value_at(item.places[i])
                          : portable_type(DType::s32) + "(" + index(item.places[i].last, ranges_) + ")");
    }
    line(elements_.statement(element.reduction, program_.buffers[element.write.buffer.index()].dtype,
                             element_place(item.places[0]), element.body, reads, value_at(item.places[0])));
  }
  /// Subscripts of a read that earlier ones compute, as text in place of their names.
  void name_computed(const Ref& ref, const std::vector<std::string>& reads) {
    for (std::size_t axis = 0; axis < ref.index.size(); ++axis) {
      const auto name = ref.index[axis].as_dim();
      if (const auto by = name ? computed_read(*name) : std::nullopt)
        variable_names_[*name] = elements_.clamped_index(reads[static_cast<std::size_t>(*by)],
                                                         program_.buffers[ref.buffer.index()].extents[axis] - 1);
    }
  }
  std::string value_at(const Place& place) {
    std::string element = element_place(place);
    if (element.starts_with("part_of<"))
      return element_type(model_, program_.buffers[place.buffer.index()].dtype) + "(" + element + ")";
    return dialect_ != nullptr && place.kind == Place::Kind::memory ? dialect_->value(place.buffer, element) : element;
  }
  std::string element_place(const Place& place) {
    if (place.kind == Place::Kind::variable) {
      const Buffer& buffer = program_.buffers[place.buffer.index()];
      std::int64_t inside = 1;
      for (std::size_t a = static_cast<std::size_t>(buffer.slots); a < buffer.extents.size(); ++a)
        inside *= buffer.extents[a];
      const Variable& variable = places_.variables[static_cast<std::size_t>(place.variable)];
      if (inside == 1) return variable.name + (variable.count > 0 ? "[0]" : "");
      if (variable.in_order && place.inside.is_constant())
        return one_of_several(buffer, variable, place.inside.constant());
    }
    if (place.kind != Place::Kind::memory) {
      diagnostics_.push_back(error("an element statement uses a register of several elements, which C++ cannot index",
                                   "stage the tensor in an addressed memory, or move it with an instruction"));
      return "x";
    }
    const auto [pointer, rest] = resolve(place, places_);
    return base_name(place, pointer) + "[" + permuted(place, index(rest, ranges_)) + "]";
  }

  /// Several small elements are packed in one register, unless the memory has registers of their type.
  std::string one_of_several(const Buffer& buffer, const Variable& variable, std::int64_t element) {
    const Memory& memory = model_.memory(buffer.memory);
    const bool own = std::any_of(memory.value.begin(), memory.value.end(),
                                 [&](const auto& entry) { return entry.first == name(buffer.dtype); });
    const std::int64_t in_one = own ? 1 : std::max<std::int64_t>(1, memory.size / bytes(buffer.dtype));
    const std::string held = fmt::format("{}[{}]", variable.name, element / in_one);
    return in_one == 1 ? held : elements_.part_of_register(element_type(model_, buffer.dtype), held, element % in_one);
  }

  void print(const Sync& sync, const Item&, const std::set<int>&) {
    if (dialect_ != nullptr) {
      std::vector<Variable> opened;
      for (const int v : opened_) opened.push_back(places_.variables[static_cast<std::size_t>(v)]);
      return lines(dialect_->sync(sync, opened, [&](const AffineExpr& e) { return index(e, ranges_); }));
    }
    const auto& objects = model_.async_objects();
    const auto object =
        std::find_if(objects.begin(), objects.end(), [&](const AsyncObject& o) { return o.name == sync.object; });
    for (const char* key : {"emit", "emit.asm"}) {
      if (object == objects.end() || !object->texts.contains(key)) continue;
      const auto emit = parse_template(object->texts.at(key));
      const std::string said = fill(*emit, [](const Placeholder&) { return std::string(); });
      return lines(key == std::string("emit") ? said : assembly_statement(said));
    }
    if (!sync.object.empty())
      diagnostics_.push_back(
          error_at(object == objects.end() ? SourceLocation{} : object->where,
                   fmt::format("completion object '{}' cannot be waited for in a C++ program", sync.object)));
    else if (in_unit_ > 0)
      diagnostics_.push_back(error(
          fmt::format("a barrier of '{}' inside a loop over its instances, which a C++ program runs one after another",
                      model_.unit(sync.unit).name)));
  }
  void print(const Comment& comment, const Item&, const std::set<int>&) {
    std::string safe = comment.text;
    for (char& c : safe)
      if (static_cast<unsigned char>(c) < ' ' || c == '\\') c = ' ';
    line("// " + safe);
  }

  // Addresses --------------------------------------------------------------------------------------------------------

  std::string base_name(const Place& place, int pointer) const {
    return pointer < 0 ? places_.buffers[place.buffer.index()]
                       : places_.pointers[static_cast<std::size_t>(pointer)].name;
  }
  std::string address(const Place& place, const Ranges& ranges) {
    const auto [pointer, rest] = resolve(place, places_);
    const std::string text_of = sum(base_name(place, pointer), rest, ranges);
    if (dialect_ != nullptr) return dialect_->address(place.buffer, text_of);
    const std::string& type = model_.memory(program_.buffers[place.buffer.index()].memory).pointer_type;
    const bool plain = rest == AffineExpr(0);
    const std::string enclosed = plain ? text_of : "(" + text_of + ")";
    return type.empty() ? enclosed : "(" + type + ")" + enclosed;
  }
  std::string permuted(const Place& place, const std::string& number) {
    const Buffer& buffer = program_.buffers[place.buffer.index()];
    return buffer.swizzle ? elements_.permuted(*buffer.swizzle, bytes(buffer.dtype), number) : number;
  }
  std::string permuted_address(const Place& place, const Ranges& ranges, const std::string& more) {
    const auto [pointer, rest] = resolve(place, places_);
    const std::string number = index(rest, ranges);
    const std::string all = more.empty() ? number : rest == AffineExpr(0) ? more : number + " + (" + more + ")";
    return "(" + base_name(place, pointer) + " + " + permuted(place, all) + ")";
  }
  std::string sum(const std::string& base, const AffineExpr& offset, const Ranges& ranges) {
    if (offset == AffineExpr(0)) return base;
    const std::string rest = index(offset, ranges);
    const bool several = offset.terms().size() + (offset.constant() != 0 ? 1 : 0) > 1;
    if (several && rest.find('-') != std::string::npos)
      return base + " + (" + rest + ")";  // offset computed before it is dereferenced
    return rest.front() == '-' ? base + " - " + rest.substr(1) : base + " + " + rest;
  }

  std::string index(const AffineExpr& e, const Ranges& ranges) {
    return index_text(e, ranges, variable_names_, elements_);
  }

  static constexpr const char* forgets = "__asm__ volatile(\"\" ::: \"memory\");  // no room to keep what was read";

 public:
  std::set<std::int32_t> const_;  ///< buffers that are `const` in this function
  RegisterHints hints_;
  bool team_ = false;

 private:
  const Program& program_;
  const HardwareModel& model_;
  const Dialect* dialect_;
  std::vector<const Loop*> around_;  ///< with a dialect: open loops on units
  std::set<int> opened_;             ///< variables opened by a statement and written by later calls
  std::string condition_;            ///< open condition of the block
  Places& places_;
  Names& names_;
  ElementText& elements_;
  Diagnostics& diagnostics_;
  CallContext context_;
  Ranges ranges_;
  std::map<std::string, std::string> variable_names_;
  std::set<int> declared_pointers_, declared_variables_;
  ProgramState state_;
  const RuntimeNumbers* numbers_ = nullptr;
  int depth_ = 1, in_unit_ = 0;
  std::set<int> thread_values_;  ///< variables of parallel loops, outside of which they may be set
  bool divided_ = false;         ///< of a team: one member executes this, or each its iterations
  std::vector<std::pair<std::string, std::int64_t>> digits_;  ///< open loops that a team divides, and their trips
};

}  // namespace

Result<FunctionBody> print_body(const std::vector<Node>& nodes, const BodyContext& context, Names names) {
  const auto& [program, model, buffers, constant, elements, dialect, numbers, team] = context;
  auto expanded = expand(nodes, model, max_statements);
  if (!expanded) return expanded.diagnostics();
  if (dialect == nullptr) *expanded = hoist_guards(std::move(*expanded));
  Places places;
  places.buffers = buffers;
  Diagnostics diagnostics;
  const auto items = find_places(*expanded, {program, model, dialect != nullptr, names, diagnostics, numbers}, places);
  if (has_errors(diagnostics)) return diagnostics;
  Printer printer(program, model, places, names, elements, dialect, diagnostics);
  printer.const_ = constant;
  printer.set_numbers(numbers);
  printer.team_ = team;
  if (dialect == nullptr) printer.hints_ = register_hints(items, places, program, model);
  printer.function(items);
  if (has_errors(diagnostics)) return diagnostics;
  return FunctionBody{printer.text, printer.attributes()};
}

}  // namespace isamap
