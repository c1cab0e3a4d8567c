// SPDX-License-Identifier: Apache-2.0
// The one-line form: `C[i,j] += A[i,k]*B[k,j]` with "i=64,j=64,k=64" and "A=bf16,B=bf16,C=f32".
//
// Extents are given and shapes follow: a tensor dimension is its largest index + 1.

#include <algorithm>
#include <charconv>
#include <map>

#include "frontends/lossy_sums.h"
#include "frontends/size_facts.h"
#include "frontends/size_ranges.h"
#include "frontends/statements_internal.h"
#include "ir/symbolic/facts.h"
#include "ir/text/parse.h"
#include "isamap/frontends.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

struct Setting {
  std::string name, value;
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

SourceLocation option(const std::string& name) { return {name, 0, 0}; }

/// "i=64, j=3" to its parts; `where` is the parsed option.
std::vector<Setting> split(const std::string& text, const SourceLocation& where, Diagnostics& diagnostics) {
  std::vector<Setting> result;
  if (trimmed(text).empty()) return result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string item = trimmed(text.substr(start, comma - start));
    start = comma + 1;
    const std::size_t equals = item.find('=');
    Setting setting{trimmed(item.substr(0, equals)),
                    equals == std::string::npos ? "" : trimmed(item.substr(equals + 1))};
    const auto same = [&](const Setting& other) { return other.name == setting.name; };
    if (equals == std::string::npos || !is_identifier(setting.name))
      diagnostics.push_back(
          error_at(where, "'" + item.substr(0, 64) + "' is not of the form name=value", "separate entries with ','"));
    else if (std::any_of(result.begin(), result.end(), same))
      diagnostics.push_back(error_at(where, "'" + setting.name + "' is given twice"));
    else
      result.push_back(std::move(setting));
  }
  return result;
}

std::optional<std::int64_t> size_of(const Setting& setting, Diagnostics& diagnostics) {
  std::int64_t value = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto [stop, problem] = std::from_chars(setting.value.data(), end, value);
  if (problem == std::errc::result_out_of_range)
    diagnostics.push_back(error_at(option("--dims"),
                                   setting.name + "=" + setting.value.substr(0, 64) + " does not fit 64 bits",
                                   "sizes are below 2^63"));
  else if (problem != std::errc() || stop != end)
    diagnostics.push_back(
        error_at(option("--dims"), "'" + setting.name + "=" + setting.value.substr(0, 64) + "' needs an integer"));
  else if (value < 0)
    diagnostics.push_back(error_at(option("--dims"),
                                   "'" + setting.name + "' is " + setting.value + ": sizes must not be negative",
                                   "write " + setting.name + "=0 or more"));
  else
    return value;
  return std::nullopt;
}

/// Reads first: inputs precede the output, as in kernel files.
std::vector<ParsedAccess> all_accesses(const ParsedStatement& parsed) {
  std::vector<ParsedAccess> result = parsed.reads;
  result.push_back(parsed.write);
  return result;
}

/// Largest value + 1 of an index, where every iterator has a range. An empty range counts as one point unless it is the
/// whole index: I[p + r] with p empty still covers r.
std::optional<std::int64_t> extent_of(const AffineExpr& index, const std::map<std::string, std::int64_t>& extents) {
  if (const auto name = index.as_dim()) return extents.at(*name);
  Ranges ranges;
  for (const std::string& name : index.names()) ranges[name] = {0, std::max<std::int64_t>(extents.at(name) - 1, 0)};
  const auto interval = bounds(index, ranges);
  if (!interval || interval->high == INT64_MAX) return std::nullopt;
  return std::max<std::int64_t>(interval->high + 1, 0);
}

struct Formula {
  std::map<std::string, std::int64_t> extents, sizes;
  std::vector<Tensor> tensors;
  Diagnostics diagnostics;
  Bindings given;                ///< values of symbolic sizes
  SizeFacts declared;            ///< of all sizes with a range
  SymbolicKernel symbolic = {};  ///< its shapes are those of `tensors`
};

/// A size with a range: its number in the sample.
std::optional<std::int64_t> read_range(const Setting& setting, Formula& formula) {
  const auto size = size_range(setting.name, setting.value);
  const auto wrong = [&](std::string message, std::string hint) {
    formula.diagnostics.push_back(error_at(option("--dims"), std::move(message), std::move(hint)));
    return std::nullopt;
  };
  const std::string shown = setting.name + "=" + setting.value.substr(0, 64);
  if (!size)
    return wrong("'" + shown + "' is no range of sizes", "write " + setting.name + "=1..4096, " + setting.name +
                                                             "=16..4096/16@128 (a multiple of 16, likely "
                                                             "128) or " +
                                                             setting.name + "=?");
  if (round_up(size->min, size->multiple_of) > size->max) return wrong("no size is in '" + shown + "'", "");
  if (const auto why = contradiction_of(*size)) return wrong(*why, "");
  formula.declared.sizes.push_back(*size);
  if (const auto given = formula.given.find(size->name); given != formula.given.end()) return given->second;
  formula.symbolic.at[size->name] = sample_of(*size);
  return sample_of(*size);
}

void read_dims(const std::string& text, Formula& formula) {
  for (const Setting& setting : split(text, option("--dims"), formula.diagnostics)) {
    const auto size =
        is_size_range(setting.value) ? read_range(setting, formula) : size_of(setting, formula.diagnostics);
    if (size) (is_iterator_name(setting.name) ? formula.extents : formula.sizes)[setting.name] = *size;
  }
  const Diagnostics problems =
      separate_given(formula.declared, formula.given, option("--sizes"), formula.symbolic.facts);
  formula.diagnostics.insert(formula.diagnostics.end(), problems.begin(), problems.end());
}

/// The size of a name as an expression: itself where it is symbolic.
AffineExpr exact_size_of(const std::string& name, const Formula& formula) {
  if (formula.symbolic.at.contains(name)) return AffineExpr::dim(name);
  const auto extent = formula.extents.find(name);
  return AffineExpr(extent == formula.extents.end() ? formula.sizes.at(name) : extent->second);
}

/// The largest value of an index + 1, over sizes.
AffineExpr exact_extent_of(const AffineExpr& index, const Formula& formula, bool whole = true) {
  if (const auto name = index.as_dim(); whole && name && formula.extents.contains(*name))
    return exact_size_of(*name, formula);
  AffineExpr largest = index.constant();
  for (const AffineTerm& term : index.terms()) {
    if (const FloorDiv* div = division(term)) {
      if (term.coefficient > 0)
        largest += floordiv(exact_extent_of(*div->numerator, formula, false) - 1, div->divisor) * term.coefficient;
      continue;  // a smallest value is at least 0 for what the verifier accepts
    }
    const auto& name = std::get<std::string>(term.atom);
    if (!formula.extents.contains(name))
      largest += exact_size_of(name, formula) * term.coefficient;
    else if (term.coefficient > 0)
      largest += (exact_size_of(name, formula) - 1) * term.coefficient;
  }
  return largest + 1;
}

/// Enlarges the shape over sizes; where neither of two expressions is the larger one, a file must state it.
void add_exact(AffineExpr& shape, const AffineExpr& index, const SourceLocation& where, Formula& formula) {
  const AffineExpr extent = exact_extent_of(index, formula);
  if (formula.symbolic.facts.sizes.empty() || extent == shape) return;
  for (const std::string& name : index.names())
    if (const SymbolicSize* size = formula.symbolic.facts.find(name); size && size->min == 0 && !index.as_dim()) {
      formula.diagnostics.push_back(error_at(
          where, "index " + print(index) + " has no largest value where " + name + " is 0",
          "state " + name + "=1.." + std::to_string(size->max_stated ? std::max<std::int64_t>(size->max, 1) : 4096) +
              ", or write a kernel file, which states shapes"));
      return;
    }
  const Facts facts(formula.symbolic.facts);
  if (facts.nonnegative(extent - shape)) {
    shape = extent;
  } else if (!facts.nonnegative(shape - extent)) {
    formula.diagnostics.push_back(error_at(
        where, "the shape is the larger of " + print(shape) + " and " + print(extent) + ", which depends on the sizes",
        "write a kernel file, which states shapes"));
  }
}

void check_iterators(const ParsedStatement& parsed, Formula& formula) {
  const std::set<std::string> names = names_in(parsed);
  for (const std::string& name : names)
    if (!formula.extents.contains(name) && !formula.sizes.contains(name))
      formula.diagnostics.push_back(
          error_at(option("--dims"), "iterator '" + name + "' has no extent", "add " + name + "=64, say"));
  for (const auto* map : {&formula.extents, &formula.sizes})
    for (const auto& [name, extent] : *map)
      if (!names.contains(name))
        formula.diagnostics.push_back(error_at(option("--dims"), "'" + name + "' does not occur in the formula"));
}

/// Adds the tensor of an access, or enlarges the shape from an earlier access.
void add_access(const ParsedAccess& access, Formula& formula) {
  auto found = std::find_if(formula.tensors.begin(), formula.tensors.end(),
                            [&](const Tensor& t) { return t.name == access.tensor; });
  if (found == formula.tensors.end()) {
    formula.tensors.push_back({});
    found = formula.tensors.end() - 1;
    found->name = access.tensor;
    found->shape.assign(access.index.size(), 0);
    formula.symbolic.shapes.emplace_back(access.index.size());
    formula.symbolic.strides.emplace_back();
  }
  if (found->shape.size() != access.index.size()) {
    formula.diagnostics.push_back(error_at({"--compute", 1, 1 + access.offset},
                                           "tensor '" + access.tensor + "' has " + std::to_string(found->shape.size()) +
                                               " indices in one place and " + std::to_string(access.index.size()) +
                                               " in another"));
    return;
  }
  if (access.computed) {
    formula.diagnostics.push_back(error_at({"--compute", 1, 1 + access.offset},
                                           "the size of '" + access.tensor +
                                               "', which is read at a computed place, follows "
                                               "from no iterator",
                                           "write a kernel file, which states shapes"));
    return;
  }
  std::map<std::string, AffineExpr> numbers;
  for (const auto& [name, size] : formula.sizes) numbers[name] = AffineExpr(size);
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    const auto extent = extent_of(substitute(access.index[d], numbers), formula.extents);
    if (extent) {
      found->shape[d] = std::max(found->shape[d], *extent);
      add_exact(formula.symbolic.shapes[static_cast<std::size_t>(found - formula.tensors.begin())][d], access.index[d],
                {"--compute", 1, 1 + access.index_offsets[d]}, formula);
    } else
      formula.diagnostics.push_back(
          error_at({"--compute", 1, 1 + access.index_offsets[d]},
                   "index " + print(access.index[d]) + " of '" + access.tensor + "' overflows 64 bits"));
  }
}

void read_dtypes(const std::string& text, Formula& formula) {
  std::vector<std::string> names;
  for (const Tensor& tensor : formula.tensors) names.push_back(tensor.name);
  for (const Setting& setting : split(text, option("--dtypes"), formula.diagnostics)) {
    const auto tensor = std::find(names.begin(), names.end(), setting.name);
    const auto type = parse_dtype(setting.value);
    if (tensor == names.end()) {
      const std::string guess = yaml::nearest(setting.name, names);
      formula.diagnostics.push_back(error_at(option("--dtypes"), "the formula has no tensor '" + setting.name + "'",
                                             guess.empty() ? "" : "did you mean '" + guess + "'?"));
    } else if (!type) {
      Diagnostic unknown = error_at(option("--dtypes"), "tensor '" + setting.name + "' has an unknown dtype '" +
                                                            setting.value.substr(0, 64) + "'");
      unknown.notes.push_back(known_dtypes_note());
      formula.diagnostics.push_back(std::move(unknown));
    } else {
      formula.tensors[static_cast<std::size_t>(tensor - names.begin())].dtype = *type;
    }
  }
}

/// A formula is one statement: a separate rounding needs a kernel file.
Diagnostics lossy_sum_of(const Kernel& kernel, const std::string& compute, const SourceLocation& where) {
  auto warning = lossy_sum(kernel, {0, compute, where});
  if (!warning) return {};
  if (!warning->hint.empty()) warning->hint = "write a kernel file: " + warning->hint;
  return {std::move(*warning)};
}

/// Completes formula.symbolic, and checks it for all sizes.
Diagnostics complete(const ParsedStatement& parsed, const Kernel& kernel, const KernelPlaces& places,
                     Formula& formula) {
  SymbolicKernel& symbolic = formula.symbolic;
  symbolic.sample = kernel;
  symbolic.places = places;
  for (const auto& [name, value] : formula.sizes) symbolic.sizes[name] = exact_size_of(name, formula);
  if (!symbolic.has_symbols()) return {};
  std::map<std::string, AffineExpr> extents;
  for (const auto& [name, value] : formula.extents) extents[name] = exact_size_of(name, formula);
  auto statement = lift(parsed, kernel.statements[0],
                        {kernel.tensors, symbolic.shapes, symbolic.sizes, extents, symbolic.facts}, kernel.where);
  if (!statement) return statement.diagnostics();
  symbolic.statements.push_back(std::move(*statement));
  limit_sizes(symbolic);
  return verify(symbolic);
}

}  // namespace

Result<Kernel> kernel_from_formula(const std::string& compute, const std::string& dims, const std::string& dtypes,
                                   Diagnostics* warnings) {
  return without_symbols(symbolic_kernel_from_formula(compute, dims, dtypes, {}, warnings));
}

Result<SymbolicKernel> symbolic_kernel_from_formula(const std::string& compute, const std::string& dims,
                                                    const std::string& dtypes, const Bindings& given,
                                                    Diagnostics* warnings) {
  const SourceLocation where{"--compute", 1, 1};
  Formula formula;
  formula.given = given;
  read_dims(dims, formula);
  const Result<ParsedStatement> parsed = parse_statement(compute, where);
  const auto with_source = [&](Diagnostics problems) {
    for (Diagnostic& problem : problems)
      if (problem.where.file == "--compute") yaml::Source(compute).attach(problem);
    return problems;
  };
  if (Diagnostics problems = parsed ? refused_in_kernels(*parsed, where) : parsed.diagnostics(); !problems.empty()) {
    formula.diagnostics.insert(formula.diagnostics.end(), problems.begin(), problems.end());
    return with_source(formula.diagnostics);
  }
  if (formula.diagnostics.empty()) check_iterators(*parsed, formula);
  if (!formula.diagnostics.empty()) return formula.diagnostics;
  for (const ParsedAccess& access : all_accesses(*parsed)) add_access(access, formula);
  read_dtypes(dtypes, formula);
  if (!formula.diagnostics.empty()) return with_source(formula.diagnostics);

  Kernel kernel;
  kernel.name = "formula";
  kernel.sizes = formula.sizes;
  kernel.tensors = std::move(formula.tensors);
  kernel.where = option("--compute");
  KernelPlaces places{{}, std::vector<StatementPlaces>(1)};
  for (const Tensor& tensor : kernel.tensors) {
    const auto accesses = all_accesses(*parsed);
    const auto first =
        std::find_if(accesses.begin(), accesses.end(), [&](const auto& a) { return a.tensor == tensor.name; });
    places.tensors.push_back({"--compute", 1, 1 + first->offset});
  }
  Result<Computation> statement =
      isamap::bind(*parsed, kernel.tensors, formula.extents, kernel.sizes, where, &places.statements[0]);
  if (!statement) return with_source(statement.diagnostics());
  statement->name = "s0";
  kernel.statements.push_back(std::move(*statement));
  Diagnostics problems = verify(kernel, places);
  if (!has_errors(problems)) problems = complete(*parsed, kernel, places, formula);
  if (has_errors(problems)) return with_source(problems);
  if (warnings) *warnings = with_source(lossy_sum_of(kernel, compute, where));
  return std::move(formula.symbolic);
}

}  // namespace isamap
