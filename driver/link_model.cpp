// SPDX-License-Identifier: Apache-2.0
// Places every tensor of a model and every packed weight, and lists the calls.

#include <algorithm>
#include <map>
#include <set>

#include "backends/cpp/model/model_unit.h"
#include "driver/compile_model.h"
#include "driver/link_bands.h"
#include "isamap/program_on_machine.h"
#include "planner/arena.h"
#include "support/arithmetic.h"
#include "support/hash.h"
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
      : model_(model), compiled_(compiled), data_(data), machine_(machine) {}

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
      auto made = call(compiled_.parts[p].name, compiled_.parts[p].program, kernel_of(p), workspace_at_[p]);
      if (!made) return made.diagnostics();
      made->seconds = compiled_.parts[p].predicted_cycles / machine_.clock_hz;
      linked_.calls.push_back(std::move(*made));
      if (bands == nullptr || p + 1 < bands->group.first + bands->group.count) continue;
      auto loops = bands_of_calls(*bands);
      if (!loops) return loops.diagnostics();
      fill_before(*loops);
      linked_.bands.push_back(std::move(*loops));
    }
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
    const CompiledBands* bands = bands_of(compiled_, p);
    if (bands == nullptr) return compiled_.parts[p].kernel;
    const auto at = std::find(bands->programs.begin(), bands->programs.end(), compiled_.parts[p].program);
    return bands->kernels[static_cast<std::size_t>(at - bands->programs.begin())];
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
    return rows == bands->schedule.buffers.end() ? element_count(tensor) * bytes(tensor.dtype)
                                                 : rows->second * row_bytes(tensor, row_axis(tensor));
  }

  Diagnostics find_workspaces() {
    for (const Program& program : linked_.programs) {
      const auto workspace = workspace_of(program, machine_);
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
    std::map<TensorId, Lifetime> lives;
    for (std::size_t p = 0; p < compiled_.parts.size(); ++p) {
      const CompiledPart& part = compiled_.parts[p];
      const auto [first, last] = turns_of(p);
      for (const Buffer& buffer : linked_.programs[part.program].buffers) {
        if (buffer.role != BufferRole::argument || buffer.ahead_of_time) continue;
        const Tensor& tensor = part.kernel.tensors[buffer.tensor.index()];
        const TensorId id = number_.at(tensor.name);
        if (tensor.constant || place_.contains(id)) continue;
        Lifetime& life = lives.try_emplace(id, Lifetime{0, first, last}).first->second;
        life.last = last;
        life.bytes = std::max(life.bytes, bytes_of(id, buffer, bands_of(compiled_, p)));
      }
    }
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
    linked_.arena_bytes = arena.bytes;
    linked_.arena_bound = arena.bound;
    return {};
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
                       [&](std::size_t kernel) {
                         const std::size_t p = bands.group.first + bands.schedule.kernels[kernel].part;
                         return call(compiled_.parts[p].name, bands.programs[kernel], bands.kernels[kernel],
                                     workspace_at_[p]);
                       }});
  }

  Result<PartCall> call(const std::string& name, std::size_t number, const Kernel& kernel, std::int64_t workspace) {
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
      made.arguments[b] = tensor.constant ? raw_weight(id) : place_.at(id);
      if (tensor.inout && started_.insert(id).second) begin(id, made);
    }
    if (!packed.empty())
      if (auto problems = pack(kernel, packed, made); !problems.empty()) return problems;
    return made;
  }

  /// A tensor that several parts write begins at the identity of its first writer.
  void begin(TensorId id, PartCall& made) const {
    const Tensor& tensor = model_.kernel.tensors[id.index()];
    if (tensor.inout) return;  // with the caller's values
    const auto first = std::find_if(model_.kernel.statements.begin(), model_.kernel.statements.end(),
                                    [&](const Computation& s) { return s.write.tensor == id; });
    std::int64_t count = element_count(tensor);
    for (const CompiledBands& bands : compiled_.bands)
      if (const auto rows = bands.schedule.buffers.find(id); rows != bands.schedule.buffers.end())
        count = rows->second * row_bytes(tensor, row_axis(tensor)) / bytes(tensor.dtype);
    made.fill.push_back({place_.at(id), tensor.dtype, count, identity(first->reduction, tensor.dtype)});
  }

  /// Programs of one part on other rows may pack its constants alike: equal bytes are there once.
  ModelPlace append(const std::vector<std::uint8_t>& bytes) {
    auto& all = linked_.weights;
    const std::uint64_t hash = fnv1a({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const auto [begin, end] = appended_.equal_range({bytes.size(), hash});
    for (auto known = begin; known != end; ++known)
      if (std::equal(bytes.begin(), bytes.end(), all.begin() + known->second))
        return {ModelPlace::In::weights, known->second};
    all.resize(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(all.size()), place_align)));
    const ModelPlace place{ModelPlace::In::weights, static_cast<std::int64_t>(all.size())};
    all.insert(all.end(), bytes.begin(), bytes.end());
    appended_.emplace(std::pair(bytes.size(), hash), place.at);
    return place;
  }

  ModelPlace raw_weight(TensorId id) {
    const auto known = place_.find(id);
    if (known != place_.end()) return known->second;
    return place_[id] = append(data_[id.index()].bytes);
  }

  /// What the pack entry makes of the constant tensors of this part; the same of the same tensors once.
  Diagnostics pack(const Kernel& kernel, const std::vector<BufferId>& buffers, PartCall& made) {
    const Program& program = linked_.programs[made.program];
    std::vector<TensorData> own;
    std::vector<TensorId> sources;
    for (const Tensor& tensor : kernel.tensors) {
      const TensorId id = number_.at(tensor.name);
      if (tensor.constant) sources.push_back(id);
      own.push_back(tensor.constant ? data_[id.index()] : make_data(tensor));
      own.back().shape = tensor.shape;
    }
    const auto [known, is_new] = packed_.try_emplace({made.program, sources});
    if (is_new) {
      const auto packed = isamap::pack(program, machine_, own);
      if (!packed) return packed.diagnostics();
      for (const TensorData& one : *packed) known->second.push_back(append(one.bytes));
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) made.arguments[buffers[i].index()] = known->second[i];
    return {};
  }

  const Model& model_;
  const CompiledModel& compiled_;
  const std::vector<TensorData>& data_;
  const HardwareModel& machine_;
  ModelProgram linked_;
  std::vector<std::set<BufferId>> used_;    ///< by program, in its body
  std::vector<std::int64_t> workspaces_;    ///< by program: bytes
  std::vector<std::int64_t> workspace_at_;  ///< by part
  std::map<std::string, TensorId> number_;
  std::map<TensorId, ModelPlace> place_;  ///< of ports, tensors between parts and unpacked weights
  std::multimap<std::pair<std::size_t, std::uint64_t>, std::int64_t> appended_;  ///< by size and hash
  std::set<TensorId> started_;  ///< tensors of several writers that were begun
  std::map<std::pair<std::size_t, std::vector<TensorId>>, std::vector<ModelPlace>> packed_;
};

}  // namespace

Result<ModelProgram> link_model(const Model& model, const CompiledModel& compiled, const std::vector<TensorData>& data,
                                const HardwareModel& machine) {
  return Linker(model, compiled, data, machine).link();
}

}  // namespace isamap
