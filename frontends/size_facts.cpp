// SPDX-License-Identifier: Apache-2.0
#include "frontends/size_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/statements_internal.h"
#include "ir/condition.h"
#include "ir/symbolic/facts.h"
#include "ir/text/cursor.h"
#include "isamap/frontends.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t index_limit = std::int64_t{1} << 31;  // elements of a tensor where `max` is not stated
constexpr std::int64_t common_size = 128;                    // of a sample where nothing is likely
constexpr std::int64_t largest_size = std::int64_t{1} << 40;

using Expressions = SizeExpressions;

/// An integer of a facts map. Nothing: absent, or reported.
std::optional<std::int64_t> fact_number(KernelFile& file, yaml::MapReader& reader, const std::string& key,
                                        std::int64_t least) {
  const yaml::Node* node = reader.child(key);
  if (!node) return std::nullopt;
  const auto value = node->kind == yaml::Kind::scalar ? yaml::to_integer(*node) : std::nullopt;
  if (value && *value >= least && *value <= largest_size) return value;
  file.report(node->where,
              fmt::format("'{}' of {} must be a number from {} to 2^40, found {}", key, reader.what(), least,
                          yaml::kind_text(*node)),
              key == "multiple_of" ? "write multiple_of: 16" : "sizes must not be negative");
  return std::nullopt;
}

void read_likely(KernelFile& file, const yaml::Node* node, SymbolicSize& size) {
  if (!node) return;
  const std::vector<yaml::Node> one{*node};
  for (const yaml::Node& item : node->kind == yaml::Kind::list ? node->items : one) {
    const auto value = item.kind == yaml::Kind::scalar ? yaml::to_integer(item) : std::nullopt;
    if (!value) {
      file.report(item.where, fmt::format("'likely' of size '{}' must be numbers", size.name),
                  "write likely: [1, 128]");
      continue;
    }
    SizeFacts alone{{size}, {}};
    alone.sizes[0].where = item.where;
    if (auto broken = broken_fact(alone, {{size.name, *value}})) {
      broken->message += ", but it is said to be likely";
      broken->hint = "likely values are some that the size takes";
      file.diagnostics.push_back(std::move(*broken));
      continue;
    }
    size.likely.push_back(*value);
  }
}

SymbolicSize read_one(KernelFile& file, const std::string& name, const yaml::Node& node) {
  yaml::MapReader reader(node, "size '" + name + "'", file.diagnostics);
  SymbolicSize size;
  size.name = name;
  size.where = node.where;
  size.min = fact_number(file, reader, "min", 0).value_or(0);
  const auto max = fact_number(file, reader, "max", 0);
  size.max_stated = max.has_value();
  size.max = max.value_or(index_limit - 1);
  size.multiple_of = fact_number(file, reader, "multiple_of", 1).value_or(1);
  if (size.min > size.max)
    file.report(node.where, fmt::format("size '{}' has min {} above max {}", name, size.min, size.max),
                "exchange them");
  else if (round_up(size.min, size.multiple_of) > size.max)
    file.report(node.where, fmt::format("no multiple of {} is in {}..{}", size.multiple_of, size.min, size.max),
                "change min, max or multiple_of");
  else
    read_likely(file, reader.child("likely"), size);
  reader.child("likely");
  reader.finish();
  return size;
}

/// All names of `dims`, with those that have a given value as symbols too.
Expressions names_of_facts(const KernelFile& file) {
  Expressions names = file.exact;
  for (const auto* numbers : {&file.kernel.sizes, &file.extents})
    for (const auto& [name, number] : *numbers) names.try_emplace(name, AffineExpr(number));
  for (const SymbolicSize& size : file.declared.sizes) names[size.name] = AffineExpr::dim(size.name);
  return names;
}

void read_fact(KernelFile& file, const yaml::Node& node) {
  if (node.kind != yaml::Kind::scalar)
    return file.report(node.where, "a fact must be text", "write facts: [\"S <= T\"]");
  const auto condition = parse_condition(node.scalar, text_place(node), R"("S <= T" or "T % 16 == 0", with sizes)");
  if (!condition) {
    file.diagnostics.insert(file.diagnostics.end(), condition.diagnostics().begin(), condition.diagnostics().end());
    return;
  }
  const Expressions names = names_of_facts(file);
  std::vector<std::string> known;
  for (const auto& [name, value] : names) known.push_back(name);
  for (const Reference& reference : references(*condition)) {
    if (names.contains(reference.object)) continue;
    if (file.broken_sizes.contains(reference.object)) return;
    return file.report(node.where, fmt::format("'{}' in a fact is not declared in dims", reference.object),
                       yaml::did_you_mean(reference.object, known));
  }
  auto facts = facts_of(*condition, node.scalar, names, node.where);
  if (!facts) return file.report(node.where, facts.diagnostics()[0].message, facts.diagnostics()[0].hint);
  for (SizeFact& fact : *facts) file.declared.between.push_back(std::move(fact));
}

/// Numbers of the sample for all sizes and extents that depend on symbolic ones.
void set_sample(KernelFile& file) {
  for (const auto& [name, exact] : file.exact) {
    const std::int64_t value = evaluate(exact, file.symbolic.at);
    if (is_iterator_name(name))
      file.extents[name] = value;
    else
      file.kernel.sizes[name] = value;
  }
}

}  // namespace

std::int64_t sample_of(const SymbolicSize& size) {
  if (!size.likely.empty()) return size.likely.front();
  const std::int64_t low = round_up(size.min, size.multiple_of);
  const std::int64_t high = floor_div(size.max, size.multiple_of) * size.multiple_of;
  return std::clamp(round_up(common_size, size.multiple_of), low, high);
}

std::optional<std::int64_t> read_size_facts(KernelFile& file, const std::string& name, const yaml::Node& node,
                                            AffineExpr& exact) {
  const std::size_t before = file.diagnostics.size();
  const SymbolicSize size = read_one(file, name, node);
  if (file.diagnostics.size() > before) return std::nullopt;
  file.declared.sizes.push_back(size);
  if (const auto given = file.given.find(name); given != file.given.end()) {
    exact = AffineExpr(given->second);
    return given->second;
  }
  exact = AffineExpr::dim(name);
  return sample_of(size);
}

Diagnostics separate_given(const SizeFacts& declared, const Bindings& given, const SourceLocation& where,
                           SizeFacts& facts) {
  Diagnostics problems;
  std::vector<std::string> known;
  for (const SymbolicSize& size : declared.sizes) known.push_back(size.name);
  for (const auto& [name, value] : given)
    if (!declared.find(name))
      problems.push_back(error_at(
          where, fmt::format("'{}' in --sizes is no symbolic size of this kernel", name),
          known.empty() ? "symbolic sizes have facts instead of a number: dims: {" + name + ": {min: 1, max: 4096}}"
                        : yaml::did_you_mean(name, known)));
  if (auto broken = broken_fact(declared, given)) {
    // About a value of the command line: one line, without that of the file, whose place is part of the name then.
    if (SourceLocation& at = broken->where; at.line > 0)
      at = {fmt::format("{}:{}:{}", at.file, at.line, at.column), 0, 0};
    problems.push_back(std::move(*broken));
  }
  Expressions numbers;
  for (const auto& [name, value] : given) numbers[name] = AffineExpr(value);
  for (const SymbolicSize& size : declared.sizes)
    if (!given.contains(size.name)) facts.sizes.push_back(size);
  for (const SizeFact& fact : declared.between) {
    SizeFact rest{fact.text, substitute(fact.nonnegative, numbers), fact.where};
    if (!rest.nonnegative.is_constant()) facts.between.push_back(std::move(rest));
  }
  return problems;
}

void read_facts(KernelFile& file, const yaml::Node* node) {
  if (node && node->kind != yaml::Kind::null) {
    if (node->kind != yaml::Kind::list) file.report(node->where, "'facts' must be a list", "write facts: [\"S <= T\"]");
    for (const yaml::Node& item : node->items) read_fact(file, item);
  }
  if (!file.diagnostics.empty()) return;
  file.diagnostics = separate_given(file.declared, file.given, {file.kernel.where.file, 0, 0}, file.symbolic.facts);
  if (!file.diagnostics.empty() || file.symbolic.facts.sizes.empty()) return;
  for (const SymbolicSize& size : file.symbolic.facts.sizes) file.symbolic.at[size.name] = sample_of(size);
  if (!file.symbolic.facts.between.empty()) {
    const auto sample = Facts(file.symbolic.facts).example(file.symbolic.at);
    if (!sample) {
      const SizeFact& first = file.symbolic.facts.between.front();
      return file.report(first.where, "no sizes satisfy " + print(file.symbolic.facts), "change or remove a fact");
    }
    for (auto& [name, value] : file.symbolic.at)
      if (const auto found = sample->find(name); found != sample->end()) value = found->second;
  }
  set_sample(file);
}

void set_exact(KernelFile& file, const std::string& name, const AffineExpr& exact) {
  if (exact.is_constant())
    file.exact.erase(name);
  else
    file.exact[name] = exact;
}

bool exact_size(KernelFile& file, const IntExpr& size, const yaml::Node& node, const std::string& what,
                std::int64_t value, AffineExpr& exact) {
  exact = AffineExpr(value);
  bool symbolic = false;
  for (const Reference& reference : references(size)) {
    const auto found = file.exact.find(reference.object);
    symbolic = symbolic || (found != file.exact.end() && !found->second.is_constant());
  }
  if (!symbolic) return true;
  Expressions names = file.exact;
  for (const auto* numbers : {&file.kernel.sizes, &file.extents})
    for (const auto& [name, number] : *numbers) names.try_emplace(name, AffineExpr(number));
  if (const auto affine = affine_of(size, names)) {
    exact = *affine;
    return true;
  }
  file.report(node.where, fmt::format("{}, {}, is no affine expression in symbolic sizes", what, node.scalar),
              "write sums of sizes times numbers, `/` and `%` by numbers; or bind a size: --sizes NAME=128");
  return false;
}

void lift_statement(KernelFile& file, const ParsedStatement& parsed, const Computation& bound,
                    const SourceLocation& where) {
  if (file.symbolic.facts.sizes.empty()) return;
  Expressions sizes, extents;
  for (const auto& [name, value] : file.kernel.sizes) sizes[name] = AffineExpr(value);
  for (const auto& [name, value] : file.extents) extents[name] = AffineExpr(value);
  for (const auto& [name, exact] : file.exact) (is_iterator_name(name) ? extents : sizes)[name] = exact;
  auto lifted =
      lift(parsed, bound, {file.kernel.tensors, file.symbolic.shapes, sizes, extents, file.symbolic.facts}, where);
  if (lifted) return file.symbolic.statements.push_back(std::move(*lifted));
  file.diagnostics.insert(file.diagnostics.end(), lifted.diagnostics().begin(), lifted.diagnostics().end());
}

void limit_sizes(SymbolicKernel& kernel) {
  std::vector<SymbolicSize*> open;
  for (SymbolicSize& size : kernel.facts.sizes)
    if (!size.max_stated) open.push_back(&size);
  if (open.empty()) return;
  const auto fits = [&](std::int64_t common) {
    for (SymbolicSize* size : open) size->max = common;
    const Ranges ranges = Facts(kernel.facts).ranges();
    for (const std::vector<AffineExpr>& shape : kernel.shapes) {
      std::int64_t count = 1;
      for (const AffineExpr& axis : shape) {
        const auto range = bounds(axis, ranges);
        const auto next = range ? checked_mul(count, std::max<std::int64_t>(range->high, 1)) : std::nullopt;
        if (!next || *next >= index_limit) return false;
        count = *next;
      }
    }
    return true;
  };
  std::int64_t low = 0, high = index_limit;
  for (const SymbolicSize* size : open) low = std::max(low, round_up(size->min, size->multiple_of));
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  for (SymbolicSize* size : open)
    size->max = std::max(floor_div(low, size->multiple_of) * size->multiple_of, size->min);
  for (SymbolicSize* size : open)
    for (const std::int64_t likely : size->likely) size->max = std::max(size->max, likely);
}

Diagnostics finish_symbolic(KernelFile& file) {
  SymbolicKernel& symbolic = file.symbolic;
  if (symbolic.has_symbols() && symbolic.statements.size() != file.kernel.statements.size()) return {};
  symbolic.sample = file.kernel;
  symbolic.places = file.places;
  for (const auto& [name, value] : file.kernel.sizes) {
    const auto exact = file.exact.find(name);
    symbolic.sizes[name] = exact == file.exact.end() ? AffineExpr(value) : exact->second;
  }
  if (!symbolic.has_symbols()) return {};
  limit_sizes(symbolic);
  return verify(symbolic);
}

namespace {

/// `remedy(name, value)` is how to give a size a value where the caller stands.
template <class Remedy>
Result<Kernel> numbers_only(Result<SymbolicKernel> read, const Remedy& remedy) {
  if (!read) return read.diagnostics();
  if (!read->has_symbols()) return std::move(read->sample);
  Diagnostics problems;
  for (const SymbolicSize& size : read->facts.sizes)
    problems.push_back(error_at(size.where,
                                fmt::format("size {} is symbolic ({}) and has no value here", size.name, print(size)),
                                remedy(size.name, read->at.at(size.name))));
  return problems;
}

}  // namespace

Result<Kernel> without_symbols(Result<SymbolicKernel> read) {
  return numbers_only(std::move(read), [](const std::string& size, std::int64_t value) {
    return fmt::format("bind it: --sizes {}={}", size, value);
  });
}

Result<Kernel> without_symbols_in_file(Result<SymbolicKernel> read) {
  return numbers_only(std::move(read), [](const std::string& size, std::int64_t value) {
    return fmt::format("write a number for it in the file: {}: {}", size, value);
  });
}

}  // namespace isamap
