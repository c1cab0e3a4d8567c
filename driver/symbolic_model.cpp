// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "frontends/layers.h"
#include "frontends/lifted_sizes.h"
#include "isamap/program_on_machine.h"
#include "isamap/symbolic_compile.h"
#include "planner/arena.h"
#include "support/stopwatch.h"
#include "support/threads.h"

namespace isamap {
namespace {

/// A part with the names of its place in a model left out, and the expressions of its numbers.
std::string key_of(const SymbolicKernel& kernel) {
  std::string key = isamap::key_of(kernel.sample);
  const auto add = [&](const std::vector<AffineExpr>& list) {
    for (const AffineExpr& e : list) key += print(e) + ";";
    key += "\n";
  };
  for (const auto& shape : kernel.shapes) add(shape);
  for (const SymbolicStatement& statement : kernel.statements) {
    add(statement.extents);
    for (const auto& index : statement.index) add(index);
    add(statement.values);
  }
  return key;
}

bool has_sizes(const std::vector<AffineExpr>& list) {
  return std::any_of(list.begin(), list.end(), [](const AffineExpr& e) {
    for (const std::string& name : e.names())
      if (!name.starts_with('$')) return true;
    return false;
  });
}

/// Does any number of the part depend on a size?
bool is_sized(const SymbolicKernel& kernel) {
  for (const auto& shape : kernel.shapes)
    if (has_sizes(shape)) return true;
  for (const SymbolicStatement& statement : kernel.statements) {
    if (has_sizes(statement.extents) || has_sizes(statement.values)) return true;
    for (const auto& index : statement.index)
      if (has_sizes(index)) return true;
  }
  return false;
}

/// Places tensors and weights, and lists the calls.
class SymbolicLinker {
 public:
  SymbolicLinker(const Model& sample, const std::vector<std::vector<AffineExpr>>& shapes,
                 const std::vector<TensorData>& constants, const HardwareModel& machine,
                 CompiledSymbolicModelParts& made, const std::vector<SymbolicKernel>& kernels)
      : sample_(sample), shapes_(shapes), constants_(constants), machine_(machine), made_(made), kernels_(kernels) {
    for (std::size_t t = 0; t < sample.kernel.tensors.size(); ++t)
      number_[sample.kernel.tensors[t].name] = make_id<TensorId>(t);
  }

  Diagnostics link() {
    place_ports();
    place_tensors();
    for (std::size_t p = 0; p < made_.parts.size(); ++p)
      if (auto problems = call(p); !problems.empty()) return problems;
    return {};
  }

 private:
  SymbolicModelProgram& linked() { return made_.program; }
  SymbolicPort port(TensorId id, const std::string& name) const {
    return {name, sample_.kernel.tensors[id.index()].dtype, shapes_[id.index()]};
  }

  void place_ports() {
    for (const TensorId id : sample_.inputs) {
      place_.try_emplace(id, ModelPlace{ModelPlace::In::input, static_cast<std::int64_t>(linked().inputs.size())});
      linked().inputs.push_back(port(id, sample_.file_names.at(id)));
    }
    for (const TensorId id : sample_.outputs) {
      place_.try_emplace(id, ModelPlace{ModelPlace::In::output, static_cast<std::int64_t>(linked().outputs.size())});
      linked().outputs.push_back(port(id, sample_.file_names.at(id)));
    }
  }

  /// A tensor takes the slot of one that is no longer needed and nearest to it in bytes at the sample.
  void place_tensors() {
    std::map<TensorId, Lifetime> lives;
    for (std::size_t p = 0; p < made_.parts.size(); ++p) {
      const SymbolicPartProgram& code = linked().programs[made_.parts[p].program];
      for (std::size_t t = 0; t < kernels_[p].sample.tensors.size(); ++t) {
        const Tensor& tensor = kernels_[p].sample.tensors[t];
        if (tensor.constant) continue;
        if (argument_program(code) && role_of(kernels_[p].sample, make_id<TensorId>(t)) == Role::intermediate) continue;
        const TensorId id = number_.at(tensor.name);
        if (place_.contains(id)) continue;
        Lifetime& life = lives.try_emplace(id, Lifetime{0, p, p}).first->second;
        life.last = p;
        life.bytes = byte_count(sample_.kernel.tensors[id.index()]);
      }
    }
    std::vector<std::pair<TensorId, Lifetime>> order(lives.begin(), lives.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second.first != b.second.first ? a.second.first < b.second.first : a.second.bytes > b.second.bytes;
    });
    std::vector<Lifetime> slots;  // last: of its tensors; bytes: the most at the sample
    for (const auto& [id, life] : order) {
      std::size_t best = slots.size();
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (slots[i].last < life.first &&
            (best == slots.size() || std::abs(slots[i].bytes - life.bytes) < std::abs(slots[best].bytes - life.bytes)))
          best = i;
      if (best == slots.size()) slots.emplace_back(), linked().slots.emplace_back();
      slots[best] = {std::max(slots[best].bytes, life.bytes), life.first, life.last};
      linked().slots[best].tensors.push_back(port(id, sample_.kernel.tensors[id.index()].name));
      place_[id] = {ModelPlace::In::arena, static_cast<std::int64_t>(best)};
    }
  }

  Diagnostics call(std::size_t p) {
    const SymbolicModelPart& part = made_.parts[p];
    const SymbolicPartProgram& code = linked().programs[part.program];
    const Kernel& kernel = kernels_[p].sample;
    SymbolicCall made{part.name, part.program, {}, {}};
    const auto take = [&](TensorId t) {
      const Tensor& tensor = kernel.tensors[t.index()];
      const TensorId id = number_.at(tensor.name);
      if (tensor.inout && started_.insert(id).second) begin(id, made);
      return tensor.constant ? raw_weight(id) : place_.at(id);
    };
    const Program* const program = argument_program(code);
    if (!program)
      for (std::size_t t = 0; t < kernel.tensors.size(); ++t) made.arguments.push_back(take(make_id<TensorId>(t)));
    std::vector<BufferId> packed;
    for (std::size_t b = 0; program && b < program->buffers.size(); ++b) {
      const Buffer& buffer = program->buffers[b];
      auto& place = made.arguments.emplace_back();
      if (buffer.ahead_of_time)
        packed.push_back(make_id<BufferId>(b));
      else if (buffer.role == BufferRole::argument)
        place = take(buffer.tensor);
    }
    linked().calls.push_back(std::move(made));
    return packed.empty() ? Diagnostics{} : pack(*program, part.program, kernel, packed, linked().calls.back());
  }

  /// A tensor that several parts write begins at the identity of its first writer.
  void begin(TensorId id, SymbolicCall& made) const {
    if (sample_.kernel.tensors[id.index()].inout) return;
    const auto first = std::find_if(sample_.kernel.statements.begin(), sample_.kernel.statements.end(),
                                    [&](const Computation& s) { return s.write.tensor == id; });
    made.fill.push_back(
        {place_.at(id), port(id, ""), identity(first->reduction, sample_.kernel.tensors[id.index()].dtype)});
  }

  ModelPlace append(const std::vector<std::uint8_t>& bytes) {
    auto& all = linked().weights;
    all.resize((all.size() + place_align - 1) / place_align * place_align);
    const ModelPlace place{ModelPlace::In::weights, static_cast<std::int64_t>(all.size())};
    all.insert(all.end(), bytes.begin(), bytes.end());
    return place;
  }
  ModelPlace raw_weight(TensorId id) {
    const auto known = place_.find(id);
    return known != place_.end() ? known->second : place_[id] = append(constants_[id.index()].bytes);
  }

  Diagnostics pack(const Program& program, std::size_t number, const Kernel& kernel,
                   const std::vector<BufferId>& buffers, SymbolicCall& made) {
    std::vector<TensorData> own;
    std::vector<TensorId> sources;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
      const Tensor& tensor = kernel.tensors[t];
      if (tensor.constant) sources.push_back(number_.at(tensor.name));
      own.push_back(tensor.constant ? constants_[sources.back().index()] : make_data(program.kernel.tensors[t]));
      own.back().shape = program.kernel.tensors[t].shape;
    }
    const auto [known, is_new] = packed_.try_emplace({number, sources});
    if (is_new) {
      const auto packed = isamap::pack(program, machine_, own);
      if (!packed) return packed.diagnostics();
      for (const TensorData& one : *packed) known->second.push_back(append(one.bytes));
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) made.arguments[buffers[i].index()] = known->second[i];
    return {};
  }

  const Model& sample_;
  const std::vector<std::vector<AffineExpr>>& shapes_;
  const std::vector<TensorData>& constants_;
  const HardwareModel& machine_;
  CompiledSymbolicModelParts& made_;
  const std::vector<SymbolicKernel>& kernels_;  ///< by part
  std::map<std::string, TensorId> number_;
  std::map<TensorId, ModelPlace> place_;
  std::set<TensorId> started_;
  std::map<std::pair<std::size_t, std::vector<TensorId>>, std::vector<ModelPlace>> packed_;
};

bool have_equal_ranks(const Kernel& a, const Kernel& b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const Tensor& x, const Tensor& y) { return x.shape.size() == y.shape.size(); });
}

/// The part of each sample. Where pairs of rows are a dimension at some sizes only (pools of odd sizes have a row
/// more), they are none at any.
std::vector<Kernel> cut_alike(const std::vector<Model>& models, const Part& part) {
  std::vector<Kernel> cuts;
  const auto cut_by = [&](auto&& one) {
    cuts.clear();
    for (const Model& model : models)
      cuts.push_back(part.statements.size() == model.kernel.statements.size()
                         ? model.kernel
                         : one(model.kernel, part.statements, "part"));
  };
  cut_by([](const auto&... with) { return cut(with...); });
  if (!std::all_of(cuts.begin(), cuts.end(), [&](const Kernel& one) { return have_equal_ranks(one, cuts[0]); }))
    cut_by([](const auto&... with) { return cut_as_it_is(with...); });
  return cuts;
}

/// The part of each sample, lifted.
Result<SymbolicKernel> lifted_part(const std::vector<Model>& models, const Part& part, const SampledModel& sampled,
                                   SizeFit& fit) {
  const std::vector<Kernel> cuts = cut_alike(models, part);
  std::vector<KernelAt> samples;
  for (std::size_t n = 0; n < cuts.size(); ++n) samples.push_back({sampled.sizes[n], &cuts[n]});
  auto kernel = lifted(sampled.facts, samples, fit);
  if (!kernel) return kernel;
  *kernel = without_unit_axes(*kernel);
  if (auto problems = verify(*kernel); has_errors(problems)) return problems;
  return kernel;
}

SymbolicPartProgram compiled_part(SymbolicKernel kernel, const HardwareModel& machine, const CompileOptions& options) {
  SymbolicPartProgram code;
  if (is_sized(kernel)) {
    CompileOptions one = options;
    one.most_versions = 1;  // a model has many parts
    SymbolicCompilation made = compile_symbolic(kernel, machine, one);
    if (made.program)
      code.rows = std::move(*made.program);
    else
      code.why_loops = made.problems.empty() ? "no schedule" : made.problems.front().message;
  } else if (Compilation made = compile(kernel.sample, machine, options); made.program) {
    code.fixed = std::move(*made.program);
  } else {
    code.why_loops = made.problems.empty() ? "no schedule" : made.problems.front().message;
  }
  code.kernel = std::move(kernel);
  return code;
}

SymbolicModelPart described_part(const Model& model, const Part& part) {
  SymbolicModelPart made;
  made.statements = part.statements;
  for (const std::size_t s : part.statements)
    for (const std::string& node : model.origins[s].nodes)
      if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end()) made.nodes.push_back(node);
  made.name = made.nodes.empty() ? model.kernel.statements[part.statements.front()].name : made.nodes.front();
  return made;
}

/// Parts without schedules are loops, which recurrences have not (backends/cpp/plain_loops.h).
Diagnostic no_loops_of(const SymbolicModelPart& recurrence, const std::string& why) {
  return error(fmt::format("{}: a recurrence has no program for all sizes: {}", recurrence.name, why),
               "bind its size with --sizes");
}

/// By tensor of the whole model.
Result<std::vector<std::vector<AffineExpr>>> lifted_shapes(const std::vector<Model>& models, SizeFit& fit) {
  std::vector<std::vector<AffineExpr>> shapes;
  for (std::size_t t = 0; t < models[0].kernel.tensors.size(); ++t) {
    auto& shape = shapes.emplace_back();
    for (std::size_t d = 0; d < models[0].kernel.tensors[t].shape.size(); ++d) {
      std::vector<std::int64_t> values;
      for (const Model& model : models) values.push_back(model.kernel.tensors[t].shape[d]);
      const auto e = fit.fit(values);
      if (!e)
        return error(
            fmt::format("axis {} of {} is no affine expression of the sizes", d, models[0].kernel.tensors[t].name),
            "bind a size with --sizes");
      shape.push_back(*e);
    }
  }
  return shapes;
}

/// Which tensors have rows of a size that parts walk: those of statements without a tensor that has sizes along more
/// axes than all it is computed from. Scores of attention are such tensors, queries by keys, and so is what is computed
/// from them along as many axes: there rows would be of heads, too few for lanes and a stride for each product.
std::vector<bool> tensors_of_rows(const Kernel& kernel, const std::vector<std::vector<AffineExpr>>& shapes) {
  const auto sized_axes = [&](const Access& access) {
    const auto& shape = shapes[access.tensor.index()];
    return std::count_if(shape.begin(), shape.end(), [](const AffineExpr& e) { return has_sizes({e}); });
  };
  std::vector<bool> squared(kernel.tensors.size(), false), of_rows(kernel.tensors.size(), false);
  for (const Computation& statement : kernel.statements) {
    const auto most = sized_axes(statement.write);
    const auto is_smaller = [&](const Access& read) { return sized_axes(read) < most; };
    const auto is_like = [&](const Access& read) { return sized_axes(read) == most && squared[read.tensor.index()]; };
    if (most > 1 && (std::all_of(statement.reads.begin(), statement.reads.end(), is_smaller) ||
                     std::any_of(statement.reads.begin(), statement.reads.end(), is_like)))
      squared[statement.write.tensor.index()] = true;
  }
  for (const Computation& statement : kernel.statements) {
    const auto is_squared = [&](const Access& access) { return squared[access.tensor.index()]; };
    if (is_squared(statement.write) || std::any_of(statement.reads.begin(), statement.reads.end(), is_squared))
      continue;
    of_rows[statement.write.tensor.index()] = true;
    for (const Access& read : statement.reads) of_rows[read.tensor.index()] = true;
  }
  return of_rows;
}

/// Axes whose extent depends on a size are stored outermost where the order may be chosen: rows are then contiguous.
Orders sizes_outermost(Orders orders, const Kernel& kernel, const std::vector<std::vector<AffineExpr>>& shapes) {
  orders.resize(kernel.tensors.size());
  const std::vector<bool> of_rows = tensors_of_rows(kernel, shapes);
  for (std::size_t t = 0; t < shapes.size(); ++t) {
    if (!is_free(kernel, make_id<TensorId>(t)) || !has_sizes(shapes[t]) || !of_rows[t]) continue;
    std::vector<int>& order = orders[t];
    if (order.empty())
      for (std::size_t d = 0; d < shapes[t].size(); ++d) order.push_back(static_cast<int>(d));
    std::stable_partition(order.begin(), order.end(),
                          [&](int axis) { return !shapes[t][static_cast<std::size_t>(axis)].is_constant(); });
    if (std::is_sorted(order.begin(), order.end())) order.clear();
  }
  return orders;
}

}  // namespace

Result<CompiledSymbolicModelParts> compile_symbolic_model(const SampledModel& sampled, const ModelPlan& plan,
                                                          const HardwareModel& machine,
                                                          const SymbolicModelOptions& options) {
  const Stopwatch watch;
  CompiledSymbolicModelParts made;
  made.plan = plan;
  SizeFit fit(sampled.sizes);
  const auto in_file_order = lifted_shapes(sampled.models, fit);
  if (!in_file_order) return in_file_order.diagnostics();
  made.plan.order = sizes_outermost(plan.order, sampled.models[0].kernel, *in_file_order);
  std::vector<Model> models;
  for (const Model& model : sampled.models) models.push_back(in_order(model, made.plan.order));
  const auto shapes = lifted_shapes(models, fit);
  if (!shapes) return shapes.diagnostics();
  std::vector<SymbolicKernel> kernels;
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> first_of;
  for (const Part& part : plan.parts) {
    SymbolicModelPart& one = made.parts.emplace_back(described_part(models[0], part));
    auto kernel = lifted_part(models, part, sampled, fit);
    if (!kernel) {
      Diagnostics problems = kernel.diagnostics();
      for (Diagnostic& problem : problems) problem.message = one.name + ": " + problem.message;
      return problems;
    }
    if (!kernel->sample.repeats.empty() && is_sized(*kernel)) return no_loops_of(one, "its steps are rows of a size");
    const auto [place, is_new] = known.try_emplace(key_of(*kernel), first_of.size());
    if (is_new) first_of.push_back(kernels.size());
    one.program = place->second;
    kernels.push_back(std::move(*kernel));
  }
  made.program.name = models[0].kernel.name;
  made.program.facts = sampled.facts;
  made.program.strict_float = options.compile.strict_float;
  made.program.programs.resize(first_of.size());
  Workers workers(static_cast<int>(options.jobs));
  std::atomic<std::size_t> done = 0;
  workers.for_each(first_of.size(), [&](std::size_t p) {
    made.program.programs[p] = compiled_part(kernels[first_of[p]], machine, options.compile);
    options.progress(fmt::format("{} of {} parts compiled", ++done, first_of.size()));
  });
  for (const SymbolicModelPart& part : made.parts) {
    const SymbolicPartProgram& code = made.program.programs[part.program];
    if (!code.kernel.sample.repeats.empty() && !code.fixed) return no_loops_of(part, code.why_loops);
  }
  std::vector<TensorData> constants = sampled.constants;
  for (std::size_t t = 0; t < made.plan.order.size() && t < constants.size(); ++t)
    if (models[0].kernel.tensors[t].constant) constants[t] = in_order(constants[t], made.plan.order[t]);
  if (Diagnostics problems = SymbolicLinker(models[0], *shapes, constants, machine, made, kernels).link();
      !problems.empty())
    return problems;
  made.seconds = watch.seconds();
  return made;
}

}  // namespace isamap
