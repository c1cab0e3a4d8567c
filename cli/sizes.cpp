// SPDX-License-Identifier: Apache-2.0
#include "cli/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/models.h"
#include "ir/symbolic/facts.h"

namespace isamap::cli {
namespace {

constexpr std::size_t most_combinations = 4096;
constexpr double most_size_points = 1e9;  // of a size that the user did not ask for

struct SizeList {
  std::string name;
  std::vector<std::int64_t> values;
};

std::optional<std::int64_t> whole_number_of(const std::string& text, bool& too_large) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  too_large = problem == std::errc::result_out_of_range && stop == end;
  return !text.empty() && problem == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Nothing: an error was reported, and `code` is its exit code.
std::optional<std::vector<SizeList>> size_lists(const std::string& text, Exit& code) {
  std::vector<SizeList> lists;
  for (std::size_t start = 0; start <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string word = text.substr(start, comma - start);
    start = comma + 1;
    const std::size_t equals = word.find('=');
    bool too_large = false;
    const auto value = whole_number_of(equals == std::string::npos ? word : word.substr(equals + 1), too_large);
    if (too_large) {
      code = fail(Exit::wrong_input, fmt::format("--sizes {}: does not fit 64 bits", word), "sizes are below 2^63");
      return std::nullopt;
    }
    const bool named = equals != std::string::npos && equals > 0;
    if (word.empty()) {
      code =
          fail(Exit::usage, fmt::format("--sizes {}: two commas, or one at an end, have no number between them", text),
               "--sizes M=1,7,37");
      return std::nullopt;
    }
    if (!value || (!named && (equals == 0 || lists.empty()))) {
      code = fail(Exit::usage, fmt::format("--sizes {}: expected NAME=NUMBER or a further NUMBER", word),
                  "--sizes M=37; for run and evaluate also lists: --sizes M=1,7,37,N=8");
      return std::nullopt;
    }
    const std::string name = named ? word.substr(0, equals) : lists.back().name;
    if (named && std::any_of(lists.begin(), lists.end(), [&](const SizeList& l) { return l.name == name; })) {
      code = fail(Exit::usage, fmt::format("--sizes gives '{}' twice", name), "write a list: --sizes M=1,7,37");
      return std::nullopt;
    }
    if (named) lists.push_back({name, {}});
    lists.back().values.push_back(*value);
  }
  return lists;
}

/// min, what is likely, and max, with 0 and 1 where they are allowed.
std::vector<std::int64_t> common_values(const SymbolicSize& size) {
  std::vector<std::int64_t> values{size.min, 0, 1};
  values.insert(values.end(), size.likely.begin(), size.likely.end());
  if (size.max_stated) values.push_back(size.max);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::erase_if(values, [&](std::int64_t v) { return broken_fact({{size}, {}}, {{size.name, v}}).has_value(); });
  return values;
}

/// One size has this value, the others are likely, or as near to it as the facts between them allow; nothing: no sizes
/// have it.
std::optional<Bindings> likely_beside(const SymbolicKernel& kernel, const std::string& name, std::int64_t value) {
  Bindings sizes = kernel.at;
  sizes[name] = value;
  if (!broken_fact(kernel.facts, sizes)) return sizes;
  SizeFacts facts = kernel.facts;
  for (SymbolicSize& size : facts.sizes)
    if (size.name == name) size.min = size.max = value;
  return Facts(facts).example(sizes);
}

/// One size after the other takes its common values, the others are likely.
std::vector<Bindings> common_sizes(const SymbolicKernel& kernel) {
  std::vector<Bindings> list;
  const auto add = [&](const Bindings& sizes) {
    if (std::find(list.begin(), list.end(), sizes) != list.end()) return;
    const auto bound = isamap::bind(kernel, sizes);
    if (bound && point_count(*bound) <= most_size_points) list.push_back(sizes);
  };
  for (const SymbolicSize& size : kernel.facts.sizes)
    for (const std::int64_t value : common_values(size))
      if (const auto sizes = likely_beside(kernel, size.name, value)) add(*sizes);
  if (!kernel.facts.between.empty()) add(kernel.at);  // near likely ones that no sizes have together
  return list;
}

}  // namespace

std::string sizes_text(const Bindings& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

std::optional<std::vector<Bindings>> combinations_of_sizes(const Options& options, Exit& code) {
  const auto lists = size_lists(options.onnx.sizes, code);
  if (!lists) return std::nullopt;
  std::vector<Bindings> combinations{{}};
  for (const SizeList& list : *lists) {
    std::vector<Bindings> longer;
    for (const Bindings& sizes : combinations)
      for (const std::int64_t value : list.values) {
        longer.push_back(sizes);
        longer.back()[list.name] = value;
      }
    if (longer.size() > most_combinations) {
      code = fail(Exit::usage, fmt::format("--sizes has more than {} combinations", most_combinations));
      return std::nullopt;
    }
    combinations = std::move(longer);
  }
  code = Exit::ok;
  return combinations;
}

bool load_if_symbolic(const Options& options, std::optional<SymbolicKernel>& symbolic, Exit& code) {
  const auto sizes = combinations_of_sizes(options, code);
  if (!sizes) return false;
  if (sizes->size() > 1) {
    code = fail(Exit::usage, "--sizes has a list of sizes, which is for run and evaluate", "give one value each");
    return false;
  }
  auto kernel = load_symbolic_of(options, sizes->front(), code);
  if (!kernel) return false;
  if (kernel->has_symbols()) symbolic = std::move(*kernel);
  return true;
}

std::optional<std::vector<Bindings>> several_sizes(const Options& options, Exit& code) {
  code = Exit::ok;
  if (options.compute.empty() && options.kernel_file.empty()) return std::nullopt;  // reported when it is loaded
  auto sizes = combinations_of_sizes(options, code);
  if (!sizes) return std::nullopt;
  const auto kernel = load_symbolic_of(options, sizes->front(), code);
  if (!kernel) return std::nullopt;
  if (kernel->has_symbols()) {
    if (sizes->size() == 1 && sizes->front().empty()) return common_sizes(*kernel);
    fail(Exit::wrong_input, without_symbols(*kernel).diagnostics());
    code = Exit::wrong_input;
    return std::nullopt;
  }
  for (const Bindings& one : *sizes)
    if (!load_symbolic_of(options, one, code)) return std::nullopt;  // before anything runs
  return sizes->size() > 1 ? sizes : std::nullopt;
}

}  // namespace isamap::cli
