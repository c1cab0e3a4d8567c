// SPDX-License-Identifier: Apache-2.0
#include "driver/model_weights.h"

#include <algorithm>
#include <cstring>

#include "isamap/program_on_machine.h"
#include "support/arithmetic.h"
#include "support/hash.h"

namespace isamap {
namespace {

/// These rows of a tensor, dense.
std::vector<std::uint8_t> rows_in(const TensorData& data, int axis, std::int64_t first, std::int64_t rows) {
  std::int64_t outer = 1, inner = bytes(data.dtype);
  for (std::size_t d = 0; d < data.shape.size(); ++d)
    if (static_cast<int>(d) != axis) (static_cast<int>(d) < axis ? outer : inner) *= data.shape[d];
  std::vector<std::uint8_t> made(static_cast<std::size_t>(outer * rows * inner));
  const std::int64_t all = data.shape[static_cast<std::size_t>(axis)];
  for (std::int64_t o = 0; o < outer; ++o)
    std::memcpy(made.data() + o * rows * inner, data.bytes.data() + (o * all + first) * inner,
                static_cast<std::size_t>(rows * inner));
  return made;
}

}  // namespace

ModelWeights::ModelWeights(const Kernel& kernel, const std::vector<TensorData>& data, const HardwareModel& machine)
    : data_(data), machine_(machine) {
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) number_[kernel.tensors[t].name] = make_id<TensorId>(t);
}

/// Programs of one part on other rows may pack its constants alike.
ModelPlace ModelWeights::append(const Bytes& one) {
  const std::uint64_t hash = fnv1a({reinterpret_cast<const char*>(one.data()), one.size()});
  const auto [begin, end] = appended_.equal_range({one.size(), hash});
  for (auto known = begin; known != end; ++known)
    if (std::equal(one.begin(), one.end(), bytes_.begin() + known->second))
      return {ModelPlace::In::weights, known->second};
  bytes_.resize(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes_.size()), place_align)));
  const ModelPlace place{ModelPlace::In::weights, static_cast<std::int64_t>(bytes_.size())};
  bytes_.insert(bytes_.end(), one.begin(), one.end());
  appended_.emplace(std::pair(one.size(), hash), place.at);
  return place;
}

ModelPlace ModelWeights::append(const std::vector<Bytes>& by_band) {
  if (std::all_of(by_band.begin(), by_band.end(), [&](const Bytes& one) { return one == by_band.front(); }))
    return append(by_band.front());
  Bytes all;
  for (const Bytes& one : by_band) {
    all.insert(all.end(), one.begin(), one.end());
    all.resize(static_cast<std::size_t>(round_up(static_cast<std::int64_t>(all.size()), place_align)));
  }
  ModelPlace place = append(all);
  place.step = static_cast<std::int64_t>(all.size() / by_band.size());
  return place;
}

ModelPlace ModelWeights::unpacked(TensorId id, const SlicedConstants& sliced) {
  if (const auto slices = sliced.find(id); slices != sliced.end()) {
    std::vector<Bytes> by_band;
    for (const std::int64_t first : slices->second.first)
      by_band.push_back(rows_in(data_[id.index()], slices->second.axis, first, slices->second.rows));
    return append(by_band);
  }
  const auto known = whole_.find(id);
  return known != whole_.end() ? known->second : whole_[id] = append(data_[id.index()].bytes);
}

std::vector<TensorData> ModelWeights::values_in(const Kernel& part, const SlicedConstants& sliced,
                                                std::size_t band) const {
  std::vector<TensorData> own;
  for (const Tensor& tensor : part.tensors) {
    const TensorId id = number_.at(tensor.name);
    own.push_back(tensor.constant ? data_[id.index()] : make_data(tensor));
    if (const auto slices = sliced.find(id); tensor.constant && slices != sliced.end())
      own.back().bytes = rows_in(own.back(), slices->second.axis, slices->second.first[band], slices->second.rows);
    own.back().shape = tensor.shape;
  }
  return own;
}

Result<std::vector<ModelPlace>> ModelWeights::packed(const Program& program, std::size_t number, const Kernel& part,
                                                     const SlicedConstants& sliced) {
  std::vector<TensorId> sources;
  for (const Tensor& tensor : part.tensors)
    if (tensor.constant) sources.push_back(number_.at(tensor.name));
  const auto [known, is_new] = packed_.try_emplace({number, sources, sliced});
  if (!is_new) return known->second;
  std::vector<std::vector<Bytes>> by_buffer;
  const std::size_t bands = sliced.empty() ? 1 : sliced.begin()->second.first.size();
  for (std::size_t band = 0; band < bands; ++band) {
    const auto made = pack(program, machine_, values_in(part, sliced, band));
    if (!made) return made.diagnostics();
    by_buffer.resize(made->size());
    for (std::size_t i = 0; i < made->size(); ++i) by_buffer[i].push_back((*made)[i].bytes);
  }
  for (const auto& by_band : by_buffer) known->second.push_back(append(by_band));
  return known->second;
}

}  // namespace isamap
