// SPDX-License-Identifier: Apache-2.0
// Rows of a symbolic kernel: blocks of them are kernels with numbers.

#include <fmt/format.h>

#include <algorithm>

#include "ir/symbolic/facts.h"
#include "isamap/symbolic_program.h"

namespace isamap {
namespace {

class RowFinder {
 public:
  explicit RowFinder(const SymbolicKernel& kernel) : kernel_(kernel) {}

  Result<Rows> run() {
    if (!kernel_.sample.repeats.empty())
      return refuse("the steps of a recurrence need all rows of the step before", {});
    for (std::size_t t = 0; t < kernel_.shapes.size(); ++t)
      if (auto problem = check_tensor(t)) return std::move(*problem);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (auto problem = check_statement(s)) return std::move(*problem);
    return std::move(rows_);
  }

 private:
  Diagnostic refuse(const std::string& why, const AffineExpr& of) const { return not_for_all_sizes(kernel_, why, of); }

  const Tensor& tensor(std::size_t t) const { return kernel_.sample.tensors[t]; }

  /// Only the outermost axis is symbolic, so that strides are numbers.
  std::optional<Diagnostic> check_tensor(std::size_t t) const {
    for (std::size_t d = 1; d < kernel_.shapes[t].size(); ++d)
      if (!kernel_.shapes[t][d].is_constant())
        return refuse(fmt::format("dimension {} of '{}' is {}, and only the outermost one may be symbolic", d,
                                  tensor(t).name, print(kernel_.shapes[t][d])),
                      kernel_.shapes[t][d]);
    for (const AffineExpr& stride : kernel_.strides[t])
      if (!stride.is_constant())
        return refuse(fmt::format("a stride of '{}' is {}", tensor(t).name, print(stride)), stride);
    return std::nullopt;
  }

  bool has_rows(std::size_t t) const { return !kernel_.shapes[t].empty() && !kernel_.shapes[t][0].is_constant(); }

  std::optional<Diagnostic> check_statement(std::size_t s) {
    const Computation& statement = kernel_.sample.statements[s];
    const SymbolicStatement& symbolic = kernel_.statements[s];
    int row = -1;
    for (std::size_t d = 0; d < symbolic.extents.size(); ++d) {
      if (symbolic.extents[d].is_constant()) continue;
      if (row >= 0)
        return refuse(
            fmt::format("statement {} walks two symbolic dims, {} and {}", statement.name,
                        statement.domain.dims[static_cast<std::size_t>(row)].name, statement.domain.dims[d].name),
            symbolic.extents[d]);
      row = static_cast<int>(d);
    }
    if (row < 0) return refuse(fmt::format("statement {} has no symbolic dim", statement.name), {});
    const Dim& dim = statement.domain.dims[static_cast<std::size_t>(row)];
    const AffineExpr& extent = symbolic.extents[static_cast<std::size_t>(row)];
    if (dim.kind == DimKind::reduction)
      return refuse(fmt::format("{} of statement {} is summed over", dim.name, statement.name), extent);
    if (s > 0 && extent != rows_.count)
      return refuse(fmt::format("statements have {} and {} rows", print(rows_.count), print(extent)), extent);
    rows_.count = extent;
    rows_.dims.push_back(dim.name);
    for (const AffineExpr& value : symbolic.values) {
      if (value.names().contains(symbolic_dim(dim.name)))
        return refuse(fmt::format("statement {} uses the number of the row, value({})", statement.name, dim.name),
                      extent);
      // Blocks of rows are kernels with numbers: such a value would stay that of the sample.
      for (const SymbolicSize& size : kernel_.facts.sizes)
        if (value.names().contains(size.name))
          return refuse(fmt::format("statement {} computes with {}", statement.name, size.name), value);
    }
    if (!statement.domain.faces.empty()) return refuse("a domain is cut", extent);
    for (std::size_t a = 0; a < symbolic.index.size(); ++a)
      if (auto problem = check_access(s, a, symbolic_dim(dim.name))) return problem;
    return std::nullopt;
  }

  std::optional<Diagnostic> check_access(std::size_t s, std::size_t a, const std::string& row) {
    const Computation& statement = kernel_.sample.statements[s];
    const Access& access = access_of(statement, static_cast<int>(a));
    const std::size_t t = access.tensor.index();
    const std::vector<AffineExpr>& index = kernel_.statements[s].index[a];
    const AffineExpr extent = rows_.count;
    const auto against = [&](const std::string& why) {
      return refuse(
          fmt::format("statement {} {} '{}' {}", statement.name, a == 0 ? "writes" : "reads", tensor(t).name, why),
          extent);
    };
    for (std::size_t d = 0; d < index.size(); ++d)
      if ((d > 0 || !has_rows(t)) && index[d].names().contains(row))
        return against(fmt::format("by the row in dimension {}, which is no symbolic one", d));
    for (const AffineExpr& e : index)
      for (const std::string& name : e.names())
        if (!name.starts_with('$')) return against(fmt::format("at a subscript that depends on {}", name));
    if (!has_rows(t)) return std::nullopt;
    if (access.computed && access.computed->axis == 0) return against("at a computed row");
    const std::int64_t factor = index[0].coefficient(row);
    const AffineExpr rest = index[0] - factor * AffineExpr::dim(row);
    if (factor < 1 || rest.names().contains(row)) return against("at a row that is no multiple of its own");
    const bool is_input = role_of(kernel_.sample, access.tensor) == Role::input;
    if (!is_input && (factor != 1 || rest != AffineExpr(0))) return against("at another row than the one it computes");
    if (outside_of(access, kernel_.sample.tensors)) {
      if (rest != AffineExpr(0))
        return against("at neighbouring rows with `outside`, which lies beyond the first and the last row only");
      // A block has all of its rows in each tensor: none of the last ones may lie beyond the tensor.
      if (!Facts(kernel_.facts).nonnegative(kernel_.shapes[t][0] - 1 - factor * (extent - 1)))
        return against(fmt::format("beyond its {} rows", print(kernel_.shapes[t][0])));
    }
    const auto [known, is_new] = rows_.factor.emplace(access.tensor, factor);
    if (!is_new && known->second != factor) return against("with two distances of rows");
    return std::nullopt;
  }

  const SymbolicKernel& kernel_;
  Rows rows_;
};

}  // namespace

Result<Rows> rows_of(const SymbolicKernel& kernel) { return RowFinder(kernel).run(); }

Kernel with_rows(const SymbolicKernel& kernel, const Rows& rows, std::int64_t count) {
  Kernel block = kernel.sample;
  for (const auto& [name, value] : kernel.sizes)
    if (!value.is_constant()) block.sizes.erase(name);
  for (const auto& [id, factor] : rows.factor) block.tensors[id.index()].shape[0] = 0;
  for (std::size_t s = 0; s < block.statements.size(); ++s) {
    Computation& statement = block.statements[s];
    statement.domain.dims[static_cast<std::size_t>(statement.domain.find(rows.dims[s]))].extent = count;
    const Ranges ranges = ranges_of(statement.domain);
    for (int a = 0; a < access_count(statement); ++a) {
      const Access& access = access_of(statement, a);
      if (!rows.factor.contains(access.tensor)) continue;
      std::int64_t& extent = block.tensors[access.tensor.index()].shape[0];
      if (const auto range = bounds(access.index[0], ranges)) extent = std::max(extent, range->high + 1);
    }
  }
  return block;
}

const RowPart& main_part(const RowVersion& version) {
  const auto loops =
      std::find_if(version.parts.begin(), version.parts.end(), [](const RowPart& part) { return !part.loops.empty(); });
  return loops == version.parts.end() ? version.parts.front() : *loops;
}

std::size_t first_remainder(const std::vector<RowPart>& parts) {
  std::size_t first = parts.size();
  while (first > 0 && parts[first - 1].loops.empty() &&
         parts[first - 1].rows == static_cast<std::int64_t>(parts.size() - first) + 1)
    --first;
  // The first of them takes one block only where the part before it leaves no more.
  const bool is_alone = first < parts.size() && (first == 0 || parts[first - 1].rows != parts[first].rows + 1);
  return is_alone ? first + 1 : first;
}

bool takes_remainder(const RowVersion& version, std::size_t part) {
  const std::vector<RowPart>& parts = version.parts;
  if (version.remainder_first.empty() || parts[part].loops.empty()) return false;
  return part + 1 == first_remainder(parts) || parts[part + 1].loops.empty();
}

std::int64_t pieces_of(const RowVersion& version, std::int64_t rows) {
  const std::size_t tiles = first_remainder(version.parts);
  const std::int64_t tile = tiles == 0 ? rows : version.parts[tiles - 1].rows;
  return tile == 0 ? 0 : (rows + tile - 1) / tile;
}

std::vector<std::int64_t> parts_with_own_schedule(const RowVersion& version) {
  std::vector<std::int64_t> rows;
  const std::string& schedule = main_part(version).program.schedule_text;
  for (const RowPart& part : version.parts)
    if (part.program.schedule_text != schedule) rows.push_back(part.rows);
  return rows;
}

std::optional<std::int64_t> uncovered_rows(const RowVersion& version) {
  if (version.parts.empty()) return 1;
  for (std::int64_t rows = 0; rows < version.parts.front().rows; ++rows) {
    std::int64_t left = rows;
    for (const RowPart& part : version.parts) left %= part.rows;
    if (left != 0) return rows;
  }
  return std::nullopt;
}

std::optional<Bindings> uncovered_sizes(const SizeFacts& stated, const std::vector<std::vector<SizeFact>>& guards) {
  // Every guard fails: one condition of each does. All choices of these are asked.
  std::vector<std::vector<AffineExpr>> choices(1);
  for (const std::vector<SizeFact>& guard : guards) {
    std::vector<std::vector<AffineExpr>> more;
    for (const std::vector<AffineExpr>& chosen : choices)
      for (const SizeFact& condition : guard) {
        more.push_back(chosen);
        more.back().push_back(-condition.nonnegative - 1);
      }
    choices = std::move(more);
  }
  const Facts facts(stated);
  for (const std::vector<AffineExpr>& failed : choices) {
    const Answer none = facts.nonnegative(-1, failed);  // "yes": no sizes fail these
    if (!none) return none.counterexample;
  }
  return std::nullopt;
}

std::optional<Bindings> uncovered_sizes(const SymbolicProgram& program) {
  std::vector<std::vector<SizeFact>> guards;
  for (const RowVersion& version : program.versions) guards.push_back(version.when);
  return uncovered_sizes(program.kernel.facts, guards);
}

std::size_t version_at(const SymbolicProgram& program, const Bindings& sizes) {
  std::size_t v = 0;
  const auto serves = [&](const RowVersion& version) {
    return std::all_of(version.when.begin(), version.when.end(),
                       [&](const SizeFact& fact) { return evaluate(fact.nonnegative, sizes) >= 0; });
  };
  while (v + 1 < program.versions.size() && !serves(program.versions[v])) ++v;
  return v;
}

}  // namespace isamap
