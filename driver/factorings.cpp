// SPDX-License-Identifier: Apache-2.0
// Factorings of a product of three factors into two statements, compared by cost.
//
//   O[k,p,q] += I[c,p+r,q+s] * D[c,r,s] * W[k,c]     either   T = I*D (depthwise), O += T*W (matmul)
//                                                     or      V = D*W (weights),   O += I*V (full convolution)

#include <fmt/format.h>

#include <algorithm>

#include "driver/extract_layers.h"
#include "support/table.h"

namespace isamap {
namespace {

double multiplications(const Kernel& kernel) {
  double sum = 0;
  for (const Computation& statement : kernel.statements) {
    double points = 1;
    for (const Dim& dim : statement.domain.dims) points *= static_cast<double>(dim.extent);
    sum += points * static_cast<double>(std::max<std::size_t>(1, statement.reads.size()) - 1);
  }
  return sum;
}

/// On small integers nothing rounds, so all factorings must give equal results.
bool same_result(const Kernel& original, const Kernel& factored, std::uint64_t seed) {
  std::map<std::string, TensorData> by_name;
  Random random(seed);
  std::vector<TensorData> expected, found;
  for (const Tensor& tensor : original.tensors) {
    expected.push_back(random_data(tensor, Fill::integers, random));
    by_name.emplace(tensor.name, expected.back());
  }
  for (const Tensor& tensor : factored.tensors) {
    const auto shared = by_name.find(tensor.name);
    found.push_back(shared == by_name.end() ? make_data(tensor) : shared->second);
  }
  interpret(original, expected);
  interpret(factored, found);
  for (std::size_t t = 0; t < original.tensors.size(); ++t)
    for (std::size_t f = 0; f < factored.tensors.size(); ++f)
      if (factored.tensors[f].name == original.tensors[t].name && !(found[f] == expected[t])) return false;
  return true;
}

FactoringResult price(const Factoring& factoring, const Kernel& original, const HardwareModel& model,
                      const ExtractOptions& options) {
  FactoringResult result;
  result.description = factoring.description;
  result.multiplications = multiplications(factoring.kernel);
  result.mapped = true;
  ExtractOptions no_run = options;
  no_run.run = false;
  for (const Layer& layer : as_model(factoring.kernel).layers) {
    result.layers.push_back(compile_layer(layer.name, layer.op, *layer.kernel, model, no_run));
    const LayerResult& row = result.layers.back();
    result.cycles += row.cost.cycles;
    result.bytes += row.cost.bytes;
    result.mapped = result.mapped && row.mapped && row.code == Exit::ok;
  }
  if (!options.run || !too_large_to_run(factoring.kernel).empty() || !too_large_to_run(original).empty()) return result;
  CompileOptions with = options.compile;
  with.all_sizes = true;
  const Compilation compiled = compile(factoring.kernel, model, with);
  if (!compiled.program) return result;
  if (auto checked = run_and_compare(*compiled.program, model, options.seed, 0.05, {false, options.tell}))
    result.checked = *checked;
  result.equals_original = same_result(original, factoring.kernel, options.seed);
  return result;
}

std::string against(const std::string& what, double less, double more) {
  const std::string ratio = less > 0 ? fmt::format(" ({:.3g}x)", more / less) : "";
  return fmt::format("{} against {} {}{}", short_number(more), short_number(less), what, ratio);
}

std::string verdict_of(const std::vector<FactoringResult>& found) {
  if (found.empty()) return "";
  if (found.size() == 1) return fmt::format("'{}' is the only way to split the product", found[0].description);
  const FactoringResult& best = found[0];
  if (!best.mapped) return "no factoring maps completely";
  std::string text = fmt::format("'{}' is cheapest", best.description);
  for (std::size_t f = 1; f < found.size(); ++f) {
    const FactoringResult& other = found[f];
    text += fmt::format("; '{}' ", other.description);
    if (!other.mapped) {
      text += "does not map completely";
      continue;
    }
    text += "takes " + against("cycles", best.cycles, other.cycles) + ": " +
            against("multiplications", best.multiplications, other.multiplications) + ", " +
            against("bytes moved", best.bytes, other.bytes);
  }
  return text;
}

}  // namespace

void compare_factorings(const Kernel& kernel, const HardwareModel& model, const ExtractOptions& options,
                        Extraction& into) {
  for (const Factoring& factoring : factorings(kernel))
    into.factorings.push_back(price(factoring, kernel, model, options));
  std::stable_sort(into.factorings.begin(), into.factorings.end(),
                   [](const auto& a, const auto& b) { return a.mapped != b.mapped ? a.mapped : a.cycles < b.cycles; });
  into.verdict = verdict_of(into.factorings);
  for (const FactoringResult& factoring : into.factorings) {
    if (factoring.mapped && into.code == Exit::no_answer) into.code = Exit::ok;
    const bool wrong = (factoring.checked && exit_of(*factoring.checked) == Exit::wrong_result) ||
                       (factoring.equals_original && !*factoring.equals_original);
    if (wrong) into.code = Exit::wrong_result;
  }
}

}  // namespace isamap
