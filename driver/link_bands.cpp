// SPDX-License-Identifier: Apache-2.0
#include "driver/link_bands.h"

namespace isamap {
namespace {

class BandLinker {
 public:
  BandLinker(const CompiledModel& compiled, const CompiledBands& bands, const BandLinking& with)
      : compiled_(compiled), bands_(bands), with_(with) {
    for (std::size_t t = 0; t < with.kernel.tensors.size(); ++t)
      number_[with.kernel.tensors[t].name] = make_id<TensorId>(t);
  }

  Result<ModelBands> run() {
    ModelBands made{bands_.group.first, bands_.group.count, bands_.group.by, {}};
    for (const BandLoop& loop : bands_.schedule.loops) {
      ModelBandLoop& one = made.loops.emplace_back();
      one.times = loop.times;
      for (std::size_t s = 0; s < loop.steps.size(); ++s) {
        const BandStep& step = loop.steps[s];
        const std::size_t call = bands_.group.first + step.part;
        if (step.kind != BandStep::Kind::call) {
          one.steps.push_back({call, filled_or_moved(step)});
          continue;
        }
        auto at = call_of(loop, s);
        if (!at) return at.diagnostics();
        one.steps.push_back({call, std::move(*at)});
      }
    }
    return made;
  }

 private:
  const Tensor& tensor(TensorId id) const { return with_.kernel.tensors[id.index()]; }
  const Part& part_of(std::size_t part) const { return compiled_.plan.parts[bands_.group.first + part]; }

  /// From one row to the next, in the part that reads or writes the tensor.
  std::int64_t row_bytes_in(std::size_t part, TensorId id) const {
    return row_bytes(tensor(id), row_axis_in(with_.kernel, part_of(part), bands_.schedule, id));
  }

  Result<PartCall> call_of(const BandLoop& loop, std::size_t number) {
    const BandStep& step = loop.steps[number];
    const std::map<TensorId, std::int64_t>& moves = loop.moves[number];
    const Compilation& compilation = *compiled_.programs[bands_.programs[step.kernel]];
    auto made =
        with_.call(step.kernel, sliced_constants(with_.kernel, part_of(step.part), bands_.schedule, loop, number));
    if (!made) return made;
    const Kernel& kernel = bands_.kernels[step.kernel];
    for (std::size_t b = 0; b < made->arguments.size(); ++b) {
      const Buffer& buffer = compilation.program->buffers[b];
      ModelPlace& place = made->arguments[b];
      if (buffer.ahead_of_time || place.in == ModelPlace::In::nowhere || place.in == ModelPlace::In::weights) continue;
      const TensorId id = number_.at(kernel.tensors[buffer.tensor.index()].name);
      const auto row = step.at.find(id);
      if (row == step.at.end()) continue;
      const std::int64_t size = row_bytes_in(step.part, id);
      place.offset = row->second * size;
      if (const auto move = moves.find(id); move != moves.end()) place.step = move->second * size;
    }
    return made;
  }

  std::variant<PartCall, FilledTensor, MovedRows> filled_or_moved(const BandStep& step) const {
    const Tensor& of = tensor(step.tensor);
    const std::int64_t size = row_bytes(of, row_axis(with_.kernel, bands_.schedule.axes, step.tensor));
    const ModelPlace start = with_.place(step.tensor);
    ModelPlace from = start;
    from.offset = step.from * size;
    if (step.kind == BandStep::Kind::move) return MovedRows{from, start, step.rows * size};
    return FilledTensor{from, of.dtype, step.rows * size / bytes(of.dtype),
                        convert({step.value, 0}, DType::f64, of.dtype, true)};
  }

  const CompiledModel& compiled_;
  const CompiledBands& bands_;
  const BandLinking& with_;
  std::map<std::string, TensorId> number_;
};

}  // namespace

SlicedConstants sliced_constants(const Kernel& kernel, const Part& part, const BandSchedule& schedule,
                                 const BandLoop& loop, std::size_t step) {
  SlicedConstants found;
  const BandStep& call = loop.steps[step];
  if (schedule.kernels[call.kernel].rest) return found;
  const auto rows = rows_of(kernel, part, schedule.axes);
  for (const RowWindow& window : rows->reads) {
    if (!kernel.tensors[window.tensor.index()].constant) continue;
    ConstantSlices& slices = found[window.tensor];
    slices.axis = window.axis;
    slices.rows = window.step * (call.rows - 1) + window.high - window.low + 1;
    const auto move = loop.moves[step].find(window.tensor);
    for (std::int64_t band = 0; band < loop.times; ++band)
      slices.first.push_back(call.at.at(window.tensor) + (move == loop.moves[step].end() ? 0 : band * move->second));
  }
  return found;
}

int row_axis_in(const Kernel& kernel, const Part& part, const BandSchedule& schedule, TensorId tensor) {
  const auto rows = rows_of(kernel, part, schedule.axes);
  for (const RowWindow& window : rows->reads)
    if (window.tensor == tensor) return window.axis;
  return row_axis(kernel, schedule.axes, tensor);
}

Result<ModelBands> link_bands(const CompiledModel& compiled, const CompiledBands& bands, const BandLinking& with) {
  return BandLinker(compiled, bands, with).run();
}

}  // namespace isamap
