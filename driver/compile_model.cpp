// SPDX-License-Identifier: Apache-2.0
#include "driver/compile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backends/model_runner.h"
#include "driver/execute.h"
#include "driver/overwritten_in_place.h"
#include "driver/plan/band_price.h"
#include "frontends/layers.h"
#include "hwdesc/model/program_language.h"
#include "support/stopwatch.h"

namespace isamap {

namespace {

CompiledPart described(const Model& model, const Part& part) {
  CompiledPart made;
  for (const std::size_t s : part.statements) {
    if (s >= model.origins.size()) continue;
    for (const std::string& node : model.origins[s].nodes)
      if (std::find(made.nodes.begin(), made.nodes.end(), node) == made.nodes.end()) made.nodes.push_back(node);
  }
  const std::size_t first = part.statements.front();
  made.name = made.nodes.empty() ? model.kernel.statements[first].name : made.nodes.front();
  made.kernel = part.statements.size() == model.kernel.statements.size() ? model.kernel
                                                                         : cut(model.kernel, part.statements, "part");
  return made;
}

/// Statements that an instruction computes; schedules that were read have no mappings.
std::size_t instructions_in(const Schedule& schedule) {
  std::size_t count = 0;
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* compute = std::get_if<Do>(&line.is)) count += compute->instruction.empty() ? 0 : 1;
  return count;
}

class ModelCompiler {
 public:
  ModelCompiler(const Model& model, ModelPlan plan, PartStore& store, const ProgramReader& read)
      : model_(model), store_(store), read_(read) {
    made_.plan = std::move(plan);
  }

  CompiledModel run() {
    const Stopwatch watch;
    for (const Part& part : made_.plan.parts) made_.parts.push_back(described(model_, part));
    for (const BandGroup& group : made_.plan.bands) cut_bands(group);
    for (std::size_t p = 0; p < made_.parts.size(); ++p)
      if (bands_of(made_, p) == nullptr) made_.parts[p].program = program_of(made_.parts[p].kernel, p, Between::model);
    for (CompiledPart& part : made_.parts) part.same_as = first_of_[part.program];
    compile_all();
    for (std::size_t p = 0; p < made_.parts.size(); ++p) price(p);
    made_.seconds = watch.seconds();
    return std::move(made_);
  }

 private:
  /// Equal kernels are one program.
  std::size_t program_of(const Kernel& kernel, std::size_t part, Between between) {
    const auto [known, is_new] = programs_.try_emplace({key_of(kernel), between}, first_of_.size());
    if (is_new) {
      first_of_.push_back(part);
      kernels_.emplace_back(kernel, between);
    }
    return known->second;
  }

  /// Those of bands first, as they are numbered (but those with weights of their own in each band): so the programs
  /// that are known have the smallest numbers.
  void compile_all() {
    const std::vector<Overwriting> overwriting =
        read_ ? all_overwriting(model_.kernel, made_, store_.machine()) : std::vector<Overwriting>{};
    for (const Between between : {Between::bands, Between::model}) {
      std::vector<Kernel> some;
      std::vector<std::size_t> numbers;
      for (std::size_t n = 0; n < kernels_.size(); ++n)
        if (kernels_[n].second == between) some.push_back(kernels_[n].first), numbers.push_back(n);
      store_.add(some, between, [&](std::size_t i, const Compilation& made) {
        if (!read_ || !made.program) return;
        read_(numbers[i], *made.program,
              overlapping_arguments(model_.kernel, overwriting, numbers[i], *made.program, store_.machine()));
      });
    }
    for (const auto& [kernel, between] : kernels_) made_.programs.push_back(store_.find(kernel, between));
  }

  void cut_bands(const BandGroup& group) {
    CompiledBands bands{group, {}, {}, {}, {}};
    const auto begin = made_.plan.parts.begin() + static_cast<std::ptrdiff_t>(group.first);
    const std::vector<Part> parts(begin, begin + static_cast<std::ptrdiff_t>(group.count));
    bands.schedule = *band_schedule(model_.kernel, parts, group.by, group.along);
    std::vector<std::size_t> all;
    for (const Part& part : parts) all.insert(all.end(), part.statements.begin(), part.statements.end());
    std::sort(all.begin(), all.end());
    bands.kernel = cut(model_.kernel, all, "bands");
    const std::vector<std::int64_t> calls = call_counts(bands.schedule);
    std::vector<std::int64_t> most(group.count, 0);
    for (std::size_t k = 0; k < bands.schedule.kernels.size(); ++k) {
      const BandKernel& kernel = bands.schedule.kernels[k];
      const std::size_t part = group.first + kernel.part;
      bands.kernels.push_back(cut_rows(model_.kernel, made_.plan.parts[part], bands.schedule, k));
      const Between between =
          kernel.rest ? Between::bands : weights_between(model_.kernel, made_.plan.parts[part], bands.schedule);
      bands.programs.push_back(program_of(bands.kernels.back(), part, between));
      if (calls[k] <= most[kernel.part]) continue;
      most[kernel.part] = calls[k];
      made_.parts[part].program = bands.programs.back();
    }
    made_.bands.push_back(std::move(bands));
  }

  bool has_program(std::size_t program, const std::string& part) {
    const Compilation& compilation = *made_.programs[program];
    if (compilation.program) return true;
    if (made_.code == Exit::ok) made_.code = compilation.code == Exit::ok ? Exit::wrong_result : compilation.code;
    for (Diagnostic problem : compilation.problems) {
      problem.message = part + ": " + problem.message;
      made_.problems.push_back(std::move(problem));
    }
    return false;
  }

  /// Of one run, with the launches that the program has.
  double cycles_of(const Compilation& compilation) const {
    const Cost& cost = compilation.scheduled->cost;
    const auto launches = launches_of(*compilation.program, store_.machine());
    if (!launches) return cost.cycles;
    return cost.cycles - cost.launch_cycles + static_cast<double>(*launches) * store_.machine().timing.launch;
  }

  void price(std::size_t p) {
    CompiledPart& part = made_.parts[p];
    std::vector<std::pair<std::size_t, std::int64_t>> calls = {{part.program, 1}};  // programs, and how often they run
    if (const CompiledBands* bands = bands_of(made_, p)) {
      const std::vector<std::int64_t> counts = call_counts(bands->schedule);
      calls.clear();
      for (std::size_t k = 0; k < counts.size(); ++k)
        if (bands->group.first + bands->schedule.kernels[k].part == p)
          calls.emplace_back(bands->programs[k], counts[k]);
    }
    for (const auto& [program, times] : calls) {
      if (!has_program(program, part.name)) return;
      part.predicted_cycles += static_cast<double>(times) * cycles_of(*made_.programs[program]);
    }
    made_.predicted_cycles += part.predicted_cycles;
    part.launches = launches_of(*made_.programs[part.program]->program, store_.machine());
    part.mapped =
        std::min(part.kernel.statements.size(), instructions_in(made_.programs[part.program]->scheduled->schedule));
  }

  const Model& model_;
  PartStore& store_;
  const ProgramReader& read_;
  CompiledModel made_;
  std::map<std::pair<std::string, Between>, std::size_t> programs_;  ///< by canonical text
  std::vector<std::size_t> first_of_;                                ///< by program: the part that it is compiled for
  std::vector<std::pair<Kernel, Between>> kernels_;                  ///< by program
};

}  // namespace

Model in_order(const Model& model, const Orders& orders) {
  Model stored = model;
  stored.kernel = in_order(model.kernel, orders);
  return stored;
}

std::vector<TensorData> in_order(std::vector<TensorData> data, const Orders& orders) {
  for (std::size_t t = 0; t < orders.size(); ++t) data[t] = in_order(data[t], orders[t]);
  return data;
}

namespace {

/// The elements that a statement assigns: `extent` of an axis from `first` on, along `dim` ("": one of them).
struct AssignedAxis {
  std::string dim;
  std::int64_t first = 0, extent = 1;
};
using AssignedBox = std::vector<AssignedAxis>;

/// Nothing: no box, or not every element of one once.
std::optional<AssignedBox> assigned_box(const Computation& statement) {
  if (statement.reduction != Reduction::assign || !statement.domain.faces.empty() || statement.write.computed)
    return std::nullopt;
  AssignedBox box;
  std::set<std::string> seen;
  for (const AffineExpr& index : statement.write.index) {
    const std::set<std::string> names = index.names();
    if (!index.is_linear() || names.size() > 1) return std::nullopt;
    const std::string dim = names.empty() ? "" : *names.begin();
    if (!dim.empty() && (index.coefficient(dim) != 1 || !seen.insert(dim).second)) return std::nullopt;
    const int d = statement.domain.find(dim);
    box.push_back({dim, index.constant(), d < 0 ? 1 : statement.domain.dims[static_cast<std::size_t>(d)].extent});
  }
  return box;
}

bool overlap(const AssignedBox& a, const AssignedBox& b) {
  for (std::size_t x = 0; x < a.size(); ++x)
    if (a[x].first + a[x].extent <= b[x].first || b[x].first + b[x].extent <= a[x].first) return false;
  return true;
}

using AssignedBoxes = std::map<std::size_t, AssignedBox>;  ///< by statement

/// Are the elements that statement `s` reads assigned before? All of them where it follows all `writers`; else it is in
/// a recurrence with the last one, and reads an earlier step: others come before the first step.
bool reads_assigned(const Kernel& kernel, const AssignedBoxes& writers, std::size_t s, const Access& read) {
  const auto& [last, box] = *writers.rbegin();
  const auto both = [&, at = last](const Repeat& repeat) { return repeat.contains(s) && repeat.contains(at); };
  const auto repeat = std::find_if(kernel.repeats.begin(), kernel.repeats.end(), both);
  if (repeat == kernel.repeats.end()) return s > last;
  const auto before =
      std::find_if(writers.begin(), writers.end(), [&](const auto& writer) { return repeat->contains(writer.first); });
  if (before->first != last || read.computed) return false;
  for (std::size_t a = 0; a < read.index.size(); ++a) {
    const AffineExpr behind = AffineExpr::dim(repeat->dim) + AffineExpr(box[a].first) - read.index[a];
    if (box[a].dim != repeat->dim || !behind.is_constant()) continue;
    const std::int64_t steps = repeat->backward ? -behind.constant() : behind.constant();
    return steps > 0 || (steps == 0 && s > last);
  }
  return false;
}

/// Do several statements assign every element once, as those of a Concat or the rows of a recurrence, each before it is
/// read?
bool is_assigned_whole(const Kernel& kernel, TensorId tensor) {
  AssignedBoxes writers;
  std::int64_t count = 0;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    if (kernel.statements[s].write.tensor != tensor) continue;
    const auto box = assigned_box(kernel.statements[s]);
    if (!box || std::any_of(writers.begin(), writers.end(), [&](const auto& w) { return overlap(w.second, *box); }))
      return false;
    std::int64_t elements = 1;
    for (const AssignedAxis& axis : *box) elements *= axis.extent;
    count += elements;
    writers.emplace(s, *box);
  }
  if (writers.empty() || count != element_count(kernel.tensors[tensor.index()])) return false;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    for (const Access& read : kernel.statements[s].reads)
      if (read.tensor == tensor && !reads_assigned(kernel, writers, s, read)) return false;
  return true;
}

}  // namespace

bool begins_anywhere(const Model& model, const CompiledModel& compiled, const HardwareModel& machine, TensorId tensor) {
  const auto holds = [&](const CompiledBands& bands) { return bands.schedule.buffers.contains(tensor); };
  return is_host_code(machine) && std::none_of(compiled.bands.begin(), compiled.bands.end(), holds) &&
         is_assigned_whole(model.kernel, tensor);
}

void begin_shared_outputs(const Kernel& kernel, std::vector<TensorData>& data) {
  std::set<TensorId> seen;
  for (const Computation& statement : kernel.statements) {
    const TensorId id = statement.write.tensor;
    const Tensor& tensor = kernel.tensors[id.index()];
    if (!seen.insert(id).second || tensor.inout || writer_count(kernel, id) < 2) continue;
    const Scalar start = identity(statement.reduction, tensor.dtype);
    for (std::int64_t i = 0; i < data[id.index()].count(); ++i) data[id.index()].set(i, start);
  }
}

const CompiledBands* bands_of(const CompiledModel& compiled, std::size_t part) {
  for (const CompiledBands& bands : compiled.bands)
    if (part >= bands.group.first && part < bands.group.first + bands.group.count) return &bands;
  return nullptr;
}

CompiledModel compile_model(const Model& model, ModelPlan plan, PartStore& store, const ProgramReader& read) {
  return ModelCompiler(model, std::move(plan), store, read).run();
}

}  // namespace isamap
