// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/symbolic_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "driver/plan/plan_model.h"
#include "driver/symbolic/link_symbolic_model.h"
#include "driver/symbolic/recurrent_parts.h"
#include "driver/symbolic/row_parts.h"
#include "driver/symbolic/symbolic_bands.h"
#include "frontends/layers.h"
#include "frontends/lifted_sizes.h"
#include "hwdesc/model/one_thread.h"
#include "hwdesc/model/parallel_units.h"
#include "isamap/compile.h"
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
  for (const auto& strides : kernel.strides) add(strides);
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
  if (has_sizes(kernel.steps)) return true;
  for (const SymbolicStatement& statement : kernel.statements) {
    if (has_sizes(statement.extents) || has_sizes(statement.values)) return true;
    for (const auto& index : statement.index)
      if (has_sizes(index)) return true;
  }
  return false;
}

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

/// The statement of a program that is plain loops in some version, the first one; null: there is none.
const PlainLoops* loops_in(const SymbolicProgram& program) {
  for (const Grid& grid : program.grids)
    if (grid.loops) return &*grid.loops;
  return nullptr;
}

SymbolicPartProgram compiled_part(SymbolicKernel kernel, const HardwareModel& machine, const CompileOptions& options) {
  SymbolicPartProgram code;
  if (is_sized(kernel)) {
    CompileOptions one = options;
    one.most_versions = 1;  // a model has many parts
    SymbolicCompilation made = compile_symbolic(kernel, machine, one);
    if (made.program && thread_count(machine) > 1)
      if (const auto cost = predicted_at(made, machine, kernel.at, options.schedule.costs))
        code.seconds = cost->cycles / machine.clock_hz;
    const PlainLoops* const loops = made.program ? loops_in(*made.program) : nullptr;
    const auto is_loops = [](const Grid& grid) { return grid.loops.has_value(); };
    if (loops != nullptr) code.why_loops = loops->why;
    if (loops != nullptr && std::all_of(made.program->grids.begin(), made.program->grids.end(), is_loops))
      made.program.reset();
    else if (made.program)
      code.rows = std::move(*made.program);
    else
      code.why_loops = made.problems.empty() ? "no schedule" : made.problems.front().message;
  } else if (Compilation made = compile(kernel.sample, machine, options); made.program) {
    code.fixed = std::move(*made.program);
    code.seconds = made.scheduled ? made.scheduled->cost.cycles / machine.clock_hz : 0;
  } else {
    code.why_loops = made.problems.empty() ? "no schedule" : made.problems.front().message;
  }
  code.kernel = std::move(kernel);
  return code;
}

/// Programs of parts, equal ones once.
class PartPrograms {
 public:
  PartPrograms(const HardwareModel& machine, const SymbolicModelOptions& options)
      : machine_(machine), options_(options) {}

  std::size_t number_of(const SymbolicKernel& kernel) {
    const auto [known, is_new] = known_.try_emplace(key_of(kernel), kernels_.size());
    if (is_new) kernels_.push_back(kernel);
    return known->second;
  }

  /// Those that are new.
  void compile() {
    const std::size_t first = programs_.size();
    programs_.resize(kernels_.size());
    Workers workers(static_cast<int>(options_.jobs));
    std::atomic<std::size_t> done = first;
    workers.for_each(kernels_.size() - first, [&](std::size_t p) {
      programs_[first + p] = compiled_part(kernels_[first + p], machine_, options_.compile);
      options_.progress(fmt::format("{} of {} parts compiled", ++done, kernels_.size()));
    });
  }

  /// Leaves those that are used, with new numbers.
  void keep(const std::vector<std::size_t*>& used) {
    std::map<std::size_t, std::size_t> kept;
    for (const std::size_t* number : used) kept.try_emplace(*number, 0);
    std::size_t next = 0;
    for (auto& [from, to] : kept) {
      to = next++;
      if (from != to) programs_[to] = std::move(programs_[from]);
    }
    programs_.resize(next);
    for (std::size_t* number : used) *number = kept.at(*number);
  }
  std::vector<SymbolicPartProgram>& all() { return programs_; }

 private:
  const HardwareModel& machine_;
  const SymbolicModelOptions& options_;
  std::map<std::string, std::size_t> known_;
  std::vector<SymbolicKernel> kernels_;
  std::vector<SymbolicPartProgram> programs_;
};

SymbolicModelPart described_part(const Model& model, const Part& part) {
  SymbolicModelPart made;
  made.statements = part.statements;
  for (const std::size_t s : part.statements)
    for (const std::string& node : model.origins[s].nodes)
      if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end()) made.nodes.push_back(node);
  made.name = made.nodes.empty() ? model.kernel.statements[part.statements.front()].name : made.nodes.front();
  return made;
}

/// Parts without schedules are loops, which recurrences of as many steps at all sizes have not
/// (backends/cpp/plain_loops.h).
Diagnostic no_program_of(const SymbolicModelPart& recurrence, const std::string& why) {
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
            "bind a size with --sizes, or, where a stride divides one, state multiples of it: --dims NAME=2..512/2");
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

/// Does it pass over tensors without rows that leave the nearest cache once for each block of rows?
bool passes_by_blocks(const SymbolicPartProgram& code, const HardwareModel& machine) {
  if (!code.rows || !code.rows->grids.empty()) return false;
  const auto& parts = code.rows->versions.back().parts;
  const bool walks = std::any_of(parts.begin(), parts.end(), [](const RowPart& part) { return !part.loops.empty(); });
  const auto rows = rows_of(code.kernel);
  return !walks && rows && passes_take_time(code.kernel, *rows, machine);
}

class SymbolicModelCompiler {
 public:
  SymbolicModelCompiler(const SampledModel& sampled, const HardwareModel& machine, const SymbolicModelOptions& options)
      : sampled_(sampled), machine_(machine), options_(options), fit_(sampled.sizes), programs_(machine, options) {}

  Result<CompiledSymbolicModelParts> run(const ModelPlan& plan) {
    const Stopwatch watch;
    made_.plan = with_recurrences_apart(plan, sampled_.models[0].kernel);
    const auto in_file_order = lifted_shapes(sampled_.models, fit_);
    if (!in_file_order) return in_file_order.diagnostics();
    made_.plan.order = steps_outermost(sizes_outermost(plan.order, sampled_.models[0].kernel, *in_file_order),
                                       sampled_.models[0].kernel);
    for (const Model& model : sampled_.models) models_.push_back(in_order(model, made_.plan.order));
    const auto shapes = lifted_shapes(models_, fit_);
    if (!shapes) return shapes.diagnostics();
    if (auto problems = compile_parts(); !problems.empty()) return problems;
    if (const ModelPlan apart = with_blocks_apart(); apart.parts.size() > made_.plan.parts.size()) {
      made_.plan = apart;
      if (auto problems = compile_parts(); !problems.empty()) return problems;
    }
    compile_bands();
    keep_programs();
    made_.program.name = models_[0].kernel.name;
    made_.program.facts = sampled_.facts;
    made_.program.strict_float = options_.compile.strict_float;
    if (const auto unit = threads_of_programs(machine_))
      made_.program.start = machine_.unit(*unit).threads.start / machine_.clock_hz;
    std::vector<TensorData> constants = sampled_.constants;
    for (std::size_t t = 0; t < made_.plan.order.size() && t < constants.size(); ++t)
      if (models_[0].kernel.tensors[t].constant) constants[t] = in_order(constants[t], made_.plan.order[t]);
    if (Diagnostics problems =
            link_symbolic_model({models_[0], *shapes, constants, kernels_, recurrent_, bands_}, machine_, made_);
        !problems.empty())
      return problems;
    made_.seconds = watch.seconds();
    return std::move(made_);
  }

 private:
  /// Of the plan.
  Diagnostics compile_parts() {
    made_.parts.clear();
    kernels_.clear();
    recurrent_.clear();
    for (const Part& part : made_.plan.parts) {
      SymbolicModelPart& one = made_.parts.emplace_back(described_part(models_[0], part));
      auto kernel = lifted_kernel(cut_alike(models_, part), sampled_, fit_);
      if (!kernel) {
        Diagnostics problems = kernel.diagnostics();
        for (Diagnostic& problem : problems) problem.message = one.name + ": " + problem.message;
        return problems;
      }
      recurrent_.emplace_back();
      if (!kernel->sample.repeats.empty() && is_sized(*kernel)) {
        auto recurrent = recurrent_part(models_, part, *kernel, sampled_, fit_);
        if (!recurrent) return {no_program_of(one, recurrent.diagnostics().front().message)};
        one.loop = recurrent->loop;
        recurrent_.back() = std::move(*recurrent);
      }
      one.program = programs_.number_of(recurrent_.back() ? recurrent_.back()->step : *kernel);
      kernels_.push_back(std::move(*kernel));
    }
    programs_.compile();
    for (const SymbolicModelPart& part : made_.parts) {
      const SymbolicPartProgram& code = programs_.all()[part.program];
      if (!code.kernel.sample.repeats.empty() && !code.fixed) return {no_program_of(part, code.why_loops)};
    }
    return {};
  }

  bool passes_by_blocks(const Part& part) {
    const auto kernel = lifted_kernel(cut_alike(models_, part), sampled_, fit_);
    if (!kernel) return true;
    const std::size_t number = programs_.number_of(*kernel);
    programs_.compile();
    return isamap::passes_by_blocks(programs_.all()[number], machine_);
  }

  /// A joined part has no loops over rows where its statements do not share one: it is computed block by block, each a
  /// pass over the weights. Its chains are parts of their own then, and their statements where a chain is the same
  /// case; nothing where a single statement is.
  std::optional<std::vector<Part>> with_row_loops(const std::vector<Part>& chains, const Part& part) {
    std::vector<Part> apart;
    for (const Part& chain : chains) {
      if (!std::includes(part.statements.begin(), part.statements.end(), chain.statements.begin(),
                         chain.statements.end()))
        continue;
      if (!passes_by_blocks(chain)) {
        apart.push_back(chain);
        continue;
      }
      for (const std::size_t s : chain.statements) {
        apart.push_back({{s}});
        if (passes_by_blocks(apart.back())) return std::nullopt;
      }
    }
    std::size_t count = 0;
    for (const Part& one : apart) count += one.statements.size();
    return apart.size() > 1 && count == part.statements.size() ? std::optional(apart) : std::nullopt;
  }

  /// The plan with such parts apart; those of bands stay as they are.
  ModelPlan with_blocks_apart() {
    const std::vector<Part> chains = chain_plan(models_[0].kernel).parts;
    ModelPlan apart = made_.plan;
    apart.parts.clear();
    for (std::size_t p = 0; p < made_.parts.size(); ++p) {
      for (std::size_t g = 0; g < apart.bands.size(); ++g)
        if (made_.plan.bands[g].first == p) apart.bands[g].first = apart.parts.size();
      const Part& part = made_.plan.parts[p];
      const bool is_blocks =
          !recurrent_[p] && isamap::passes_by_blocks(programs_.all()[made_.parts[p].program], machine_);
      const auto own = is_blocks && !is_in_bands(p) ? with_row_loops(chains, part) : std::nullopt;
      for (const Part& one : own.value_or(std::vector{part})) apart.parts.push_back(one);
    }
    return apart;
  }

  bool is_in_bands(std::size_t p) const {
    return std::any_of(made_.plan.bands.begin(), made_.plan.bands.end(),
                       [&](const BandGroup& group) { return p >= group.first && p < group.first + group.count; });
  }

  /// The groups of the plan that are possible at all sizes and lose no part to loops; the others leave the plan, with
  /// the reason.
  void compile_bands() {
    std::vector<SymbolicBandParts> possible;
    for (std::size_t g = 0; g < made_.plan.bands.size(); ++g) {
      auto bands = bands_at_all_sizes(models_, sampled_, made_.plan, g, machine_, fit_);
      if (!bands) {
        refuse(made_.plan.bands[g], bands.diagnostics().front().message);
        continue;
      }
      for (const SymbolicKernel& kernel : bands->kernels) bands->programs.push_back(programs_.number_of(kernel));
      possible.push_back(std::move(*bands));
    }
    programs_.compile();
    made_.plan.bands.clear();
    for (SymbolicBandParts& bands : possible) {
      if (const auto why = lost_to_loops(bands)) {
        refuse(bands.group, *why);
        continue;
      }
      made_.plan.bands.push_back(bands.group);
      bands_.push_back(std::move(bands));
    }
  }

  void refuse(const BandGroup& group, const std::string& why) {
    const auto& statements = models_[0].kernel.statements;
    const std::vector<Part>& parts = made_.plan.parts;
    made_.plan.bands_refused.push_back({statements[parts[group.first].statements.front()].name,
                                        statements[parts[group.first + group.count - 1].statements.back()].name, why});
  }

  /// Why a part is loops in bands, if it has better code as a whole.
  std::optional<std::string> lost_to_loops(const SymbolicBandParts& bands) {
    const auto is_loops = [&](std::size_t program) { return !programs_.all()[program].why_loops.empty(); };
    for (std::size_t k = 0; k < bands.programs.size(); ++k)
      if (is_loops(bands.programs[k]) &&
          !is_loops(made_.parts[bands.group.first + bands.schedule.kernels[k].part].program))
        return programs_.all()[bands.programs[k]].why_loops;
    return std::nullopt;
  }

  void keep_programs() {
    std::vector<std::size_t*> used;
    for (SymbolicModelPart& part : made_.parts) used.push_back(&part.program);
    for (SymbolicBandParts& bands : bands_)
      for (std::size_t& number : bands.programs) used.push_back(&number);
    programs_.keep(used);
    made_.program.programs = std::move(programs_.all());
  }

  const SampledModel& sampled_;
  const HardwareModel& machine_;
  const SymbolicModelOptions& options_;
  SizeFit fit_;
  PartPrograms programs_;
  std::vector<Model> models_;                            ///< by sample, in the orders of the plan
  std::vector<SymbolicKernel> kernels_;                  ///< by part
  std::vector<std::optional<RecurrentPart>> recurrent_;  ///< by part
  std::vector<SymbolicBandParts> bands_;
  CompiledSymbolicModelParts made_;
};

}  // namespace

Result<CompiledSymbolicModelParts> compile_symbolic_model(const SampledModel& sampled, const ModelPlan& plan,
                                                          const HardwareModel& machine,
                                                          const SymbolicModelOptions& options) {
  return SymbolicModelCompiler(sampled, machine, options).run(plan);
}

}  // namespace isamap
