// SPDX-License-Identifier: Apache-2.0
// The one-line form: `C[i,j] += A[i,k]*B[k,j]` with "i=64,j=64,k=64" and "A=bf16,B=bf16,C=f32".
//
// Extents are given and shapes follow: a tensor dimension is its largest index + 1.

#include <algorithm>
#include <charconv>
#include <map>

#include "frontends/lossy_sums.h"
#include "frontends/statements_internal.h"
#include "ir/parse.h"
#include "isamap/frontends.h"

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
    diagnostics.push_back(
        error_at(option("--dims"), setting.name + "=" + setting.value.substr(0, 64) + " does not fit 64 bits"));
  else if (problem != std::errc() || stop != end)
    diagnostics.push_back(
        error_at(option("--dims"), "'" + setting.name + "=" + setting.value.substr(0, 64) + "' needs an integer"));
  else if (value < 0)
    diagnostics.push_back(
        error_at(option("--dims"), "'" + setting.name + "' is " + setting.value + ": sizes must not be negative"));
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
};

void read_dims(const std::string& text, Formula& formula) {
  for (const Setting& setting : split(text, option("--dims"), formula.diagnostics))
    if (const auto size = size_of(setting, formula.diagnostics))
      (is_iterator_name(setting.name) ? formula.extents : formula.sizes)[setting.name] = *size;
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
    if (extent)
      found->shape[d] = std::max(found->shape[d], *extent);
    else
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

}  // namespace

Result<Kernel> kernel_from_formula(const std::string& compute, const std::string& dims, const std::string& dtypes,
                                   Diagnostics* warnings) {
  const SourceLocation where{"--compute", 1, 1};
  Formula formula;
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
  const Diagnostics problems = verify(kernel, places);
  if (has_errors(problems)) return with_source(problems);
  if (warnings) *warnings = with_source(lossy_sum_of(kernel, compute, where));
  return kernel;
}

}  // namespace isamap
