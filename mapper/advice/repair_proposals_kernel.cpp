// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "mapper/advice/repair_proposals.h"
#include "mapper/digits/alignment.h"
#include "mapper/match/exact_form.h"
#include "mapper/match/sign_shift.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

Computation& statement_of(Repair& trial) { return trial.kernel.statements[trial.statement.index()]; }

void add_ranges(const Repair& from, std::vector<Repair>& to) {
  for (const auto& [tensor, range] : why_not_exact(from.kernel, from.statement, from.instruction).ranges) {
    Repair trial = from;
    Tensor& changed = trial.kernel.tensors[tensor.index()];
    changed.range = {static_cast<double>(range.low), static_cast<double>(range.high)};
    trial.text =
        fmt::format("state range: [{}, {}] on {} if its values are in it", range.low, range.high, changed.name);
    to.push_back(std::move(trial));
  }
}

void add_sign_shifts(const Repair& from, std::vector<Repair>& to) {
  for (SignShift& shift : sign_shifts(from.kernel, from.statement)) {
    Repair trial = from;
    trial.kernel = std::move(shift.kernel);
    trial.statement = shift.product;
    trial.text = fmt::format("{} as {}: {}", types_of_reads(statement_of(from), from.kernel.tensors),
                             types_of_reads(statement_of(trial), trial.kernel.tensors), shift.description);
    to.push_back(std::move(trial));
  }
}

/// A product of three or more factors in two statements, of which the instruction may cover one.
void add_factorings(const Repair& from, std::vector<Repair>& to) {
  if (from.kernel.statements.size() != 1) return;
  for (const Factoring& factoring : factorings(from.kernel)) {
    for (const std::size_t step : {1, 0}) {  // both have one text: it is proposed once, for the statement that maps
      Repair trial = from;
      trial.kernel = factoring.kernel;
      trial.statement = make_id<StatementId>(step);
      trial.text = "split the product: " + factoring.description + " (`isamap extract` compares the ways)";
      to.push_back(std::move(trial));
    }
  }
}

/// Sums of integers are exact: they neither become sums of reals, nor do their values lose bits.
bool keeps_integers(DType from, DType to) {
  if (is_float(from) != is_float(to)) return false;
  return is_float(from) || bits(to) >= bits(from);
}

/// The instruction's body and types, on the statement's tensors.
void add_types_of_instruction(const Repair& from, std::vector<Repair>& to) {
  const Computation& semantics = from.instruction.statement();
  if (!match_bodies(statement_of(from), semantics).empty()) return;
  for (const BodyMatch& match : match_shapes(statement_of(from), semantics)) {
    Repair trial = from;
    Computation& statement = statement_of(trial);
    bool exact = true;
    std::map<std::uint32_t, std::string> changes;  // in the kernel's order of tensors
    for (std::size_t t = 0; t < match.operands.size(); ++t) {
      const TensorId id = access_of(statement, match.operands[t]).tensor;
      Tensor& tensor = trial.kernel.tensors[id.index()];
      const DType type = from.instruction.tensors[access_of(semantics, static_cast<int>(t)).tensor.index()].dtype;
      if (tensor.dtype == type) continue;
      exact = exact && keeps_integers(tensor.dtype, type);
      changes[id.value] = widens(tensor.dtype, type)
                              ? fmt::format("widen {} from {} to {}", tensor.name, name(tensor.dtype), name(type))
                              : fmt::format("make {} {} (it is {})", tensor.name, name(type), name(tensor.dtype));
      tensor.dtype = type;
      tensor.range.reset();
    }
    if (!exact) continue;
    std::vector<std::string> texts;
    for (auto& [id, text] : changes) texts.push_back(std::move(text));
    statement.body = semantics.body;
    renumber_reads(statement.body, match.operands);
    put_reads_in_order(statement);
    trial.text = changes.empty()
                     ? fmt::format("compute {} instead, with its rounding", print(statement, trial.kernel.tensors))
                     : fmt::format("{}", fmt::join(texts, ", "));
    to.push_back(std::move(trial));
  }
}

/// Shapes that contain every index of the statement.
void grow_shapes(Repair& trial) {
  const Computation& statement = statement_of(trial);
  const Ranges ranges = ranges_of(statement.domain);
  for (int t = 0; t < access_count(statement); ++t) {
    const Access& access = access_of(statement, t);
    Tensor& tensor = trial.kernel.tensors[access.tensor.index()];
    for (std::size_t i = 0; i < access.index.size(); ++i) {
      if (const auto values = bounds(access.index[i], ranges))
        tensor.shape[i] = std::max(tensor.shape[i], values->high + 1);
    }
  }
}

std::set<std::int64_t> unit_extents(const Repair& trial) {
  std::set<std::int64_t> extents;
  for (const Dim& dim : trial.instruction.statement().domain.dims)
    if (dim.extent > 1) extents.insert(dim.extent);
  return extents;
}

/// Can the dim be padded? Results beyond the old end of an output dim are ignored; along a reduction, constants in some
/// inputs with the dim must make a term the identity.
bool can_be_padded(const Computation& statement, const Dim& dim, const std::vector<Annihilator>& neutral) {
  if (dim.kind != DimKind::reduction) return true;
  return std::any_of(neutral.begin(), neutral.end(), [&](const Annihilator& kill) {
    return std::all_of(kill.begin(), kill.end(), [&](const auto& entry) {
      return uses(statement.reads[static_cast<std::size_t>(entry.first)], dim.name);
    });
  });
}

void add_padding(const Repair& from, std::vector<Repair>& to) {
  const std::vector<Dim>& dims = statement_of(from).domain.dims;
  const std::vector<Annihilator> neutral = annihilators(statement_of(from));
  for (const std::int64_t extent : unit_extents(from)) {
    Repair all = from;
    std::vector<std::string> changes;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d].extent < 1 || dims[d].extent > (std::int64_t{1} << 40) || dims[d].extent % extent == 0) continue;
      if (!can_be_padded(statement_of(from), dims[d], neutral)) continue;
      const std::int64_t padded = round_up(dims[d].extent, extent);
      Repair one = from;
      statement_of(one).domain.dims[d].extent = statement_of(all).domain.dims[d].extent = padded;
      grow_shapes(one);
      changes.push_back(fmt::format("{} from {} to {}", dims[d].name, dims[d].extent, padded));
      one.text = fmt::format("pad {}, a multiple of {}, with elements that change nothing", changes.back(), extent);
      to.push_back(std::move(one));
    }
    if (changes.size() < 2) continue;
    grow_shapes(all);
    all.last_resort = true;
    all.text =
        fmt::format("pad {}, multiples of {}, with elements that change nothing", fmt::join(changes, " and "), extent);
    to.push_back(std::move(all));
  }
}

std::string free_name(const IterationDomain& domain, std::string name) {
  while (domain.find(name) >= 0) name += "0";
  return name;
}

void add_splits(const Repair& from, std::vector<Repair>& to) {
  const IterationDomain& domain = statement_of(from).domain;
  for (std::size_t d = 0; d < domain.dims.size(); ++d) {
    for (const std::int64_t extent : unit_extents(from)) {
      const Dim dim = domain.dims[d];
      if (dim.extent <= extent || dim.extent % extent != 0) continue;
      Repair trial = from;
      Computation& statement = statement_of(trial);
      const std::string outer = free_name(domain, dim.name + "o"), inner = free_name(domain, dim.name + "i");
      statement.domain.dims[d] = {outer, dim.extent / extent, dim.kind};
      statement.domain.dims.insert(statement.domain.dims.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                                   Dim{inner, extent, dim.kind});
      const std::map<std::string, AffineExpr> by{{dim.name, AffineExpr::dim(outer) * extent + AffineExpr::dim(inner)}};
      for (AffineExpr& e : statement.write.index) e = substitute(e, by);
      for (Access& read : statement.reads)
        for (AffineExpr& e : read.index) e = substitute(e, by);
      for (AffineExpr& face : statement.domain.faces) face = substitute(face, by);
      trial.text = fmt::format("split {} by {}", dim.name, extent);
      to.push_back(std::move(trial));
    }
  }
}

/// One dim more, on the operands that a dim of the instruction has: several vectors at once, a batch.
void add_batches(const Repair& from, std::vector<Repair>& to) {
  for (const Alignment& alignment : alignments_of(from.kernel, from.statement, from.instruction, from.id, false)) {
    for (std::size_t m = 0; m < alignment.instruction_uses.size(); ++m) {
      const std::int64_t extent = instruction_extent(alignment, static_cast<int>(m));
      if (extent < 2 || alignment.instruction_uses[m] == 0) continue;
      Repair trial = from;
      Computation& statement = statement_of(trial);
      const std::string dim = free_name(statement.domain, "b");
      std::vector<std::string> names;
      for (int t = 0; t < alignment.operand_count(); ++t) {
        if ((alignment.instruction_uses[m] >> t & 1U) == 0) continue;
        const int number = alignment.operands[static_cast<std::size_t>(t)];
        Access& access = access_at(statement, number);
        access.index.push_back(AffineExpr::dim(dim));
        Tensor& tensor = trial.kernel.tensors[access.tensor.index()];
        if (tensor.shape.size() < access.index.size()) tensor.shape.push_back(extent);
        names.push_back(tensor.name);
      }
      const bool output = (alignment.instruction_uses[m] & 1U) != 0;
      trial.last_resort = true;
      statement.domain.dims.push_back({dim, extent, output ? DimKind::parallel : DimKind::reduction});
      trial.text = fmt::format("{} at once: a new dim on {}", extent, listed(names));
      if (!output) trial.text = fmt::format("a longer reduction: a new dim of {} on {}", extent, listed(names));
      to.push_back(std::move(trial));
    }
  }
}

}  // namespace

std::vector<Repair> kernel_value_changes(const Repair& from) {
  std::vector<Repair> trials;
  add_ranges(from, trials);
  add_sign_shifts(from, trials);
  add_types_of_instruction(from, trials);
  add_factorings(from, trials);
  return trials;
}

std::vector<Repair> kernel_dim_changes(const Repair& from) {
  std::vector<Repair> trials;
  add_padding(from, trials);
  add_splits(from, trials);
  add_batches(from, trials);
  return trials;
}

}  // namespace isamap
