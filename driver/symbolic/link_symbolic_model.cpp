// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/link_symbolic_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "driver/link_bands.h"
#include "driver/model_weights.h"
#include "frontends/layers.h"
#include "planner/arena.h"

namespace isamap {
namespace {

/// The tensors of a model, and where the program has them.
class PlacedTensors {
 protected:
  PlacedTensors(const SymbolicLinking& with, CompiledSymbolicModelParts& made)
      : with_(with), kernel_(with.sample.kernel), made_(made) {
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) number_[kernel_.tensors[t].name] = make_id<TensorId>(t);
  }

  /// What a program computes: a kernel whose tensors are these of the model.
  struct Computed {
    const Kernel& kernel;
    std::vector<TensorId> tensors;
  };

  /// Of a kernel with the model's names.
  Computed computed(const Kernel& kernel) const {
    std::vector<TensorId> tensors;
    for (const Tensor& tensor : kernel.tensors) tensors.push_back(number_.at(tensor.name));
    return {kernel, std::move(tensors)};
  }
  Computed computed(const RecurrentPart& recurrent) const {
    std::vector<TensorId> tensors;
    for (const StepTensor& tensor : recurrent.tensors) tensors.push_back(number_.at(tensor.whole));
    return {recurrent.step.sample, std::move(tensors)};
  }

  SymbolicModelProgram& linked() { return made_.program; }
  const Tensor& tensor(TensorId id) const { return kernel_.tensors[id.index()]; }
  SymbolicPort port(TensorId id, const std::string& name) const {
    return {name, tensor(id).dtype, with_.shapes[id.index()]};
  }
  /// So many rows of it, along this axis.
  SymbolicPort rows_port(TensorId id, int axis, std::int64_t rows) const {
    SymbolicPort some = port(id, "");
    some.shape[static_cast<std::size_t>(axis)] = AffineExpr(rows);
    return some;
  }

  void place_ports() {
    for (const TensorId id : with_.sample.inputs) {
      place_.try_emplace(id, place_in(ModelPlace::In::input, linked().inputs.size()));
      linked().inputs.push_back(port(id, with_.sample.file_names.at(id)));
    }
    for (const TensorId id : with_.sample.outputs) {
      place_.try_emplace(id, place_in(ModelPlace::In::output, linked().outputs.size()));
      linked().outputs.push_back(port(id, with_.sample.file_names.at(id)));
    }
  }

  static SymbolicPlace place_in(ModelPlace::In in, std::size_t at) { return {{in, static_cast<std::int64_t>(at)}}; }

  const SymbolicBandParts* bands_of(std::size_t p) const {
    for (const SymbolicBandParts& bands : with_.bands)
      if (p >= bands.group.first && p < bands.group.first + bands.group.count) return &bands;
    return nullptr;
  }

  /// Parts in bands run in turns.
  void add_lives(std::size_t p, const SymbolicPartProgram& code, const Computed& part,
                 std::map<TensorId, Lifetime>& lives) const {
    const SymbolicBandParts* bands = bands_of(p);
    const std::size_t first = bands ? bands->group.first : p, last = bands ? first + bands->group.count - 1 : p;
    for (std::size_t t = 0; t < part.tensors.size(); ++t) {
      const TensorId id = part.tensors[t];
      if (tensor(id).constant || place_.contains(id)) continue;
      if (argument_program(code) && role_of(part.kernel, make_id<TensorId>(t)) == Role::intermediate) continue;
      Lifetime& life = lives.try_emplace(id, Lifetime{0, first, last}).first->second;
      life.last = last;
      life.bytes = byte_count(tensor(id));
    }
  }

  std::map<TensorId, Lifetime> lives_of_tensors() {
    std::map<TensorId, Lifetime> lives;
    for (std::size_t p = 0; p < made_.parts.size(); ++p) {
      const auto& recurrent = with_.recurrent[p];
      add_lives(p, linked().programs[made_.parts[p].program],
                recurrent ? computed(*recurrent) : computed(with_.kernels[p].sample), lives);
      const SymbolicBandParts* bands = bands_of(p);
      for (std::size_t k = 0; bands && k < bands->kernels.size(); ++k)
        if (bands->group.first + bands->schedule.kernels[k].part == p)
          add_lives(p, linked().programs[bands->programs[k]], computed(bands->kernels[k].sample), lives);
    }
    return lives;
  }

  /// A tensor takes the slot of one that is no longer needed and nearest to it in bytes at the sample.
  void place_tensors() {
    const std::map<TensorId, Lifetime> lives = lives_of_tensors();
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
      linked().slots[best].tensors.push_back(port(id, tensor(id).name));
      place_[id] = place_in(ModelPlace::In::arena, best);
    }
  }

  /// Buffers of bands may have rows in front of the tensor and behind it.
  void widen_slots(const SymbolicBandParts& bands) {
    for (const auto& [id, rows] : bands.schedule.buffers)
      if (const SymbolicPlace& place = place_.at(id); place.in == ModelPlace::In::arena)
        linked().slots[static_cast<std::size_t>(place.at)].tensors.push_back(
            rows_port(id, row_axis(kernel_, bands.schedule.axes, id), rows));
  }

  /// To this row along an axis, and so many rows further each time.
  void move_rows(SymbolicPlace& place, TensorId id, int axis, std::int64_t row, std::int64_t step) const {
    const auto& shape = with_.shapes[id.index()];
    place.row.assign(shape.begin() + axis + 1, shape.end());
    place.offset = row * bytes(tensor(id).dtype);
    place.step = step * bytes(tensor(id).dtype);
  }

  const SymbolicLinking& with_;
  const Kernel& kernel_;
  CompiledSymbolicModelParts& made_;
  std::map<std::string, TensorId> number_;
  std::map<TensorId, SymbolicPlace> place_;
};

class SymbolicLinker : PlacedTensors {
 public:
  SymbolicLinker(const SymbolicLinking& with, const HardwareModel& machine, CompiledSymbolicModelParts& made)
      : PlacedTensors(with, made), weights_(kernel_, with.constants, machine) {}

  Diagnostics link() {
    place_ports();
    place_tensors();
    auto bands = with_.bands.begin();
    for (std::size_t p = 0; p < made_.parts.size(); ++p) {
      const bool begins = bands != with_.bands.end() && bands->group.first == p;
      const std::set<TensorId> started = started_;
      const std::size_t end = begins ? p + bands->group.count : p + 1;
      for (; p < end; ++p)
        if (auto problems = whole_part(p); !problems.empty()) return problems;
      --p;
      if (begins)
        if (auto problems = in_bands(*bands++, started); !problems.empty()) return problems;
      add_results(end);
    }
    linked().weights = weights_.bytes();
    return {};
  }

 private:
  using PlaceOf = std::function<SymbolicPlace(TensorId)>;  ///< of a tensor of a kernel

  Diagnostics whole_part(std::size_t p) {
    const Computed part = computed(with_.kernels[p].sample);
    SymbolicCall made{
        made_.parts[p].name, made_.parts[p].program, linked().programs[made_.parts[p].program].seconds, {}, {}, {}};
    begin_sums(part, made);
    const auto& recurrent = with_.recurrent[p];
    auto problems = recurrent ? add_arguments(
                                    computed(*recurrent), {}, [&](TensorId t) { return slice(*recurrent, t); }, made)
                              : add_arguments(
                                    part, {}, [&](TensorId t) { return place_of_whole(part, t); }, made);
    if (recurrent) made.loop = recurrent->loop;
    linked().calls.push_back(std::move(made));
    return problems;
  }

  SymbolicPlace place_of_whole(const Computed& part, TensorId t) {
    const TensorId id = part.tensors[t.index()];
    return tensor(id).constant ? SymbolicPlace{weights_.unpacked(id, {})} : place_.at(id);
  }

  /// A tensor of a step: its slice in step 0.
  SymbolicPlace slice(const RecurrentPart& recurrent, TensorId t) {
    const StepTensor& of = recurrent.tensors[t.index()];
    const TensorId id = number_.at(of.whole);
    SymbolicPlace place = tensor(id).constant ? SymbolicPlace{weights_.unpacked(id, {})} : place_.at(id);
    if (of.axis >= 0) move_rows(place, id, of.axis, of.offset, 1);
    return place;
  }

  /// `end`: behind a part, or parts in bands, which are observed together.
  void add_results(std::size_t end) {
    const SymbolicBandParts* bands = bands_of(end - 1);
    const Kernel of =
        bands ? cut(kernel_, statements_of(made_, linked().bands.back()), "bands") : with_.kernels[end - 1].sample;
    for (const TensorId t : traced_tensors(of)) {
      const TensorId id = number_.at(of.tensors[t.index()].name);
      linked().calls.back().results.push_back({place_.at(id), port(id, "")});
    }
  }

  void begin_sums(const Computed& part, SymbolicCall& made) {
    for (std::size_t t = 0; t < part.tensors.size(); ++t)
      if (part.kernel.tensors[t].inout && started_.insert(part.tensors[t]).second) begin(part.tensors[t], made);
  }

  /// The arguments of a call of a program that computes `part`.
  Diagnostics add_arguments(const Computed& part, const SlicedConstants& slices, const PlaceOf& place_of,
                            SymbolicCall& made) {
    const Program* const program = argument_program(linked().programs[made.program]);
    if (!program)
      for (std::size_t t = 0; t < part.tensors.size(); ++t) made.arguments.push_back(place_of(make_id<TensorId>(t)));
    std::vector<BufferId> packed;
    for (std::size_t b = 0; program && b < program->buffers.size(); ++b) {
      const Buffer& buffer = program->buffers[b];
      auto& place = made.arguments.emplace_back();
      if (buffer.ahead_of_time)
        packed.push_back(make_id<BufferId>(b));
      else if (buffer.role == BufferRole::argument)
        place = place_of(buffer.tensor);
    }
    if (packed.empty()) return {};
    Kernel shaped = part.kernel;
    for (std::size_t t = 0; t < shaped.tensors.size(); ++t) {
      shaped.tensors[t].name = tensor(part.tensors[t]).name;
      shaped.tensors[t].shape = program->kernel.tensors[t].shape;
    }
    const auto places = weights_.packed(*program, made.program, shaped, slices);
    if (!places) return places.diagnostics();
    for (std::size_t i = 0; i < packed.size(); ++i) made.arguments[packed[i].index()] = SymbolicPlace{(*places)[i]};
    return {};
  }

  /// A tensor that several parts write begins at the identity of its first writer.
  void begin(TensorId id, SymbolicCall& made) const {
    if (tensor(id).inout) return;
    const auto first = std::find_if(kernel_.statements.begin(), kernel_.statements.end(),
                                    [&](const Computation& s) { return s.write.tensor == id; });
    made.fill.push_back({place_.at(id), port(id, ""), identity(first->reduction, tensor(id).dtype)});
  }

  // Bands.

  /// `started`: tensors of several writers that were begun before these parts.
  Diagnostics in_bands(const SymbolicBandParts& bands, const std::set<TensorId>& started) {
    std::set<TensorId> after = started;
    std::swap(after, started_);
    widen_slots(bands);
    SymbolicBands made{bands.group.first, bands.group.count, bands.group.by, {}, {}, bands.bytes};
    for (const auto& [id, rows] : bands.schedule.buffers) made.between.push_back(port(id, ""));
    for (const auto& [id, by] : bands.schedule.in_place) made.between.push_back(port(id, ""));
    SymbolicBandLoop fills;
    for (const BandLoop& loop : bands.schedule.loops) {
      SymbolicBandLoop one{loop.times, {}};
      for (std::size_t s = 0; s < loop.steps.size(); ++s) {
        auto step = step_of(bands, loop, s);
        if (!step) return step.diagnostics();
        if (auto* const called = std::get_if<SymbolicCall>(&step->is)) {
          for (const SymbolicFill& fill : called->fill) fills.steps.push_back({step->call, fill});
          called->fill.clear();
        }
        one.steps.push_back(std::move(*step));
      }
      made.loops.push_back(std::move(one));
    }
    if (!fills.steps.empty()) made.loops.insert(made.loops.begin(), std::move(fills));
    started_.merge(after);
    linked().bands.push_back(std::move(made));
    return {};
  }

  Result<SymbolicBandStep> step_of(const SymbolicBandParts& bands, const BandLoop& loop, std::size_t s) {
    const BandStep& step = loop.steps[s];
    const std::size_t c = bands.group.first + step.part;
    if (step.kind != BandStep::Kind::call) return SymbolicBandStep{c, filled_or_moved(bands, step)};
    const Part& part = made_.plan.parts[c];
    const Computed computes = computed(bands.kernels[step.kernel].sample);
    const SlicedConstants slices = sliced_constants(kernel_, part, bands.schedule, loop, s);
    SymbolicCall made{made_.parts[c].name, bands.programs[step.kernel], 0, {}, {}, {}};
    begin_sums(computes, made);
    auto problems = add_arguments(
        computes, slices,
        [&](TensorId t) {
          const TensorId id = computes.tensors[t.index()];
          if (tensor(id).constant) return SymbolicPlace{weights_.unpacked(id, slices)};
          const auto row = step.at.find(id);
          if (row == step.at.end()) return place_.at(id);
          const auto move = loop.moves[s].find(id);
          return at_row(id, row_axis_in(kernel_, part, bands.schedule, id), row->second,
                        move == loop.moves[s].end() ? 0 : move->second);
        },
        made);
    if (!problems.empty()) return problems;
    return SymbolicBandStep{c, std::move(made)};
  }

  SymbolicPlace at_row(TensorId id, int axis, std::int64_t row, std::int64_t step) const {
    SymbolicPlace place = place_.at(id);
    move_rows(place, id, axis, row, step);
    return place;
  }

  std::variant<SymbolicCall, SymbolicFill, SymbolicMove> filled_or_moved(const SymbolicBandParts& bands,
                                                                         const BandStep& step) const {
    const int axis = row_axis(kernel_, bands.schedule.axes, step.tensor);
    const SymbolicPort rows = rows_port(step.tensor, axis, step.rows);
    const SymbolicPlace from = at_row(step.tensor, axis, step.from, 0);
    if (step.kind == BandStep::Kind::move) return SymbolicMove{from, place_.at(step.tensor), rows};
    return SymbolicFill{from, rows, convert({step.value, 0}, DType::f64, rows.dtype, true)};
  }

  ModelWeights weights_;
  std::set<TensorId> started_;
};

}  // namespace

Diagnostics link_symbolic_model(const SymbolicLinking& with, const HardwareModel& machine,
                                CompiledSymbolicModelParts& made) {
  return SymbolicLinker(with, machine, made).link();
}

std::vector<TensorId> traced_tensors(const Kernel& part) {
  std::vector<TensorId> list;
  for (std::size_t t = 0; t < part.tensors.size(); ++t)
    if (role_of(part, make_id<TensorId>(t)) == Role::output) list.push_back(make_id<TensorId>(t));
  return list;
}

std::vector<std::size_t> statements_of(const CompiledSymbolicModelParts& compiled, const SymbolicBands& bands) {
  std::vector<std::size_t> all;
  for (std::size_t p = bands.first; p < bands.first + bands.count; ++p)
    all.insert(all.end(), compiled.parts[p].statements.begin(), compiled.parts[p].statements.end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace isamap
