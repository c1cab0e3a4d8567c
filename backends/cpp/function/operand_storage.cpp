// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/operand_storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/types.h"
#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

// Elements of a row for which it gets a pointer. Of two, as rows of a register tile have vectors, GCC 12 keeps the
// multiples of strides, and a pointer may cost it the registers: products took 1.03 times as long.
constexpr int least_elements = 3;

/// Else its places are summed up from the pointer before it.
bool is_used(const Pointer& pointer) { return pointer.uses >= (pointer.row ? least_elements : 2); }

AffineExpr of_term(const AffineTerm& term) {
  return std::visit(overloaded{[](const std::string& name) { return AffineExpr::dim(name); },
                               [](const FloorDiv& f) { return floordiv(*f.numerator, f.divisor); }},
                    term.atom) *
         term.coefficient;
}

/// Uses that share an operand.
std::int64_t instances_of(const Operand& operand) {
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  std::int64_t count = 1;
  for (std::size_t u = 0; fragment != nullptr && u + 1 < fragment->over.size(); ++u) count *= fragment->over[u].second;
  return count;
}

/// So many elements of an instance the tile reaches; a tile may be smaller than the fragment, and is taken for a whole
/// one where their axes differ.
std::int64_t elements_of_instance(const Operand& operand, const Buffer& buffer) {
  const auto& fragment = std::get<FragmentLayout>(operand.layout);
  const std::vector<std::int64_t> box(buffer.extents.begin() + buffer.slots, buffer.extents.end());
  const std::int64_t all = fragment.over.back().second;
  const auto places = box.size() == fragment.index.size() ? positions(operand, box) : std::nullopt;
  if (!places) return fragment.varying.empty() ? all : 0;
  std::int64_t most = 0;
  for (const std::int64_t place : *places) most = std::max(most, place % all + 1);
  return most;
}

/// Registers of one instance; 0: no fragment.
std::int64_t registers_of_fragment(const Operand& operand, const Buffer& buffer, const Memory& memory) {
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  if (fragment == nullptr || fragment->over.empty()) return 0;
  if (!memory.named_by_compiler() || memory.size <= 0) return 0;
  // elements of all instances over instances
  std::int64_t instances = 1, elements = 1;
  for (std::size_t u = 0; u + 1 < fragment->over.size(); ++u) instances *= fragment->over[u].second;
  if (fragment->replicated) {
    elements = fragment->over.back().second;
  } else {
    for (std::size_t a = static_cast<std::size_t>(buffer.slots); a < buffer.extents.size(); ++a)
      elements *= buffer.extents[a];
    elements = std::max(elements / instances, elements_of_instance(operand, buffer));
  }
  const auto own_type = [&](const auto& entry) { return entry.first == name(buffer.dtype); };
  if (std::any_of(memory.value.begin(), memory.value.end(), own_type)) return std::max<std::int64_t>(elements, 1);
  return std::max<std::int64_t>((elements * bytes(buffer.dtype) + memory.size - 1) / memory.size, 1);
}

/// The variable has the fragment of its operand with most instances; operands with fewer use a part of its registers.
void hold(Variable& variable, const Instruction& by, int access, const Buffer& buffer, const Memory& memory) {
  const Operand& operand = operand_of(by, access);
  if (variable.shared_by != nullptr &&
      instances_of(operand) < instances_of(operand_of(*variable.shared_by, variable.access)))
    return;  // it uses a part
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  variable.in_order = fragment != nullptr && fragment->over.size() == 1 &&
                      fragment->index == std::vector<AffineExpr>{AffineExpr::dim(fragment->over[0].first)};
  variable.count = registers_of_fragment(operand, buffer, memory);
  variable.shared_by = &by;
  variable.access = access;
}

void note_need(const Place& place, const Places& places, Item& item) {
  if (place.kind == Place::Kind::variable && place.variable >= 0) item.variables.insert(place.variable);
  if (place.kind != Place::Kind::memory || !place.buffer.valid()) return;
  for (int p = resolve(place, places).first; p >= 0; p = places.pointers[static_cast<std::size_t>(p)].parent)
    item.pointers.insert(p);
}

/// After counting uses: pointers and variables of each item, bottom up.
void note_needs(std::vector<Item>& items, const Places& places) {
  for (Item& item : items) {
    for (const Place& place : item.places) note_need(place, places, item);
    for (std::vector<Item>* inner : {&item.body, &item.otherwise}) {
      note_needs(*inner, places);
      for (const Item& child : *inner) {
        item.pointers.insert(child.pointers.begin(), child.pointers.end());
        item.variables.insert(child.variables.begin(), child.variables.end());
      }
    }
  }
}

/// The loops around a node, and the variables and pointers made so far.
class Finder {
 public:
  Finder(const StorageContext& context, Places& places)
      : program_(context.program),
        model_(context.model),
        instances_(context.instances),
        names_(context.names),
        places_(places),
        diagnostics_(context.diagnostics),
        numbers_(context.numbers) {}

  std::vector<Item> items(const std::vector<Node>& nodes) {
    std::vector<Item> out;
    for (const Node& node : nodes) {
      Item item;
      item.node = &node;
      item.ranges = ranges_;
      std::visit([&](const auto& n) { visit(n, item); }, node.is);
      out.push_back(std::move(item));
    }
    return out;
  }

 private:
  void visit(const Loop& loop, Item& item) {
    nest_.push_back(loop.variable);
    if (const auto unit = model_.find_unit(loop.unit)) units_[loop.variable] = *unit;
    ranges_[loop.variable] = {0, loop.trip - 1};
    item.body = items(loop.body);
    ranges_.erase(loop.variable);
    nest_.pop_back();
    units_.erase(loop.variable);
  }
  void visit(const Guard& guard, Item& item) {
    item.body = items(guard.then);
    item.otherwise = items(guard.otherwise);
  }
  void visit(const Call& call, Item& item) {
    const Instruction& instruction = model_.instruction(call.instruction);
    const Ranges ranges = ranges_of_call(ranges_, instruction, call);
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      if (!operand_of(instruction, static_cast<int>(i)).object.empty()) {  // its positions are printed, not its address
        Place described;
        described.kind = Place::Kind::described;
        described.buffer = call.operands[i].buffer;
        item.places.push_back(described);
        continue;
      }
      item.places.push_back(
          place(call.operands[i], i == 0 ? ranges_of_call(ranges_, instruction, call, 0) : ranges, instruction.name));
      if (const int v = item.places.back().variable; v >= 0) {
        const Buffer& buffer = program_.buffers[call.operands[i].buffer.index()];
        hold(places_.variables[static_cast<std::size_t>(v)], instruction, static_cast<int>(i), buffer,
             model_.memory(buffer.memory));
      }
    }
    for (const Ref& ref : call.masks) item.places.push_back(place(ref, ranges, instruction.name));
  }
  void visit(const Element& element, Item& item) {
    item.places.push_back(place(element.write, ranges_, "an element statement"));
    for (const Ref& ref : element.reads) item.places.push_back(place(ref, ranges_, "an element statement"));
  }
  void visit(const Sync&, Item&) {}
  void visit(const Comment&, Item&) {}

  Place place(const Ref& ref, const Ranges& ranges, const std::string& user) {
    Place out;
    if (!ref.buffer.valid()) {
      out.kind = Place::Kind::immediate;
      if (!ref.index.empty() && ref.index[0].is_constant()) out.number = ref.index[0].constant();
      if (!ref.index.empty()) out.last = ref.index[0];  // of element statements: the value of an index
      return out;
    }
    out.buffer = ref.buffer;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    if (buffer.slots >= 0) return register_place(buffer, ref, ranges, user, std::move(out));
    const bool computed = std::any_of(ref.index.begin(), ref.index.end(), [](const AffineExpr& e) {
      const auto name = e.as_dim();
      return name && computed_read(*name);
    });
    if (runtime_strides(ref.buffer) != nullptr && (instances_ || computed)) {
      scatter(buffer, ref, ranges, out);
      return out;
    }
    if (runtime_strides(ref.buffer) != nullptr) {
      split(runtime_origin(buffer, ref, ranges, user, out), ranges, out);
      return out;
    }
    out.offset = element_offset(buffer, ref, ranges);
    if (buffer.swizzle || computed) {  // no sum of steps
      const AffineExpr whole = at_origin(out.offset, ranges);
      out.constant = whole.constant();
      out.last = whole - AffineExpr(whole.constant());
      return out;
    }
    split(at_origin(out.offset, ranges), ranges, out);
    return out;
  }

  const std::vector<std::string>* runtime_strides(BufferId id) const {
    if (numbers_ == nullptr) return nullptr;
    const auto found = numbers_->strides.find(id.value);
    return found == numbers_->strides.end() ? nullptr : &found->second;
  }
  /// With strides that are arguments, and any subscripts: loops that are distributed over threads divide their numbers,
  /// and computed ones are known at the element only.
  void scatter(const Buffer& buffer, const Ref& ref, const Ranges& ranges, Place& out) const {
    const std::vector<std::string>& strides = *runtime_strides(ref.buffer);
    out.scattered = true;
    for (std::size_t d = 0; d < ref.index.size(); ++d) {
      const AffineExpr whole = simplify(ref.index[d], ranges);
      if (strides[d].empty())
        out.offset += whole * buffer.strides[d];
      else
        out.strided.emplace_back(strides[d], whole);
    }
    out.offset = simplify(out.offset, ranges);
  }
  /// The place of the first element with strides that are arguments: `S*i` for each loop variable. Multiples of S alone
  /// go beside it.
  AffineExpr runtime_origin(const Buffer& buffer, const Ref& ref, const Ranges& ranges, const std::string& user,
                            Place& out) {
    const std::vector<std::string>& strides = *runtime_strides(ref.buffer);
    AffineExpr origin;
    for (std::size_t d = 0; d < ref.index.size(); ++d) {
      const AffineExpr whole = simplify(ref.index[d], ranges), index = at_origin(whole, ranges);
      if (strides[d].empty()) {
        out.offset += whole * buffer.strides[d];
        origin += index * buffer.strides[d];
        continue;
      }
      out.strided.emplace_back(strides[d], whole);
      out.strides += index.constant() * AffineExpr::dim(strides[d]);
      for (const AffineTerm& term : index.terms()) {
        const auto* name = std::get_if<std::string>(&term.atom);
        if (name == nullptr || term.coefficient < 0)
          diagnostics_.push_back(error(fmt::format("{} has a place in '{}' that is no sum of steps", user, buffer.name),
                                       "bind sizes with --sizes"));
        else
          origin += term.coefficient * AffineExpr::dim(strides[d] + "*" + *name);
      }
    }
    out.offset = simplify(out.offset, ranges);
    return simplify(origin, ranges);
  }

  /// Registers are per instance: not selected by its index.
  Ref of_own_instance(const Buffer& buffer, const Ref& ref) const {
    std::map<std::string, AffineExpr> zero;
    for (const auto& [variable, unit] : units_)
      if (model_.inside(model_.memory(buffer.memory).per, unit)) zero[variable] = AffineExpr(0);
    Ref out{ref.buffer, {}};
    for (const AffineExpr& e : ref.index) out.index.push_back(substitute(e, zero));
    return out;
  }

  Place register_place(const Buffer& buffer, const Ref& ref, const Ranges& ranges, const std::string& user, Place out) {
    const auto slot = slot_of(buffer, instances_ ? of_own_instance(buffer, ref) : ref, ranges);
    if (!slot) {
      diagnostics_.push_back(error(fmt::format("{} indexes a register of '{}' by a loop variable", user, buffer.name),
                                   "unroll the loops over register tiles"));
      return out;
    }
    const Memory& memory = model_.memory(buffer.memory);
    if (memory.named_by_compiler()) {
      out.kind = Place::Kind::variable;
      out.variable = variable(buffer, ref.buffer, *slot);
      for (std::size_t a = static_cast<std::size_t>(buffer.slots); a < ref.index.size(); ++a)
        out.inside = out.inside * buffer.extents[a] + ref.index[a];
      out.inside = simplify(out.inside, ranges);
    } else {
      out.kind = Place::Kind::numbered;
      out.number = buffer.address + *slot * buffer.registers_per_slot;
    }
    return out;
  }

  int variable(const Buffer& buffer, BufferId id, std::int64_t slot) {
    const auto [found, fresh] = variable_of_.try_emplace({id.value, slot}, static_cast<int>(places_.variables.size()));
    if (!fresh) return found->second;
    std::string suffix;
    std::int64_t rest = slot;
    for (int a = buffer.slots - 1; a >= 0; --a) {
      const std::int64_t extent = std::max<std::int64_t>(buffer.extents[static_cast<std::size_t>(a)], 1);
      suffix.insert(0, "_" + std::to_string(rest % extent));
      rest /= extent;
    }
    const auto type = register_type(model_, buffer);
    if (!type)
      diagnostics_.push_back(error(fmt::format("memory '{}' names no type for {} registers",
                                               model_.memory(buffer.memory).name, name(buffer.dtype)),
                                   "add it to `value`"));
    places_.variables.push_back({id, slot, names_.unique(buffer.name + suffix), type.value_or("int")});
    return found->second;
  }

  /// Groups the terms of `base` by loop and makes the pointers of all groups. A pointer must not leave its array, not
  /// even for a moment (C++ [expr.add]: compilers rely on it), so a group that can be negative includes part of the
  /// constant: I[6 - 5*r - s] is { I_r = I + (5 - 5*r); ... I_r[1 - s] }.
  void split(const AffineExpr& base, const Ranges& ranges, Place& out) {
    std::map<std::size_t, AffineExpr> groups;
    for (const AffineTerm& term : base.terms()) {
      const AffineExpr e = of_term(term);
      std::size_t depth = 0;
      for (const std::string& name : e.names())
        for (std::size_t d = 0; d < nest_.size(); ++d)
          if (nest_[d] == variable_of(name)) depth = std::max(depth, d);
      groups[depth] += e;
    }
    out.constant = base.constant();
    for (auto& [depth, group] : groups)
      if (const auto range = bounds(group, ranges); range && range->low < 0) {
        group += -range->low;
        out.constant += range->low;
      }
    for (auto it = groups.begin(); it != groups.end(); ++it) {
      const int pointer = pointer_for(out.buffer, out.prefix, it->second, nest_.empty() ? "" : nest_[it->first]);
      if (std::next(it) != groups.end()) {
        out.prefix = pointer;
        places_.pointers[static_cast<std::size_t>(pointer)].uses += 2;  // a prefix always stands on its own
      } else {
        out.shared = pointer;
        out.last = it->second;
        places_.pointers[static_cast<std::size_t>(pointer)].uses += 1;
      }
    }
  }

  int pointer_for(BufferId buffer, int parent, const AffineExpr& offset, const std::string& variable) {
    const auto [found, fresh] =
        pointer_of_.try_emplace({buffer.value, parent, offset}, static_cast<int>(places_.pointers.size()));
    if (fresh) places_.pointers.push_back({buffer, parent, offset, variable, "", 0});
    return found->second;
  }

  const Program& program_;
  const HardwareModel& model_;
  bool instances_;
  Names& names_;
  Places& places_;
  Diagnostics& diagnostics_;
  const RuntimeNumbers* numbers_;
  std::map<std::string, UnitId> units_;  ///< of open loops
  std::vector<std::string> nest_;
  Ranges ranges_;
  std::map<std::pair<std::int32_t, std::int64_t>, int> variable_of_;
  std::map<std::tuple<std::int32_t, int, AffineExpr>, int> pointer_of_;
};

/// Pointers of rows, and the elements of each that calls use.
class RowFinder {
 public:
  explicit RowFinder(std::vector<Pointer>& pointers) : pointers_(pointers) {}

  void find(std::vector<Item>& items) {
    for (Item& item : items) {
      if (std::holds_alternative<Call>(item.node->is))
        for (Place& place : item.places) find(place);
      find(item.body);
      find(item.otherwise);
    }
  }

 private:
  void find(Place& place) {
    if (place.strides == AffineExpr(0) || place.constant < 0) return;
    const auto [known, is_new] =
        pointer_of_.try_emplace({place.buffer.value, place.shared, place.strides}, static_cast<int>(pointers_.size()));
    if (is_new) {
      const std::string variable = place.shared < 0 ? "" : pointers_[static_cast<std::size_t>(place.shared)].variable;
      pointers_.push_back({place.buffer, place.shared, place.strides, variable, "", 0, true});
    }
    place.row = known->second;
    if (elements_.insert({place.row, place.constant}).second) ++pointers_[static_cast<std::size_t>(place.row)].uses;
  }

  std::vector<Pointer>& pointers_;
  std::map<std::tuple<std::int32_t, int, AffineExpr>, int> pointer_of_;
  std::set<std::pair<int, std::int64_t>> elements_;
};

/// Each row begins at the one before it of the same parent: one addition, and no multiple that is kept.
void chain_rows(std::vector<Pointer>& pointers) {
  struct Last {
    int pointer = -1;
    AffineExpr strides;
  };
  std::map<std::pair<std::int32_t, int>, Last> last;  // by buffer and parent
  for (std::size_t p = 0; p < pointers.size(); ++p) {
    Pointer& row = pointers[p];
    if (row.name.empty() || !row.row) continue;
    const AffineExpr strides = row.offset;
    Last& before = last[{row.buffer.value, row.parent}];
    const AffineExpr more = strides - before.strides;
    const auto is_positive = [](const AffineTerm& term) { return term.coefficient > 0; };
    if (before.pointer >= 0 && std::all_of(more.terms().begin(), more.terms().end(), is_positive))
      row.parent = before.pointer, row.offset = more;
    before = {static_cast<int>(p), strides};
  }
}

}  // namespace

std::vector<Item> find_places(const std::vector<Node>& nodes, const StorageContext& context, Places& places) {
  Finder finder(context, places);
  auto items = finder.items(nodes);
  RowFinder(places.pointers).find(items);
  for (Pointer& pointer : places.pointers)
    if (is_used(pointer))
      pointer.name =
          context.names.unique(places.buffers[pointer.buffer.index()] +
                               (pointer.variable.empty() ? "" : "_" + pointer.variable) + (pointer.row ? "_row" : ""));
  chain_rows(places.pointers);
  note_needs(items, places);
  return items;
}

std::optional<RegisterPart> part_of_registers(const Variable& variable, const SharedRegisterUse& use,
                                              const Program& program, const HardwareModel& model) {
  const auto& [place, by, access, ranges] = use;
  const Operand& taken = operand_of(by, access);
  const Operand& shared = operand_of(*variable.shared_by, variable.access);
  if (instances_of(taken) >= instances_of(shared)) return RegisterPart{0, variable.count};
  const auto all = positions(shared, operand_box(*variable.shared_by, variable.access));
  const auto own = positions(taken, operand_box(by, access));
  if (!all || !own) return std::nullopt;
  const std::int64_t elements = std::get<FragmentLayout>(shared.layout).over.back().second;
  const auto number = static_cast<std::int64_t>(own->size());
  // Its points, row-major, and the loops around.
  std::vector<std::string> names;
  std::vector<std::int64_t> extents;
  for (const Dim& dim : by.statement().domain.dims) names.push_back("$" + dim.name), extents.push_back(dim.extent);
  for (const std::string& name : place.inside.names())
    if (const auto loop = ranges.find(name); loop != ranges.end() && name.front() != '$')
      names.push_back(name), extents.push_back(loop->second.high + 1);
  const CompiledAffine inside(place.inside, names);
  std::vector<CompiledAffine> subscripts;
  for (const AffineExpr& e : access_of(by.statement(), access).index) {
    std::map<std::string, AffineExpr> dims;
    for (const std::string& name : e.names()) dims[name] = AffineExpr::dim("$" + name);
    subscripts.emplace_back(substitute(e, dims), names);
  }
  const auto box = operand_box(by, access);
  std::optional<std::int64_t> first;
  std::vector<std::int64_t> point(names.size(), 0);
  while (true) {
    std::int64_t flat = 0;
    for (std::size_t s = 0; s < subscripts.size(); ++s) flat = flat * box[s] + subscripts[s](point.data());
    const std::int64_t at = inside(point.data());
    if (at < 0 || at >= static_cast<std::int64_t>(all->size())) return std::nullopt;
    const std::int64_t begin = (*all)[static_cast<std::size_t>(at)] % elements - (*own)[static_cast<std::size_t>(flat)];
    if (begin != first.value_or(begin) || begin < 0) return std::nullopt;
    first = begin;
    std::size_t d = point.size();
    while (d > 0 && ++point[d - 1] >= extents[d - 1]) point[--d] = 0;
    if (d == 0) break;
  }
  const Buffer& buffer = program.buffers[place.buffer.index()];
  const Memory& memory = model.memory(buffer.memory);
  const bool own_type = std::any_of(memory.value.begin(), memory.value.end(),
                                    [&](const auto& entry) { return entry.first == name(buffer.dtype); });
  const std::int64_t size = own_type ? 1 : bytes(buffer.dtype), held = own_type ? 1 : memory.size;
  if (*first * size % held != 0) return std::nullopt;
  return RegisterPart{*first * size / held, std::max<std::int64_t>(1, (number * size + held - 1) / held)};
}

std::pair<int, AffineExpr> resolve(const Place& place, const Places& places) {
  if (place.row >= 0 && is_used(places.pointers[static_cast<std::size_t>(place.row)]))
    return {place.row, AffineExpr(place.constant)};
  if (place.shared >= 0 && is_used(places.pointers[static_cast<std::size_t>(place.shared)]))
    return {place.shared, place.strides + AffineExpr(place.constant)};
  return {place.prefix, place.last + place.strides + AffineExpr(place.constant)};
}

}  // namespace isamap
