// SPDX-License-Identifier: Apache-2.0
// A `do` line with an instruction becomes a call: the value and valid extent of each of its dims here, and for each
// operand a check that it accepts its tile's layout.

#include <fmt/format.h>

#include <algorithm>

#include "ir/start.h"
#include "ir/text/access_name.h"
#include "mapper/match/body_match.h"
#include "scheduler/lowering/border_guards.h"
#include "scheduler/lowering/lower_nest_internal.h"
#include "scheduler/lowering/lower_tree.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/operand_rows.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {

namespace {

/// A tile of another statement (`from`) holds a value once along an instruction dim that was virtual there; this
/// statement may need it at each of its points along that dim. Empty: it does not.
std::string spread_refusal(const Pairing& pairing, const TileLayout& holder, const Tiles& tiles,
                           const std::string& buffer) {
  for (const Coordinate& c : holder.coordinates) {
    if (!c.pseudo() || c.extent != 1) continue;
    const std::string dim = c.form.as_dim()->substr(1);
    const int d = pairing.instruction->statement().domain.find(dim);
    const std::string along = d < 0 ? "" : pairing.fused_dim_of[static_cast<std::size_t>(d)];
    if (const std::int64_t points = along.empty() ? 1 : tiles.at(along).size; points > 1)
      return fmt::format("{} holds each value once along {}; {} reads it at {} points of {}", buffer, dim,
                         pairing.instruction->name, points, along);
  }
  return "";
}

bool is_product(const ScalarExpr& e) {
  if (std::holds_alternative<Cast>(e.op)) return is_product(e.args[0]);
  const auto* b = std::get_if<Binary>(&e.op);
  return b && b->op == BinaryOp::mul;
}

/// Is dim m part of a sum of dims, as in A[i + t]? Then the operand has no padding of its own past the end of t.
bool in_window(const Instruction& instruction, const Access& operand, std::size_t m) {
  const std::string& name = instruction.statement().domain.dims[m].name;
  return std::any_of(operand.index.begin(), operand.index.end(),
                     [&](const AffineExpr& e) { return e.names().size() > 1 && e.names().contains(name); });
}

/// Is the body 0 wherever the inputs that move along instruction dim m are? Tiles of the others have no padding there:
/// of (a - z) * b, with z the same along m, only b can make it 0. Nor has a window.
bool zeros_add_nothing(const Computation& statement, const Pairing& pairing, std::size_t m) {
  const std::string& dim = pairing.fused_dim_of[m];
  const std::vector<Annihilator> all = annihilators(statement);
  return is_product(statement.body) && std::any_of(all.begin(), all.end(), [&](const Annihilator& zeros) {
           return std::all_of(zeros.begin(), zeros.end(), [&](const std::pair<int, double>& zero) {
             const int access = zero.first + 1;
             const int operand = pairing.operand_access[static_cast<std::size_t>(access)];
             return zero.second == 0 && (dim.empty() || uses(access_of(statement, access), dim)) &&
                    (operand < 0 ||
                     !in_window(*pairing.instruction, access_of(pairing.instruction->statement(), operand), m));
           });
         });
}

class CallLowering : NestParts {
 public:
  explicit CallLowering(const NestParts& parts) : NestParts(parts) {}

  Result<Nodes> call(const Scope& scope) {
    const auto known = known_here(scope);
    if (!known) return known.diagnostics();
    auto extents = extents_here(scope);
    if (!extents) return extents.diagnostics();
    Ranges ranges = lowering_.ranges;
    for (const auto& [name, range] : dim_ranges(*instruction_, *extents)) ranges[name] = range;
    const auto around = operand_bounds(scope);
    if (!around) return around.diagnostics();
    return under_conditions(lowering_, *around, [&] { return call_inside(scope, *known, *extents, ranges); });
  }

 private:
  Result<Nodes> call_inside(const Scope& scope, const Known& known, std::vector<std::int64_t>& extents,
                            const Ranges& ranges) {
    std::vector<Ref> refs(static_cast<std::size_t>(access_count(instruction_->statement())));
    for (int a = 0; a < access_count(statement_); ++a) {
      const int operand = input_.pairing.operand_access[static_cast<std::size_t>(a)];
      if (operand < 0 || (input_.only_access >= 0 && input_.only_access != a)) continue;
      const TileLayout& holder = scope.holders[static_cast<std::size_t>(a)];
      const auto index = index_at(holder, known, ranges);
      std::string no = index ? refusal({*instruction_, operand, extents}, lowering_.buffer(holder.buffer), holder,
                                       *index, lowering_.known())
                             : "its layout cannot be expressed in the dims of the statement";
      if (no.empty()) no = spread_refusal(input_.pairing, holder, scope.tiles, lowering_.buffer(holder.buffer).name);
      if (no.empty()) no = zero_refusal(scope, a, extents);
      if (!no.empty()) return operand_refused(a, operand, lowering_.buffer(holder.buffer), no);
      refs[static_cast<std::size_t>(operand)] = {holder.buffer, *index};
    }
    if (input_.pairing.constant_operand >= 0) {
      const Operand& held =
          instruction_->operands[operand_of_access(*instruction_, input_.pairing.constant_operand).index()];
      refs[static_cast<std::size_t>(input_.pairing.constant_operand)] = constant_ref(held, input_.pairing.constant);
    }
    if (input_.only_access >= 0) return Nodes{Node{Comment{"trial"}}};
    if (const Diagnostics problems = read_again(refs); has_errors(problems)) return problems;
    if (!input_.pairing.tree.empty()) return lower_tree(lowering_, statement_.name, input_.pairing.tree, refs, extents);
    const InstructionId id = *lowering_.model.find_instruction(instruction_->name);
    const Instruction& written = lowering_.model.instruction(id);
    if (written.ranges.size() != instruction_->ranges.size()) {
      refs = written_refs(*instruction_, written, refs);
      extents.resize(written.ranges.size());
    }
    auto made = make_call(lowering_, id, std::move(refs), extents);
    if (!made) return made.diagnostics();
    if (always_overwrites(written)) {
      if (Diagnostics lost = sums_lost(scope); has_errors(lost)) return lost;
      made->start = Start::zero;
      return Nodes{Node{std::move(*made)}};
    }
    return scope.flagged_since ? first_or_again(*made, scope) : Nodes{Node{std::move(*made)}};
  }

  /// x*x: a further operand reads the tile of the first operand of the same read.
  Diagnostics read_again(std::vector<Ref>& refs) const {
    const std::vector<int>& placed = input_.pairing.operand_access;
    for (std::size_t i = 1; i < refs.size(); ++i) {
      const int operand = static_cast<int>(i);
      if (operand == input_.pairing.constant_operand ||
          std::find(placed.begin(), placed.end(), operand) != placed.end())
        continue;
      const auto* line = std::get_if<Do>(&input_.nest->lines.back().is);
      const auto mapping = line != nullptr ? mapping_of(*line, kernel_, input_.id, lowering_.model)
                                           : Result<Mapping>(error("an operand has no read"));
      if (!mapping) return mapping.diagnostics();
      refs[i] = refs[static_cast<std::size_t>(placed[static_cast<std::size_t>(mapping->operands[i])])];
    }
    return {};
  }

  /// Conditions under which operands that are read in place, without a copy, are in bounds.
  Result<BoundsConditions> operand_bounds(const Scope& scope) {
    BoundsConditions all;
    for (int a = 1; a < access_count(statement_); ++a) {
      if (!skips(*input_.nest, kernel_.tensors[access_of(statement_, a).tensor.index()])) continue;
      if (scope.flagged_since)
        return error("outside skip: the first call on an accumulator may be skipped", "leave out `first flag`");
      if (!scope.holders[static_cast<std::size_t>(a)].whole_tensor) continue;
      auto one = bounds_conditions(*this, a, scope.tiles);
      if (!one) return one;
      all.never = all.never || one->never;
      all.conditions.insert(all.conditions.end(), one->conditions.begin(), one->conditions.end());
    }
    return all;
  }

  // Value of each dim at a `do`: its origin, plus the instruction dim mapped to it.
  Result<Known> known_here(const Scope& scope) const {
    Known known;
    for (const Dim& dim : statement_.domain.dims) {
      const Tile& tile = scope.tiles.at(dim.name);
      const auto digit = input_.pairing.digit_of.find(dim.name);
      AffineExpr value = tile.origin;
      std::int64_t most = 1;
      if (digit != input_.pairing.digit_of.end()) {
        value += AffineExpr::dim("$" + instruction_->statement().domain.dims[digit->second].name);
        most = full_extent(*instruction_, digit->second);
      }
      if (tile.size > most)
        return error(
            fmt::format("dim {} has {} points at the `do`; the instruction covers {}", dim.name, tile.size, most),
            fmt::format("add `for {} by {}` above it", dim.name, most));
      known.emplace_back(AffineExpr::dim(dim.name), value);
    }
    for (const Dim& dim : instruction_->statement().domain.dims)
      known.emplace_back(AffineExpr::dim("$" + dim.name), AffineExpr::dim("$" + dim.name));
    return known;
  }

  // Extents of one call. A fixed extent larger than the tile means padding: any values along a parallel dim; along a
  // reduction zeros in every input that has an end there, which have to leave the sum as it is.
  Result<std::vector<std::int64_t>> extents_here(const Scope& scope) {
    std::vector<std::int64_t> extents;
    for (std::size_t m = 0; m < instruction_->ranges.size(); ++m) {
      const std::string& dim = input_.pairing.fused_dim_of[m];
      const auto looped = scope.tiles.find(dim);
      if (!dim.empty() && looped == scope.tiles.end())
        return error(fmt::format("dim {} of {} is mapped to {}, which is no dim of the nest",
                                 instruction_->statement().domain.dims[m].name, instruction_->name, dim));
      const std::int64_t valid = dim.empty() ? 1 : looped->second.size;
      const Dim& own = instruction_->statement().domain.dims[m];
      const std::int64_t full = full_extent(*instruction_, m);
      if (allows(instruction_->ranges[m], valid)) {
        extents.push_back(valid);
        continue;
      }
      if (own.kind == DimKind::reduction) {
        if (!zeros_add_nothing(statement_, input_.pairing, m))
          return error(fmt::format("dim {} pads {} of {} points of {}, and zero padding changes the value of its body",
                                   own.name, full - valid, full, instruction_->name));
        if (is_float(statement_.body.type))  // integers are
          lowering_.assume(Assumption::Kind::finite_inputs, "inputs are finite: padding along " +
                                                                (dim.empty() ? own.name : dim) + " is multiplied by 0");
      }
      extents.push_back(full);
    }
    return extents;
  }

  // An addressed operand read past its valid part along a reduction must be 0 there.
  std::string zero_refusal(const Scope& scope, int access, const std::vector<std::int64_t>& extents) const {
    const TileLayout& holder = scope.holders[static_cast<std::size_t>(access)];
    if (holder.slots >= 0) return "";  // padded by its fill
    const Access& operand =
        access_of(instruction_->statement(), input_.pairing.operand_access[static_cast<std::size_t>(access)]);
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (!uses(operand, instruction_->statement().domain.dims[m].name)) continue;
      const std::string& dim = input_.pairing.fused_dim_of[m];
      const std::int64_t valid = dim.empty() ? 1 : scope.tiles.at(dim).size;
      if (extents[m] == valid || instruction_->statement().domain.dims[m].kind != DimKind::reduction) continue;
      if (in_window(*instruction_, operand, m) && zero_elsewhere(access, m)) continue;
      const AffineExpr form = AffineExpr::dim(dim.empty() ? "$" + instruction_->statement().domain.dims[m].name : dim);
      const auto c = std::find_if(holder.coordinates.begin(), holder.coordinates.end(),
                                  [&](const Coordinate& x) { return x.form == form; });
      const bool ends_here = c != holder.coordinates.end() && holder.zero_padded &&
                             (dim.empty() || simplify(scope.tiles.at(dim).origin + valid - c->start - c->extent,
                                                      lowering_.ranges) == AffineExpr(0));
      if (!ends_here)
        return fmt::format("{} is read {} points past its end along {}; those must be 0",
                           lowering_.buffer(holder.buffer).name, extents[m] - valid, print(form));
    }
    return "";
  }

  // Then another factor must have zero padding along m, which its own check ensures.
  bool zero_elsewhere(int access, std::size_t m) const {
    const std::string& name = instruction_->statement().domain.dims[m].name;
    for (int a = 1; a < access_count(statement_); ++a) {
      const int number = input_.pairing.operand_access[static_cast<std::size_t>(a)];
      if (a == access || number < 0) continue;
      const Access& other = access_of(instruction_->statement(), number);
      if (std::any_of(other.index.begin(), other.index.end(), [&](const AffineExpr& e) { return e.as_dim() == name; }))
        return true;
    }
    return false;
  }

  Diagnostics operand_refused(int access, int operand, const Buffer& holder, const std::string& why) const {
    const std::string name = access_name(kernel_.tensors, statement_, access);
    const TensorId t = operand_of_access(*instruction_, operand);
    const MemoryId memory = instruction_->operands[t.index()].memory;
    std::string hint;
    const auto rows = memory == holder.memory && access > 0 ? rows_of_operand(input_.pairing, access) : std::nullopt;
    if (rows) {
      for (const LayoutDigit& digit : rows->layout) hint += (hint.empty() ? "" : ", ") + print(digit.index);
      hint = fmt::format("stage {} in {} as [{}] xor {} from {} to {}", name, lowering_.model.memory(memory).name, hint,
                         rows->swizzle->bits, rows->swizzle->from, rows->swizzle->to);
    }
    if (hint.empty() && memory.valid())
      hint = fmt::format("stage {} in {}{}", name, lowering_.model.memory(memory).name,
                         memory == holder.memory && holder.role != BufferRole::argument
                             ? " in another layout, or let loops step by what the instruction covers"
                             : ", packed if needed");
    return {error(fmt::format("{} cannot be operand {} of {}: {}", name, instruction_->tensors[t.index()].name,
                              instruction_->name, why),
                  hint)};
  }

  // An instruction that overwrites its output at each call would lose partial sums of other calls or of memory.
  Diagnostics sums_lost(const Scope& scope) const {
    const std::string& output = kernel_.tensors[statement_.write.tensor.index()].name;
    const std::string anew = fmt::format("{} overwrites {} at each call", instruction_->name, output);
    if ((input_.starts_from_memory && !scope.combined) || !input_.written.once)
      return {error(anew + ", and its initial value is part of the sum")};
    for (const Dim& dim : statement_.domain.dims) {
      const std::int64_t here = scope.tiles.at(dim.name).size;
      const std::int64_t whole = scope.combined ? scope.combined->at(dim.name).size : dim.extent;
      if (dim.kind == DimKind::reduction && here < whole)
        return {error(fmt::format("{}, and a call reduces {} of {} points of {}: the other partial sums would be lost",
                                  anew, here, whole, dim.name),
                      fmt::format("leave {} whole above the `do`", dim.name))};
    }
    return {};
  }

  // `first flag`: the first call on an accumulator overwrites, later ones accumulate.
  Result<Nodes> first_or_again(const Call& again, const Scope& scope) {
    Call first = again;
    first.start = Start::zero;
    Guard guard;
    for (const Dim& dim : statement_.domain.dims) {
      if (dim.kind != DimKind::reduction) continue;
      const AffineExpr moved =
          simplify(scope.tiles.at(dim.name).origin - scope.flagged_since->at(dim.name).origin, lowering_.ranges);
      const auto range = bounds(moved, lowering_.ranges);
      if (range && range->low > 0) return Nodes{Node{again}};
      if (!moved.is_constant()) guard.conditions.push_back(-moved);
    }
    if (guard.conditions.empty()) return Nodes{Node{first}};
    guard.then = {Node{first}};
    guard.otherwise = {Node{again}};
    return Nodes{Node{std::move(guard)}};
  }
};

}  // namespace

Result<Nodes> lower_call(const NestParts& parts, const Scope& scope) { return CallLowering(parts).call(scope); }

}  // namespace isamap
