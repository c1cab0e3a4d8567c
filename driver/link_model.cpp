// SPDX-License-Identifier: Apache-2.0
// Places every tensor of a model and every packed weight, and lists the calls.

#include <algorithm>
#include <map>
#include <set>

#include "backends/model_runner.h"
#include "driver/compile_model.h"
#include "driver/link_bands.h"
#include "driver/model_weights.h"
#include "driver/overwritten_in_place.h"
#include "isamap/program_on_machine.h"
#include "planner/arena.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

void collect_buffers(const std::vector<Node>& nodes, std::set<BufferId>& used) {
  const auto take = [&](const Ref& ref) {
    if (ref.buffer.valid()) used.insert(ref.buffer);
  };
  for (const Node& node : nodes)
    std::visit(overloaded{[&](const Loop& loop) { collect_buffers(loop.body, used); },
                          [&](const Guard& guard) {
                            collect_buffers(guard.then, used);
                            collect_buffers(guard.otherwise, used);
                          },
                          [&](const Call& call) {
                            for (const Ref& operand : call.operands) take(operand);
                            for (const Ref& mask : call.masks) take(mask);
                          },
                          [&](const Element& element) {
                            take(element.write);
                            for (const Ref& read : element.reads) take(read);
                          },
                          [](const auto&) {}},
               node.is);
}

/// Of the main entry, of all versions.
std::set<BufferId> used_in_body(const Program& program) {
  std::set<BufferId> used;
  collect_buffers(program.body, used);
  for (const Program& version : program.versions) used.merge(used_in_body(version));
  return used;
}

class Linker {
 public:
  Linker(const Model& model, const CompiledModel& compiled, const std::vector<TensorData>& data,
         const HardwareModel& machine)
      : model_(model), compiled_(compiled), machine_(machine), weights_(model.kernel, data, machine) {}

  Result<ModelProgram> link() {
    const Kernel& kernel = model_.kernel;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t) number_[kernel.tensors[t].name] = make_id<TensorId>(t);
    linked_.name = kernel.name;
    for (const auto& compilation : compiled_.programs) linked_.programs.push_back(*compilation->program);
    for (const Program& program : linked_.programs) used_.push_back(used_in_body(program));
    place_ports();
    if (auto problems = place_tensors(); !problems.empty()) return problems;
    for (std::size_t p = 0; p < compiled_.parts.size(); ++p) {
      const CompiledBands* bands = bands_of(compiled_, p);
      auto made = call(compiled_.parts[p].name, compiled_.parts[p].program, kernel_of(p), workspace_at_[p],
                       bands ? first_slices(*bands, p) : SlicedConstants{});
      if (!made) return made.diagnostics();
      made->seconds = compiled_.parts[p].predicted_cycles / machine_.clock_hz;
      linked_.calls.push_back(std::move(*made));
      if (bands == nullptr || p + 1 < bands->group.first + bands->group.count) continue;
      auto loops = bands_of_calls(*bands);
      if (!loops) return loops.diagnostics();
      fill_before(*loops);
      linked_.bands.push_back(std::move(*loops));
    }
    linked_.weights = weights_.bytes();
    return std::move(linked_);
  }

 private:
  void place_ports() {
    const auto port = [&](TensorId id) {
      const Tensor& tensor = model_.kernel.tensors[id.index()];
      return Port{model_.file_names.at(id), tensor.dtype, tensor.shape};
    };
    for (const TensorId id : model_.inputs) {
      place_.try_emplace(id, ModelPlace{ModelPlace::In::input, static_cast<std::int64_t>(linked_.inputs.size())});
      linked_.inputs.push_back(port(id));
    }
    for (const TensorId id : model_.outputs) {
      place_.try_emplace(id, ModelPlace{ModelPlace::In::output, static_cast<std::int64_t>(linked_.outputs.size())});
      linked_.outputs.push_back(port(id));
    }
  }

  /// What the program of a part computes: the part, or rows of it.
  const Kernel& kernel_of(std::size_t p) const {
    const auto programs = programs_of(p);
    return *std::find_if(programs.begin(), programs.end(), [&](const auto& one) {
              return one.first == compiled_.parts[p].program;
            })->second;
  }

  /// Of constants: what the program of this part reads where it is first called.
  SlicedConstants first_slices(const CompiledBands& bands, std::size_t p) const {
    for (const BandLoop& loop : bands.schedule.loops)
      for (std::size_t s = 0; s < loop.steps.size(); ++s)
        if (loop.steps[s].kind == BandStep::Kind::call &&
            bands.programs[loop.steps[s].kernel] == compiled_.parts[p].program &&
            bands.group.first + loop.steps[s].part == p)
          return sliced_constants(model_.kernel, compiled_.plan.parts[p], bands.schedule, loop, s);
    return {};
  }

  /// First and last call that run in turns with this one: the others of its bands.
  std::pair<std::size_t, std::size_t> turns_of(std::size_t p) const {
    const CompiledBands* bands = bands_of(compiled_, p);
    return bands ? std::pair(bands->group.first, bands->group.first + bands->group.count - 1) : std::pair(p, p);
  }

  /// Bytes of a tensor between parts: of the whole, or of its buffer.
  std::int64_t bytes_of(TensorId id, const Buffer& buffer, const CompiledBands* bands) const {
    if (bands == nullptr) return element_span(buffer) * bytes(buffer.dtype);
    const Tensor& tensor = model_.kernel.tensors[id.index()];
    const auto rows = bands->schedule.buffers.find(id);
    return rows == bands->schedule.buffers.end() ? byte_count(tensor)
                                                 : rows->second * slice_bytes(tensor, axis_of(*bands, id));
  }

  int axis_of(const CompiledBands& bands, TensorId id) const {
    return row_axis(model_.kernel, bands.schedule.axes, id);
  }

  Diagnostics find_workspaces() {
    for (const Program& program : linked_.programs) {
      const auto workspace = isamap::workspace_of_part(program, machine_);
      if (!workspace) return workspace.diagnostics();
      workspaces_.push_back(workspace->bytes);
      linked_.arena_align = std::max(linked_.arena_align, workspace->align);
    }
    return {};
  }

  /// The largest that a call of this part needs.
  std::int64_t workspace_of_part(std::size_t p) const {
    const CompiledBands* bands = bands_of(compiled_, p);
    if (bands == nullptr) return workspaces_[compiled_.parts[p].program];
    std::int64_t most = 0;
    for (std::size_t k = 0; k < bands->programs.size(); ++k)
      if (bands->group.first + bands->schedule.kernels[k].part == p)
        most = std::max(most, workspaces_[bands->programs[k]]);
    return most;
  }

  /// Tensors between parts live from the part that first writes them to the last one that touches them, the workspace
  /// of a part while it runs; parts in bands run in turns.
  Diagnostics place_tensors() {
    if (auto problems = find_workspaces(); !problems.empty()) return problems;
    std::vector<Lifetime> list;
    for (std::size_t p = 0; p < compiled_.parts.size(); ++p) {
      const auto [first, last] = turns_of(p);
      list.push_back({workspace_of_part(p), first, last});
    }
    overwritten_ = overwritten_in_place(model_.kernel, compiled_, linked_.programs, machine_);
    std::map<TensorId, Lifetime> lives;
    for (std::size_t p = 0; p < compiled_.parts.size(); ++p)
      for (const auto& [program, kernel] : programs_of(p)) add_lives(p, program, *kernel, lives);
    for (const auto& [id, life] : lives) list.push_back(life);
    const Arena arena = place_in_arena(list, linked_.arena_align);
    std::size_t n = 0;
    const auto block = [&](const std::string& name) {
      linked_.blocks.push_back({name, arena.at[n], list[n].bytes, list[n].first, list[n].last});
      return arena.at[n++];
    };
    for (std::size_t p = 0; p < compiled_.parts.size(); ++p) workspace_at_.push_back(block("local arrays"));
    for (const auto& [id, life] : lives)
      place_[id] = {ModelPlace::In::arena, block(model_.kernel.tensors[id.index()].name)};
    for (const auto& [id, by] : overwritten_) place_[id] = place_.at(storage_of(id));
    linked_.arena_bytes = arena.bytes;
    linked_.arena_bound = arena.bound;
    return {};
  }

  /// What the calls of a part compute: the part, or rows of it, or what follows its sum.
  std::vector<std::pair<std::size_t, const Kernel*>> programs_of(std::size_t p) const {
    const CompiledBands* bands = bands_of(compiled_, p);
    if (bands == nullptr) return {{compiled_.parts[p].program, &compiled_.parts[p].kernel}};
    std::vector<std::pair<std::size_t, const Kernel*>> found;
    for (std::size_t k = 0; k < bands->programs.size(); ++k)
      if (bands->group.first + bands->schedule.kernels[k].part == p)
        found.emplace_back(bands->programs[k], &bands->kernels[k]);
    return found;
  }

  /// The tensor that overwrites all others in its storage.
  TensorId storage_of(TensorId id) const {
    for (auto by = overwritten_.find(id); by != overwritten_.end(); by = overwritten_.find(id)) id = by->second;
    return id;
  }

  void add_lives(std::size_t p, std::size_t program, const Kernel& kernel, std::map<TensorId, Lifetime>& lives) const {
    const auto [first, last] = turns_of(p);
    for (const Buffer& buffer : linked_.programs[program].buffers) {
      if (buffer.role != BufferRole::argument || buffer.ahead_of_time) continue;
      const Tensor& tensor = kernel.tensors[buffer.tensor.index()];
      const TensorId id = number_.at(tensor.name), storage = storage_of(id);
      if (tensor.constant || place_.contains(storage)) continue;
      Lifetime& life = lives.try_emplace(storage, Lifetime{0, first, last}).first->second;
      life.last = last;
      life.bytes = std::max(life.bytes, bytes_of(id, buffer, bands_of(compiled_, p)));
    }
  }

  /// Tensors that several parts of the bands write begin before the first of them.
  void fill_before(ModelBands& bands) {
    ModelBandLoop first;
    for (std::size_t c = bands.first; c < bands.first + bands.count; ++c) {
      for (const FilledTensor& fill : linked_.calls[c].fill) first.steps.push_back({c, fill});
      linked_.calls[c].fill.clear();
    }
    if (!first.steps.empty()) bands.loops.insert(bands.loops.begin(), std::move(first));
  }

  Result<ModelBands> bands_of_calls(const CompiledBands& bands) {
    return link_bands(compiled_, bands,
                      {model_.kernel, [&](TensorId id) { return place_.at(id); },
                       [&](std::size_t kernel, const SlicedConstants& slices) {
                         const std::size_t p = bands.group.first + bands.schedule.kernels[kernel].part;
                         return call(compiled_.parts[p].name, bands.programs[kernel], bands.kernels[kernel],
                                     workspace_at_[p], slices);
                       }});
  }

  Result<PartCall> call(const std::string& name, std::size_t number, const Kernel& kernel, std::int64_t workspace,
                        const SlicedConstants& slices) {
    const Program& program = linked_.programs[number];
    PartCall made{name, number, std::vector<ModelPlace>(program.buffers.size()), {}, {}, 0};
    if (workspaces_[number] > 0) made.workspace = {ModelPlace::In::arena, workspace};
    std::vector<BufferId> packed;
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.role != BufferRole::argument && !buffer.ahead_of_time) continue;
      if (buffer.ahead_of_time) {
        packed.push_back(make_id<BufferId>(b));
        continue;
      }
      const Tensor& tensor = kernel.tensors[buffer.tensor.index()];
      const TensorId id = number_.at(tensor.name);
      if (!used_[number].contains(make_id<BufferId>(b)) && !tensor.inout &&
          role_of(kernel, buffer.tensor) == Role::input)
        continue;
      made.arguments[b] = tensor.constant ? weights_.unpacked(id, slices) : place_.at(id);
      if (tensor.inout && started_.insert(id).second) begin(id, made);
    }
    if (packed.empty()) return made;
    const auto places = weights_.packed(program, number, kernel, slices);
    if (!places) return places.diagnostics();
    for (std::size_t i = 0; i < packed.size(); ++i) made.arguments[packed[i].index()] = (*places)[i];
    return made;
  }

  /// A tensor that several parts write begins at the identity of its first writer, unless they overwrite all of it.
  void begin(TensorId id, PartCall& made) const {
    const Tensor& tensor = model_.kernel.tensors[id.index()];
    if (tensor.inout) return;  // with the caller's values
    if (begins_anywhere(model_, compiled_, machine_, id)) return;
    const auto first = std::find_if(model_.kernel.statements.begin(), model_.kernel.statements.end(),
                                    [&](const Computation& s) { return s.write.tensor == id; });
    std::int64_t count = element_count(tensor);
    for (const CompiledBands& bands : compiled_.bands)
      if (const auto rows = bands.schedule.buffers.find(id); rows != bands.schedule.buffers.end())
        count = rows->second * slice_bytes(tensor, axis_of(bands, id)) / bytes(tensor.dtype);
    made.fill.push_back({place_.at(id), tensor.dtype, count, identity(first->reduction, tensor.dtype)});
  }

  const Model& model_;
  const CompiledModel& compiled_;
  const HardwareModel& machine_;
  ModelWeights weights_;
  ModelProgram linked_;
  std::vector<std::set<BufferId>> used_;    ///< by program, in its body
  std::vector<std::int64_t> workspaces_;    ///< by program: bytes
  std::vector<std::int64_t> workspace_at_;  ///< by part
  std::map<std::string, TensorId> number_;
  std::map<TensorId, ModelPlace> place_;      ///< of ports and tensors between parts
  std::map<TensorId, TensorId> overwritten_;  ///< tensors that live in the storage of the one that overwrites them
  std::set<TensorId> started_;                ///< tensors of several writers that were begun
};

}  // namespace

Result<ModelProgram> link_model(const Model& model, const CompiledModel& compiled, const std::vector<TensorData>& data,
                                const HardwareModel& machine) {
  return Linker(model, compiled, data, machine).link();
}

}  // namespace isamap
