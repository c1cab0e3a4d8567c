// SPDX-License-Identifier: Apache-2.0
// `legal`: conditions of an instruction, and their translation into fields that the compiler already handles.
//
// extent[i] <= 4 makes the dim's range smaller, which mapper, scheduler and verifier respect like any other range;
// likewise S % 64 == 0 is an alignment, S.pitch[i] % 16 == 0 a `multiple_of` and st.mode == 1 a need. A condition on
// several extents of a compute instruction reduces its box to the largest legal one. All conditions stay with the
// instruction, and every call is tested against them (ir/legal.h).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "hwdesc/load/reading_internal.h"
#include "hwdesc/model/program_language.h"
#include "ir/legal.h"
#include "support/arithmetic.h"

namespace isamap::loader {

namespace {

constexpr std::int64_t max_tried = 65536;  // extents of one dim that are enumerated

std::optional<std::string> only_dim(const Condition& condition) {
  std::optional<std::string> dim;
  for (const Reference& r : references(condition)) {
    if (r.object != "extent" || (dim && *dim != r.argument)) return std::nullopt;
    dim = r.argument;
  }
  return dim;
}

bool about_extents(const Condition& condition) {
  const auto all = references(condition);
  return std::all_of(all.begin(), all.end(), [](const Reference& r) { return r.object == "extent"; });
}

/// Dense layouts are dense over the written box: as explicit strides they are unchanged when the box becomes smaller.
void keep_places(Instruction& instruction) {
  for (int a = 0; a < access_count(instruction.statement()); ++a) {
    Operand& operand = instruction.operands[operand_of_access(instruction, a).index()];
    if (!operand.memory.valid() || !std::holds_alternative<DenseLayout>(operand.layout)) continue;
    const auto box = operand_box(instruction, a);
    StridedLayout strides;
    std::int64_t stride = 1;
    for (std::size_t i = box.size(); i-- > 0; stride *= std::max<std::int64_t>(box[i], 1)) {
      StrideTerm term;
      term.text = operand.index_names[i];
      term.term = AffineExpr::dim(operand.index_names[i]);
      term.stride.emplace().number = stride;
      strides.terms.insert(strides.terms.begin(), std::move(term));
    }
    operand.layout = std::move(strides);
  }
}

bool in_a_fragment(const Instruction& instruction, const std::string& dim) {
  for (int a = 0; a < access_count(instruction.statement()); ++a)
    if (std::holds_alternative<FragmentLayout>(
            instruction.operands[operand_of_access(instruction, a).index()].layout) &&
        uses(access_of(instruction.statement(), a), dim))
      return true;
  return false;
}

/// May the dim end before its last position? Not if the positions after it have a meaning: a mask has a bit for each,
/// `inactive` gives their values, a fragment places them.
bool can_be_shorter(const Instruction& instruction, std::size_t d) {
  const std::string& dim = instruction.statement().domain.dims[d].name;
  const bool sets = instruction.inactive == Inactive::zero || instruction.inactive == Inactive::undefined;
  const bool masked = std::any_of(instruction.masks.begin(), instruction.masks.end(),
                                  [&](const auto& mask) { return mask.first == dim; });
  return !masked && !in_a_fragment(instruction, dim) &&
         (!sets || instruction.ranges[d].kept || !uses(instruction.statement().write, dim));
}

/// Limits the extent of the dim to `max`.
void shorten(Instruction& instruction, std::size_t d, std::int64_t max) {
  if (max == instruction.ranges[d].max || !can_be_shorter(instruction, d)) return;
  const std::string dim = instruction.statement().domain.dims[d].name;
  keep_places(instruction);
  instruction.ranges[d].max = max;
  for (Computation& statement : instruction.semantics)
    if (const int own = statement.domain.find(dim); own >= 0)
      statement.domain.dims[static_cast<std::size_t>(own)].extent = max;
  for (int a = 0; a < access_count(instruction.statement()); ++a)
    instruction.tensors[operand_of_access(instruction, a).index()].shape = operand_box(instruction, a);
}

struct Folding {
  Instruction& instruction;
  const Node& node;  ///< the entry
  Context& context;
  const std::vector<Condition> all = conditions(instruction);

  const Node& written(std::size_t condition) const { return node.find("legal")->items[condition]; }
  std::string what() const { return "'legal' of instruction '" + instruction.name + "'"; }

  void constants() {
    for (std::size_t c = 0; c < all.size(); ++c)
      if (holds(all[c], [](const Reference&) { return std::nullopt; }) == false)
        context.problems.error(written(c).where, what() + ": '" + written(c).scalar + "' never holds",
                               "an instruction that is never legal is of no use: leave it out, or the condition");
  }

  // The remaining extents: their hull and common step.
  void narrow(std::size_t d) {
    const std::string& dim = instruction.statement().domain.dims[d].name;
    DimRange& range = instruction.ranges[d];
    std::vector<std::size_t> about;
    for (std::size_t c = 0; c < all.size(); ++c)
      if (only_dim(all[c]) == dim) about.push_back(c);
    if (about.empty() || range.max - range.min > max_tried) return;
    std::int64_t least = -1, most = -1, step = 0;
    const std::int64_t each = range.fixed() ? 1 : std::max<std::int64_t>(range.multiple_of, 1);
    for (std::int64_t e = range.fixed() ? range.max : round_up(range.min, each); e <= range.max; e += each) {
      const bool legal = std::all_of(about.begin(), about.end(), [&](std::size_t c) {
        return holds(all[c], [&](const Reference&) { return std::optional(e); }).value_or(false);
      });
      if (!legal) continue;
      least = least < 0 ? e : least;
      most = e;
      step = std::gcd(step, e);
    }
    if (most < 1) {
      std::vector<std::string> conditions;
      for (const std::size_t c : about) conditions.push_back("'" + written(c).scalar + "'");
      return context.problems.error(
          written(about.front()).where,
          fmt::format("{}: no extent of dim '{}' fulfils {}", what(), dim, fmt::join(conditions, " and ")),
          fmt::format("it takes {} to {}{}", range.min, range.max,
                      each > 1 ? fmt::format(" in steps of {}", each) : std::string()));
    }
    const bool ends_there = most == range.max || can_be_shorter(instruction, d);
    range.min = least;
    if (ends_there) range.multiple_of = least == most ? most : std::max<std::int64_t>(step, 1);
    shorten(instruction, d, most);
  }

  void tied_extents() {
    const bool any = std::any_of(all.begin(), all.end(), [](const Condition& c) {
      return about_extents(c) && !references(c).empty() && !only_dim(c);
    });
    if (!any) return;
    const auto best = largest_extents(instruction);
    if (!extents_fit(instruction, best))
      return context.problems.error(written(0).where, what() + ": no extents of its dims fulfil all conditions",
                                    "they hold at every use: is a comparison the wrong way round?");
    if (!is_compute(instruction)) return;  // moves and fills are tried with smaller blocks
    for (std::size_t d = 0; d < best.size(); ++d) shorten(instruction, d, best[d]);
  }

  /// `X % n == 0`: the reference and n.
  static std::optional<std::pair<Reference, std::int64_t>> multiple(const Condition& c) {
    const bool zero = c.right.op == IntExpr::Op::number && c.right.number == 0;
    if (c.op != Condition::Op::equal || !zero || c.left.op != IntExpr::Op::mod ||
        c.left.args[0].op != IntExpr::Op::reference || c.left.args[1].op != IntExpr::Op::number ||
        c.left.args[1].number < 1)
      return std::nullopt;
    return std::pair(c.left.args[0].reference, c.left.args[1].number);
  }

  Operand* operand_called(const std::string& name) {
    const auto found = std::find_if(instruction.operands.begin(), instruction.operands.end(),
                                    [&](const Operand& o) { return o.name == name; });
    return found == instruction.operands.end() ? nullptr : &*found;
  }

  /// True: the condition is an alignment. Addresses of C++ programs are bytes, those of asm as the memory counts.
  bool aligns(const Condition& condition) {
    const auto found = multiple(condition);
    Operand* operand = found && found->first.property.empty() ? operand_called(found->first.object) : nullptr;
    if (operand == nullptr || !operand->memory.valid()) return false;
    const Memory& memory = context.parts.memories[operand->memory.index()];
    const bool counted = is_command_stream(context.model);
    const auto bytes = checked_mul(found->second, counted ? memory.granularity : 1);
    if (!bytes || (*bytes & (*bytes - 1)) != 0 || *bytes > (1 << 20) || (counted && memory.base % found->second != 0))
      return false;
    operand->align = std::max(operand->align, *bytes);
    operand->align_buffer = std::max(operand->align_buffer, *bytes);
    return true;
  }

  void strides(const Condition& condition) {
    const auto found = multiple(condition);
    Operand* operand = found ? operand_called(found->first.object) : nullptr;
    if (operand == nullptr || !is_distance(found->first)) return;
    const bool in_elements = property_of(found->first) == OperandProperty::stride;
    if (in_elements && !operand->dtype) return;
    const std::int64_t width = in_elements ? isamap::bytes(*operand->dtype) : 1;
    const auto bytes = checked_mul(found->second, width);
    std::int64_t& known = operand->multiple_of.try_emplace(found->first.argument, 1).first->second;
    if (bytes && *bytes <= (1 << 20)) known = std::lcm(known, *bytes);
  }

  void needs(const Condition& condition) {
    if (condition.op != Condition::Op::equal) return;
    const auto state = [&](const IntExpr& e) {
      return e.op == IntExpr::Op::reference && !e.reference.property.empty() && e.reference.argument.empty() &&
             operand_called(e.reference.object) == nullptr;
    };
    const auto names_state = [&](const IntExpr& e) {
      const auto names = references(e);
      return std::any_of(names.begin(), names.end(), [&](const Reference& r) {
        return !r.property.empty() && r.argument.empty() && operand_called(r.object) == nullptr;
      });
    };
    for (const auto& [field, value] :
         {std::pair(&condition.left, &condition.right), {&condition.right, &condition.left}})
      if (state(*field) && !names_state(*value)) {
        const std::string name = field->reference.object + "." + field->reference.property;
        const bool known = std::any_of(instruction.needs.begin(), instruction.needs.end(),
                                       [&](const StateValue& n) { return n.field == name && n.value == *value; });
        if (!known) instruction.needs.push_back({name, *value, false});
        return;
      }
  }

  /// Addresses of C++ programs are known only at run time.
  void addresses(std::size_t c, bool folded) {
    if (folded || is_command_stream(context.model)) return;
    for (const Reference& r : references(all[c]))
      if (r.property.empty() && r.argument.empty() && operand_called(r.object) != nullptr)
        return context.problems.error(
            written(c).where,
            fmt::format("{}: the address of '{}' is no number in a program of language {}", what(), r.object,
                        context.model.program.language),
            fmt::format("say what divides it: \"{} % 64 == 0\", with a power of two", r.object));
  }
};

}  // namespace

void read_legal(const Node& node, Reading& r) {
  if (node.kind != Kind::list)
    return r.fail(node.where, "'legal' of " + r.what + " must be a list of conditions", "write [\"extent[i] <= 4\"]");
  for (const Node& item : node.items) {
    if (item.kind != Kind::scalar) {
      r.fail(item.where, "an entry of 'legal' of " + r.what + " must be a condition", "write \"extent[i] <= 4\"");
      continue;
    }
    Result<Condition> condition = parse_condition(item.scalar, text_where(item));
    if (condition) {
      r.instruction.legal.push_back(item.scalar);
    } else {
      r.problems().add(condition.diagnostics());
      r.broken = true;
    }
  }
}

void fold_conditions(Instruction& instruction, const Node& node, Context& context) {
  if (instruction.legal.empty()) return;
  Folding folding{instruction, node, context};
  folding.constants();
  if (!is_setter(instruction)) {
    for (std::size_t d = 0; d < instruction.ranges.size(); ++d) folding.narrow(d);
    folding.tied_extents();
  }
  for (std::size_t c = 0; c < folding.all.size(); ++c) {
    const Condition& condition = folding.all[c];
    folding.addresses(c, folding.aligns(condition));
    folding.strides(condition);
    if (!is_setter(instruction)) folding.needs(condition);
  }
  if (std::any_of(instruction.ranges.begin(), instruction.ranges.end(), [](const DimRange& r) { return r.sized; }))
    instruction.grows = false;  // at another size another part of the extents may be legal
}

}  // namespace isamap::loader
