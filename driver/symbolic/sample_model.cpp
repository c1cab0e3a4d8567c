// SPDX-License-Identifier: Apache-2.0
// At which sizes a model is imported, and what its constants are at all of them.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "driver/symbolic/product_axes.h"
#include "driver/symbolic/symbolic_model.h"
#include "driver/symbolic/values_of_sizes.h"
#include "frontends/lifted_sizes.h"
#include "frontends/size_facts.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

// Steps from the likely size: far ones show the slope, neighbours what strided windows round.
const std::vector<std::int64_t> few_sample_steps = {1, 3, 64}, all_sample_steps = {1, 2, 3, 4, 5, 8, 33, 64};
constexpr std::int64_t smallest_sample = 2;  ///< axes of one element are left out by the importer
constexpr int most_rounds = 12;              ///< of samples that decide between expressions

/// Sizes at which one symbol is sampled, the likely one first.
std::vector<std::int64_t> samples_of(const SymbolicSize& size, const std::vector<std::int64_t>& steps_of) {
  const std::int64_t step = size.multiple_of;
  const std::int64_t low = round_up(std::max(size.min, smallest_sample), step);
  const std::int64_t high = std::max(floor_div(size.max, step) * step, low);
  std::int64_t base = sample_of(size);
  for (const std::int64_t likely : size.likely)
    if (base < low) base = likely;
  base = std::clamp(base, low, high);
  std::vector<std::int64_t> values{base};
  for (const std::int64_t steps : steps_of)
    for (const std::int64_t value : {base + steps * step, base - steps * step})
      if (value >= low && value <= high) values.push_back(value);
  if (values.size() == 1 && size.min < size.max) values.push_back(base + step);  // of 0..2: beyond, or it were a number
  return values;
}

std::string shown(const Bindings& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// The sample with the largest sizes.
std::size_t largest_of(const std::vector<Bindings>& sizes) {
  std::size_t most = 0;
  for (std::size_t n = 1; n < sizes.size(); ++n)
    if (std::all_of(sizes[n].begin(), sizes[n].end(),
                    [&](const auto& s) { return s.second >= sizes[most].at(s.first); }))
      most = n;
  return most;
}

Result<std::vector<TensorData>> constants_of(const Model& model) {
  std::vector<TensorData> data(model.kernel.tensors.size());
  for (const Weight& weight : model.weights) {
    auto values = values_of(weight, model.kernel.tensors[weight.tensor.index()]);
    if (!values) return values.diagnostics();
    data[weight.tensor.index()] = std::move(*values);
  }
  return data;
}

/// Is `small` what `large` holds at the same subscripts?
bool begins_with(const TensorData& large, const TensorData& small) {
  if (large.dtype != small.dtype || large.shape.size() != small.shape.size()) return false;
  for (std::size_t d = 0; d < large.shape.size(); ++d)
    if (small.shape[d] > large.shape[d]) return false;
  if (large.shape == small.shape) return large.bytes == small.bytes;
  const std::int64_t width = bytes(large.dtype), count = small.count();
  const std::int64_t row = small.shape.empty() ? 1 : std::max<std::int64_t>(small.shape.back(), 1);
  for (std::int64_t first = 0; first < count; first += row) {
    std::int64_t at = 0, rest = first / row, factor = large.shape.back();
    for (std::size_t d = small.shape.size() - 1; d-- > 0;) {
      at += rest % small.shape[d] * factor;
      rest /= small.shape[d];
      factor *= large.shape[d];
    }
    if (std::memcmp(small.bytes.data() + first * width, large.bytes.data() + at * width,
                    static_cast<std::size_t>(row * width)) != 0)
      return false;
  }
  return true;
}

/// Constants of which reads beyond their shape, or at computed places along an axis that grows, would see the extent.
bool extent_matters(const Kernel& kernel, std::size_t tensor, const std::set<std::size_t>& grown) {
  if (kernel.tensors[tensor].outside) return true;
  for (const Computation& statement : kernel.statements)
    for (const Access& read : statement.reads)
      if (read.tensor.index() == tensor &&
          (read.outside || (read.computed && grown.contains(static_cast<std::size_t>(read.computed->axis)))))
        return true;
  return false;
}

/// ": node 'n' (Op)" of the first statement that only one of them has.
std::string first_difference(const Model& a, const Model& b) {
  const auto &x = a.kernel.statements, &y = b.kernel.statements;
  for (std::size_t s = 0; s < std::max(x.size(), y.size()); ++s) {
    if (s < x.size() && s < y.size() && x[s].name == y[s].name) continue;
    const Model& one = s < x.size() ? a : b;
    const std::vector<std::string>& nodes = one.origins[s].nodes;
    return ": " + (nodes.empty() ? one.kernel.statements[s].name : nodes.front());
  }
  return "";
}

std::optional<Diagnostic> different(const Model& a, const Model& b, const Bindings& at_a, const Bindings& at_b) {
  const bool alike =
      a.kernel.statements.size() == b.kernel.statements.size() && a.kernel.tensors.size() == b.kernel.tensors.size() &&
      std::equal(a.kernel.tensors.begin(), a.kernel.tensors.end(), b.kernel.tensors.begin(),
                 [](const Tensor& x, const Tensor& y) {
                   return x.name == y.name && x.shape.size() == y.shape.size() && x.constant == y.constant;
                 });
  if (alike) return std::nullopt;
  return error(fmt::format("the model has other statements at {} than at {}{}", shown(at_a), shown(at_b),
                           first_difference(a, b)),
               "bind a size with --sizes, or leave sizes that are like the former out of the range in --dims");
}

}  // namespace

std::vector<Bindings> sample_sizes(const SizeFacts& facts, bool all) {
  const std::vector<std::int64_t>& steps = all ? all_sample_steps : few_sample_steps;
  Bindings base, together, largest;
  for (const SymbolicSize& size : facts.sizes) {
    const auto values = samples_of(size, steps);
    base[size.name] = values.front();
    together[size.name] = values.back();
    largest[size.name] = size.max_stated ? floor_div(size.max, size.multiple_of) * size.multiple_of
                                         : *std::max_element(values.begin(), values.end());
  }
  std::vector<Bindings> list{base};
  for (const SymbolicSize& size : facts.sizes)
    for (const std::int64_t value : samples_of(size, steps)) {
      list.push_back(base);
      list.back()[size.name] = value;
    }
  list.push_back(together);
  list.push_back(largest);
  std::vector<Bindings> distinct;
  for (const Bindings& one : list)
    if (std::find(distinct.begin(), distinct.end(), one) == distinct.end()) distinct.push_back(one);
  return distinct;
}

namespace {

/// Is every extent a sum of sizes times numbers? Then few samples suffice.
bool is_affine(const SampledModel& sampled) {
  SizeFit fit(sampled.sizes);
  for (std::size_t t = 0; t < sampled.models[0].kernel.tensors.size(); ++t)
    for (std::size_t d = 0; d < sampled.models[0].kernel.tensors[t].shape.size(); ++d) {
      std::vector<std::int64_t> values;
      for (const Model& model : sampled.models) values.push_back(model.kernel.tensors[t].shape[d]);
      const auto e = fit.fit(values);
      if (!e) return false;
      for (const AffineTerm& term : e->terms())
        if (division(term)) return false;
    }
  return true;
}

/// The least sizes and some in the middle: what is fitted near the likely ones need not hold there.
std::vector<Bindings> sizes_far_from(const SampledModel& sampled) {
  Bindings least, middle;
  for (const SymbolicSize& size : sampled.facts.sizes) {
    const std::int64_t low = round_up(std::max(size.min, smallest_sample), size.multiple_of);
    const std::int64_t high = sampled.sizes[largest_of(sampled.sizes)].at(size.name);
    least[size.name] = low;
    middle[size.name] = low + (high - low) / 2 / size.multiple_of * size.multiple_of;
  }
  return {least, middle};
}

/// Rounding that the samples do not show, such as rows padded up to a multiple of 8. Sizes for which the model cannot
/// be imported, or is made of other statements, are left to whoever runs them.
std::optional<Diagnostic> other_shapes_at(const Bindings& sizes, const SampledModel& sampled,
                                          const ModelImporter& import) {
  if (broken_fact(sampled.facts, sizes)) return std::nullopt;
  const auto model = import(sizes, sampled.of_sizes);
  if (!model) return std::nullopt;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const Tensor& tensor : model->kernel.tensors)
    if (!tensor.constant) shapes[tensor.name] = tensor.shape;
  SizeFit fit(sampled.sizes);
  const std::vector<Tensor>& tensors = sampled.models[0].kernel.tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto found = shapes.find(tensors[t].name);
    if (tensors[t].constant || found == shapes.end() || found->second.size() != tensors[t].shape.size()) continue;
    for (std::size_t d = 0; d < tensors[t].shape.size(); ++d) {
      std::vector<std::int64_t> extents;
      for (const Model& one : sampled.models) extents.push_back(one.kernel.tensors[t].shape[d]);
      const auto e = fit.fit(extents);
      if (e && evaluate(*e, sizes) != found->second[d])
        return error(fmt::format("dimension {} of '{}' is {} at {}, where other sizes say {}", d, tensors[t].name,
                                 found->second[d], shown(sizes), print(*e)),
                     "bind a size with --sizes, or leave that one out of the range in --dims");
    }
  }
  return std::nullopt;
}

/// What a sample knows, by name.
struct KnownValues {
  std::map<std::string, std::shared_ptr<const TensorData>> values, constants;
};

/// Some samples do not have the name: a statement that has no elements there.
template <class Known>
bool is_one_table(const TensorData& largest, const std::string& name, const std::vector<KnownValues>& samples,
                  Known KnownValues::*list) {
  return std::all_of(samples.begin(), samples.end(), [&](const KnownValues& sample) {
    const auto other = (sample.*list).find(name);
    return other == (sample.*list).end() || begins_with(largest, *other->second);
  });
}

/// Adds values that the samples know and that are not one table. Numbers, up to so many, are written.
void add_values_of_sizes(const std::vector<Bindings>& sizes, const ModelImporter& import,
                         const std::set<std::string>& sums, ValuesOfSizes& found) {
  constexpr std::int64_t most_written = 8;
  std::vector<KnownValues> samples;
  for (const Bindings& one : sizes) {
    auto model = import(one, found);
    auto constants = model ? constants_of(*model) : Result<std::vector<TensorData>>(model.diagnostics());
    if (!constants) return;
    KnownValues& sample = samples.emplace_back();
    sample.values = std::move(model->known);
    for (std::size_t t = 0; t < constants->size(); ++t)
      if (const Tensor& tensor = model->kernel.tensors[t]; tensor.constant)
        sample.constants[tensor.name] = std::make_shared<TensorData>(std::move((*constants)[t]));
  }
  const KnownValues& most = samples[largest_of(sizes)];
  for (const auto& [name, largest] : most.values) {
    if (is_one_table(*largest, name, samples, &KnownValues::values)) continue;
    const bool one_shape =
        std::all_of(samples.begin(), samples.end(), [&, key = name, shape = largest->shape](const KnownValues& sample) {
          const auto other = sample.values.find(key);
          return other == sample.values.end() || other->second->shape == shape;
        });
    const bool numbers =
        one_shape && largest->count() <= most_written && !is_truth(largest->dtype) && sums.contains(name);
    (numbers ? found.written : found.computed).insert(name);
  }
  for (const auto& [name, largest] : most.constants)
    if (!is_one_table(*largest, name, samples, &KnownValues::constants)) found.tensors.insert(name);
}

/// What the first import of all samples finds for the next one.
struct Findings {
  bool another = false;                      ///< a constant is another one at other sizes
  std::vector<std::vector<SeenValue>> seen;  ///< by sample
};

/// By constant, its axes whose extents depend on the sizes.
using GrownAxes = std::map<std::size_t, std::set<std::size_t>>;

/// Compares the constants with those of the largest sizes, and gives them their shape.
std::optional<Diagnostic> made_one_table(SampledModel& sampled, std::size_t n, const std::vector<TensorData>& constants,
                                         GrownAxes& grown, Findings& found) {
  const std::size_t most = largest_of(sampled.sizes);
  if (auto problem = different(sampled.models[n], sampled.models[most], sampled.sizes[n], sampled.sizes[most]))
    return problem;
  Kernel& kernel = sampled.models[n].kernel;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    if (!kernel.tensors[t].constant) continue;
    found.another = !begins_with(sampled.constants[t], constants[t]);
    if (found.another)
      return error(fmt::format("the constant {} is another one at {} than at {}", kernel.tensors[t].name,
                               shown(sampled.sizes[n]), shown(sampled.sizes[most])),
                   "bind a size with --sizes");
    const std::vector<std::int64_t>& most_shape = sampled.constants[t].shape;
    for (std::size_t d = 0; d < most_shape.size(); ++d)
      if (kernel.tensors[t].shape[d] != most_shape[d]) grown[t].insert(d);
    kernel.tensors[t].shape = most_shape;
  }
  return std::nullopt;
}

std::optional<Diagnostic> grows_unseen(const SampledModel& sampled, const GrownAxes& grown) {
  const Kernel& kernel = sampled.models[0].kernel;
  const auto& sizes = sampled.facts.sizes;
  for (const auto& [t, axes] : grown) {
    if (std::any_of(sizes.begin(), sizes.end(), [](const SymbolicSize& s) { return !s.max_stated; }))
      return error(fmt::format("the constant {} grows with a size that has no maximum", kernel.tensors[t].name),
                   "state it: --dims " + sizes.front().name + "=1..512");
    if (extent_matters(kernel, t, axes))
      return error(fmt::format("the extent of the constant {} depends on the sizes", kernel.tensors[t].name),
                   "bind a size with --sizes");
  }
  return std::nullopt;
}

/// Where samples do not agree, all of them are still imported, for what they find.
Result<SampledModel> sampled_at(const SizeFacts& facts, std::vector<Bindings> sizes, const ModelImporter& import,
                                const ValuesOfSizes& of_sizes, Findings& found) {
  SampledModel sampled{facts, std::move(sizes), {}, {}, of_sizes};
  sampled.models.resize(sampled.sizes.size());
  found.seen.resize(sampled.sizes.size());
  std::optional<Diagnostic> problem;
  GrownAxes grown;
  const std::size_t most = largest_of(sampled.sizes);
  for (std::size_t k = 0; k < sampled.sizes.size(); ++k) {
    const std::size_t n = k == 0 ? most : k <= most ? k - 1 : k;  // the largest sizes first
    auto model = import(sampled.sizes[n], of_sizes);
    if (!model) return model.diagnostics();
    found.seen[n] = seen(model->of_extents);
    if (problem && (found.seen[n].empty() || of_sizes.size() > 0)) return *problem;
    if (problem) continue;
    auto constants = constants_of(*model);
    if (!constants) return constants.diagnostics();
    model->weights.clear();
    model->known.clear();
    model->of_extents.clear();
    sampled.models[n] = std::move(*model);
    if (k == 0)
      sampled.constants = std::move(*constants);
    else
      problem = made_one_table(sampled, n, *constants, grown, found);
  }
  if (!problem) problem = grows_unseen(sampled, grown);
  if (problem) return *problem;
  return sampled;
}

/// What is not computed ahead any more leaves what it was computed from: until there is nothing new.
Result<SampledModel> sampled_at(const SizeFacts& facts, const std::vector<Bindings>& sizes,
                                const ModelImporter& import) {
  std::optional<Result<SampledModel>> first;
  ValuesOfSizes of_sizes;
  std::set<std::string> sums;
  while (true) {
    Findings found;
    auto sampled = sampled_at(facts, sizes, import, of_sizes, found);
    const std::size_t before = of_sizes.size();
    Dependences values = dependences_of(facts, sizes, found.seen);
    if (!values.moving.empty())
      return error(fmt::format("{} takes elements at places that depend on a size, and is the same at all samples",
                               values.moving),
                   "bind a size with --sizes");
    of_sizes.computed.merge(values.decided);
    sums.merge(values.sums);
    if (sampled && of_sizes.size() == before) return sampled;
    if (!sampled && !first) first = std::move(sampled);
    if (of_sizes.size() > before) continue;
    if (found.another) add_values_of_sizes(sizes, import, sums, of_sizes);
    if (of_sizes.size() == before) return *first;
  }
}

/// By tensor and axis, the extents at the samples; what differs by a number only once.
std::set<std::vector<std::int64_t>> extents_of(const SampledModel& sampled) {
  std::set<std::vector<std::int64_t>> found;
  for (std::size_t t = 0; t < sampled.models[0].kernel.tensors.size(); ++t)
    for (std::size_t d = 0; d < sampled.models[0].kernel.tensors[t].shape.size(); ++d) {
      std::vector<std::int64_t> values;
      for (const Model& model : sampled.models) values.push_back(model.kernel.tensors[t].shape[d]);
      for (std::size_t n = values.size(); n-- > 0;) values[n] -= values[0];
      found.insert(std::move(values));
    }
  return found;
}

/// Sizes that decide between expressions with which all samples agree: windows that stride by 4 or 5 may have the same
/// extents at all of them.
std::vector<Bindings> deciding_sizes(const SampledModel& sampled) {
  std::vector<Bindings> sizes;
  const SizeFit fit(sampled.sizes);
  for (const std::vector<std::int64_t>& values : extents_of(sampled))
    for (const SymbolicSize& size : sampled.facts.sizes) {
      const std::int64_t first = round_up(std::max(size.min, smallest_sample), size.multiple_of);
      const std::int64_t last = sampled.sizes[largest_of(sampled.sizes)].at(size.name);
      for (const std::int64_t at : fit.undecided(values, size.name, first, last, size.multiple_of)) {
        sizes.push_back(sampled.sizes[0]);
        sizes.back()[size.name] = at;
      }
    }
  return sizes;
}

/// Those at which the model has the statements of the samples.
std::vector<Bindings> alike(const std::vector<Bindings>& sizes, const SampledModel& sampled,
                            const ModelImporter& import) {
  std::vector<Bindings> found;
  for (const Bindings& one : sizes) {
    if (broken_fact(sampled.facts, one) || std::find(found.begin(), found.end(), one) != found.end()) continue;
    const auto model = import(one, sampled.of_sizes);
    if (model && !different(*model, sampled.models[0], one, sampled.sizes[0])) found.push_back(one);
  }
  return found;
}

bool has_expressions(const SampledModel& sampled) {
  SizeFit fit(sampled.sizes);
  const auto extents = extents_of(sampled);
  return std::all_of(extents.begin(), extents.end(), [&](const auto& values) { return fit.fit(values).has_value(); });
}

/// Adds samples until they leave one expression for each extent; not those with which there is none.
SampledModel with_deciding_sizes(SampledModel sampled, const SizeFacts& facts, const ModelImporter& import) {
  std::vector<Bindings> tried;
  for (int round = 0; round < most_rounds; ++round) {
    std::vector<Bindings> sizes = deciding_sizes(sampled);
    for (const Bindings& far : sizes_far_from(sampled))
      if (other_shapes_at(far, sampled, import)) sizes.push_back(far);
    std::erase_if(sizes,
                  [&](const Bindings& one) { return std::find(tried.begin(), tried.end(), one) != tried.end(); });
    if (sizes.empty()) break;
    tried.insert(tried.end(), sizes.begin(), sizes.end());
    const std::vector<Bindings> more = alike(sizes, sampled, import);
    if (more.empty()) continue;
    std::vector<Bindings> all = sampled.sizes;
    all.insert(all.end(), more.begin(), more.end());
    auto again = sampled_at(facts, all, import);
    if (!again || (!has_expressions(*again) && has_expressions(sampled))) break;
    sampled = std::move(*again);
  }
  return sampled;
}

/// Few samples, or all where these leave an extent open.
Result<SampledModel> at_samples(const SizeFacts& facts, const ModelImporter& import) {
  auto sampled = sampled_at(facts, sample_sizes(facts, false), import);
  if (sampled && !is_affine(*sampled)) sampled = sampled_at(facts, sample_sizes(facts, true), import);
  return sampled;
}

ModelImporter with_split(const ModelImporter& import, const std::vector<ProductAxis>& axes) {
  return [import, axes](const Bindings& sizes, const ValuesOfSizes& of_sizes) -> Result<Model> {
    auto model = import(sizes, of_sizes);
    if (model) model->kernel = with_product_axes_split(std::move(model->kernel), axes);
    return model;
  };
}

}  // namespace

Result<SampledModel> sample_model(const SizeFacts& facts, const ModelImporter& import_as_is) {
  ModelImporter import = import_as_is;
  auto sampled = at_samples(facts, import);
  while (sampled) {  // once for each factor beyond the first one
    const std::vector<ProductAxis> axes = product_axes(sampled->models, SizeFit(sampled->sizes));
    const Kernel& kernel = sampled->models[0].kernel;
    if (axes.empty() || with_product_axes_split(kernel, axes) == kernel) break;
    import = with_split(import, axes);
    sampled = at_samples(facts, import);
  }
  if (!sampled) return sampled;
  sampled = with_deciding_sizes(std::move(*sampled), facts, import);
  std::vector<Bindings> checked = sizes_far_from(*sampled);
  for (const SymbolicSize& size : facts.sizes)  // those that are no samples
    for (std::int64_t at = size.min; at < smallest_sample; ++at)
      if (at % size.multiple_of == 0 && at <= size.max) {
        checked.push_back(sampled->sizes[0]);
        checked.back()[size.name] = at;
      }
  for (const Bindings& sizes : checked)
    if (auto problem = other_shapes_at(sizes, *sampled, import)) return *problem;
  return sampled;
}

}  // namespace isamap
