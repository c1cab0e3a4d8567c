// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/horizontal_sum.h"

namespace isamap::conformance {
namespace {

namespace fs = std::filesystem;

const std::string models_folder = ISAMAP_SOURCE_DIR "/hardware_models";
const std::string examples_folder = ISAMAP_SOURCE_DIR "/examples";

using NamedSizes = std::vector<std::pair<std::string, std::int64_t>>;

std::vector<std::string> stems(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const std::string& example) {
  std::ifstream file(examples_folder + "/" + example + ".yaml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `dims: {N: 1, K: 64}`, which examples write on one line.
const std::regex dims_line(R"(dims:\s*\{([^}]*)\})");

NamedSizes sizes_of(const std::string& text) {
  NamedSizes sizes;
  std::smatch found;
  if (!std::regex_search(text, found, dims_line)) return sizes;
  const std::string inside = found[1];
  const std::regex entry(R"((\w+)\s*:\s*(\d+))");
  for (std::sregex_iterator e(inside.begin(), inside.end(), entry), end; e != end; ++e)
    sizes.emplace_back((*e)[1], std::stoll((*e)[2]));
  return sizes;
}

std::optional<Kernel> with_sizes(const std::string& example, const NamedSizes& sizes) {
  std::string list;
  for (const auto& [name, size] : sizes) list += (list.empty() ? "" : ", ") + name + ": " + std::to_string(size);
  const std::string text = std::regex_replace(text_of(example), dims_line, "dims: {" + list + "}");
  auto kernel = parse_kernel_yaml(text, example);
  if (!kernel) return std::nullopt;
  return std::move(*kernel);
}

std::optional<Variant> variant(const std::string& example, const std::string& label, const NamedSizes& sizes) {
  auto kernel = with_sizes(example, sizes);
  if (!kernel) return std::nullopt;
  return Variant{example + " " + label, std::move(*kernel)};
}

}  // namespace

std::vector<std::string> model_names() { return stems(models_folder); }
std::vector<std::string> example_names() { return stems(examples_folder); }

HardwareModel load_model(const std::string& name) {
  auto loaded = load_hardware(models_folder + "/" + name + ".yaml", {models_folder});
  if (!loaded) ADD_FAILURE() << render(loaded.diagnostics());
  return loaded ? std::move(loaded->model) : HardwareModel{};
}

namespace {

/// Those of a line `extends: [A.yaml, B.yaml]`; of another line none.
std::vector<std::string> files_extended_in(std::string line) {
  if (!line.starts_with("extends:")) return {};
  std::replace_if(
      line.begin(), line.end(), [](char c) { return std::strchr("[],", c) != nullptr; }, ' ');
  std::istringstream names(line.substr(line.find(' ')));
  return {std::istream_iterator<std::string>(names), {}};
}

/// The text of a model and of those that it extends. Twelve suites ask in each process of these tests, and many models
/// have the same bases: each file is read once.
const std::string& model_text(const std::string& name) {
  static std::map<std::string, std::string> texts;
  const auto [known, is_new] = texts.try_emplace(name);
  std::string& text = known->second;
  if (!is_new) return text;
  std::ifstream stream(models_folder + "/" + name);
  for (std::string line; std::getline(stream, line);) {
    text += "\n" + line;
    for (const std::string& base : files_extended_in(line)) text += model_text(base);
  }
  return text;
}

/// The models whose text contains all of `parts`. Loading every model to name the tests took two seconds in each of
/// their processes; `Matrix.NamesAreThoseOfLoadedModels` compares.
std::vector<std::string> names_by_text(const std::vector<std::string>& parts) {
  std::vector<std::string> names = model_names();
  std::erase_if(names, [&](const std::string& name) {
    const std::string& text = model_text(name + ".yaml");
    return std::any_of(parts.begin(), parts.end(),
                       [&](const std::string& part) { return text.find(part) == std::string::npos; });
  });
  return names;
}

}  // namespace

std::vector<std::string> extended_models(const std::string& name) {
  std::ifstream file(models_folder + "/" + name + ".yaml");
  std::vector<std::string> models;
  for (std::string line; std::getline(file, line);)
    for (const std::string& base : files_extended_in(line)) models.push_back(std::filesystem::path(base).stem());
  return models;
}

std::vector<std::string> kernel_model_names() { return names_by_text({"language: cuda"}); }
std::vector<std::string> accelerator_names() { return names_by_text({"language: asm", "scalar: true"}); }
std::vector<std::string> scaled_model_names() { return names_by_text({"\nsymbols:"}); }
std::vector<std::string> fixed_model_names() {
  std::vector<std::string> names = model_names();
  const std::vector<std::string> scaled = scaled_model_names();
  std::erase_if(names, [&](const std::string& name) { return std::count(scaled.begin(), scaled.end(), name) != 0; });
  return names;
}

Kernel gemm_s8(int M, int N, int K) {
  const auto kernel = parse_kernel_yaml(
      fmt::format("kernel: gemm\ndims: {{M: {}, N: {}, K: {}}}\n"
                  "tensors: {{A: {{shape: [M, K], dtype: s8}}, B: {{shape: [K, N], dtype: s8}}, C: {{shape: [M, N], "
                  "dtype: s32}}}}\n"
                  "compute: [\"C[i,j] += A[i,k] * B[k,j]\"]\n",
                  M, N, K),
      "gemm_s8");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

Kernel original(const std::string& example) {
  auto kernel = load_kernel(examples_folder + "/" + example + ".yaml");
  if (!kernel) ADD_FAILURE() << render(kernel.diagnostics());
  return kernel ? std::move(*kernel) : Kernel{};
}

std::optional<Variant> small(const std::string& example, std::int64_t limit) {
  NamedSizes sizes = sizes_of(text_of(example));
  for (std::int64_t cap = 64; cap >= 1; cap /= 2) {
    for (auto& [name, size] : sizes) size = std::min(size, cap);
    auto found = variant(example, "small", sizes);
    if (found && point_count(found->kernel) <= static_cast<double>(limit)) return found;
  }
  return std::nullopt;
}

std::optional<Variant> odd(const std::string& example) {
  const std::int64_t primes[] = {17, 5, 19, 7, 11, 3, 13};
  NamedSizes sizes = sizes_of(text_of(example));
  for (double limit = 40000;; limit *= 2) {
    NamedSizes tried = sizes;
    std::size_t next = 0;
    for (auto& [name, size] : tried)
      if (size > 3) size = primes[next++ % std::size(primes)];
    auto found = variant(example, "odd", tried);
    while (found && point_count(found->kernel) > limit) {
      auto largest = std::max_element(tried.begin(), tried.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
      if (largest->second <= 3) break;
      largest->second = largest->second > 7 ? largest->second - 6 : 3;
      found = variant(example, "odd", tried);
    }
    if (found || limit > 1e6) return found;
  }
}

std::vector<Variant> elongated(const std::string& example) {
  constexpr std::int64_t steps = 512;
  constexpr double most_points = 3e6;
  std::vector<Variant> found;
  const NamedSizes sizes = sizes_of(text_of(example));
  for (std::size_t longest = 0; longest < sizes.size(); ++longest) {
    if (sizes[longest].second <= 3) continue;
    for (std::int64_t others = 32; others >= 8; others /= 2) {
      NamedSizes tried = sizes;
      for (auto& [name, size] : tried)
        if (size > 3) size = others;
      tried[longest].second = steps;
      auto one = variant(example, tried[longest].first + "=" + std::to_string(steps), tried);
      if (!one || point_count(one->kernel) > most_points) continue;
      found.push_back(std::move(*one));
      break;
    }
  }
  return found;
}

std::optional<Variant> ones(const std::string& example) {
  NamedSizes sizes = sizes_of(text_of(example));
  for (auto& [name, size] : sizes) size = 1;
  return variant(example, "ones", sizes);
}

std::vector<Variant> zeros(const std::string& example) {
  std::vector<Variant> found;
  const NamedSizes sizes = sizes_of(text_of(example));
  for (std::size_t zero = 0; zero < sizes.size(); ++zero) {
    NamedSizes tried = sizes;
    for (auto& [name, size] : tried) size = std::min<std::int64_t>(size, 3);
    tried[zero].second = 0;
    if (auto one = variant(example, tried[zero].first + "=0", tried)) found.push_back(std::move(*one));
  }
  return found;
}

Compiled compile(const Kernel& kernel, const HardwareModel& model, bool in_order) {
  Compiled reached;
  auto mapped = enumerate_mappings(kernel, model, MapOptions{});
  if (!mapped) return reached.problem = render(mapped.diagnostics()), reached;
  reached.mapped = std::move(*mapped);
  if (in_order)
    std::erase_if(reached.mapped.mappings,
                  [&](const Mapping& m) { return differs_in_last_digits(instruction_of(m, model)); });
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.space.sums_in_order = in_order;
  options.strategy = "greedy";     // thousands of schedules: what is tested is that they run
  options.compare_scalar = false;  // and that instructions do, on kernels as small as these
  auto scheduled = schedule(kernel, reached.mapped, model, options);
  if (!scheduled) return reached.problem = render(scheduled.diagnostics()), reached;
  reached.scheduled = std::move(*scheduled);
  auto program = lower(reached.scheduled->schedule, kernel, model);
  if (!program) return reached.problem = "lowering: " + render(program.diagnostics()), reached;
  reached.program = std::move(*program);
  return reached;
}

Compiled compile_all_sizes(const Kernel& kernel, const HardwareModel& model) {
  Compiled reached = compile(kernel, model);
  if (!reached.program) return reached;
  for (const HardwareModel& version : model.versions()) {
    if (version.sizes() == model.sizes()) continue;
    Compiled other = compile(kernel, version);
    if (other.program)
      reached.program->versions.push_back(std::move(*other.program));
    else
      reached.problem += print(version.sizes()) + ": " + other.problem;
  }
  ScheduleOptions options;
  options.objective = Objective::cycles;
  const auto scalar = schedule(kernel, MapResult{}, model, options);
  auto program = scalar ? lower(scalar->schedule, kernel, model) : Result<Program>(scalar.diagnostics());
  if (!program) return reached.problem += render(program.diagnostics()), reached;
  program->sizes.clear();
  reached.program->versions.push_back(std::move(*program));
  return reached;
}

std::string interpreted_difference(const Program& program, const HardwareModel& model, Fill fill, std::uint64_t seed) {
  std::vector<TensorData> expected = random_data(program.kernel, fill, seed), found = expected;
  interpret(program.kernel, expected);
  const auto counts = interpret(program, model, found);
  if (!counts) return render(counts.diagnostics());
  const Comparison comparison = compare(program.kernel, expected, found);
  return comparison.equal ? "" : comparison.first_difference;
}

}  // namespace isamap::conformance
