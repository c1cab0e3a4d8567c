// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/common/process.h"
#include "ir/element_places.h"

namespace isamap {

/// Guard value between rows; the driver fills arrays with it.
constexpr std::uint8_t gap = 0xff;

RunPlan make_run_plan(const Program& program, const TranslationUnit& unit, bool by_name) {
  RunPlan plan;
  plan.entry.function = by_name || unit.run_as.empty() ? unit.name : unit.run_as;
  std::vector<std::size_t> array_of(program.buffers.size(), 0);
  for (const EntryArgument& a : unit.arguments) {
    const Buffer& buffer = program.buffers[a.buffer.index()];
    const bool packed = buffer.ahead_of_time;
    const Role role = packed ? Role::intermediate : role_of(program.kernel, buffer.tensor);
    const bool inout = !packed && program.kernel.tensors[buffer.tensor.index()].inout;
    array_of[a.buffer.index()] = plan.arrays.size();
    plan.entry.arrays.push_back(plan.arrays.size());
    plan.arrays.push_back(
        {a.bytes, std::max<std::int64_t>(buffer.align, 64), role == Role::input || inout, role == Role::output});
    plan.tensors.push_back(packed ? TensorId{} : buffer.tensor);
    plan.strides.push_back(buffer.strides);
  }
  if (!unit.pack.empty()) plan.pack.function = by_name || unit.pack_as.empty() ? unit.name + "_pack" : unit.pack_as;
  for (const EntryArgument& a : unit.pack) plan.pack.arrays.push_back(array_of[a.buffer.index()]);
  if (unit.workspace) {  // the last argument of both
    plan.entry.arrays.push_back(plan.arrays.size());
    if (!unit.pack.empty()) plan.pack.arrays.push_back(plan.arrays.size());
    plan.arrays.push_back({unit.workspace->bytes, unit.workspace->align, false, false});
    plan.tensors.emplace_back();
    plan.strides.emplace_back();
  }
  return plan;
}

bool write_inputs(const RunPlan& plan, const std::vector<TensorData>& data, const std::filesystem::path& folder) {
  for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
    if (!plan.arrays[a].input) continue;
    const TensorData& from = data[plan.tensors[a].index()];
    const auto width = static_cast<std::size_t>(bytes(from.dtype));
    std::vector<std::uint8_t> array(static_cast<std::size_t>(plan.arrays[a].bytes), gap);
    for_each_place(from.shape, plan.strides[a], [&](std::int64_t i, std::int64_t place) {
      std::memcpy(array.data() + static_cast<std::size_t>(place) * width,
                  from.bytes.data() + static_cast<std::size_t>(i) * width, width);
    });
    if (!write_file(folder / fmt::format("{}.in", a), array.data(), array.size())) return false;
  }
  return true;
}

std::optional<Diagnostic> read_outputs(const RunPlan& plan, const Program& program, std::vector<TensorData>& data,
                                       const std::filesystem::path& folder) {
  for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
    if (!plan.arrays[a].output) continue;
    const auto size = static_cast<std::size_t>(plan.arrays[a].bytes);
    const std::string found = read_file(folder / fmt::format("{}.out", a), size);
    TensorData& to = data[plan.tensors[a].index()];
    if (found.size() != size)
      return error(fmt::format("'{}' wrote {} bytes instead of {}", program.name, found.size(), size));
    const auto width = static_cast<std::size_t>(bytes(to.dtype));
    std::vector<bool> written(found.size(), false);
    for_each_place(to.shape, plan.strides[a], [&](std::int64_t i, std::int64_t place) {
      const std::size_t at = static_cast<std::size_t>(place) * width;
      std::memcpy(to.bytes.data() + static_cast<std::size_t>(i) * width, found.data() + at, width);
      std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at), width, true);
    });
    for (std::size_t at = 0; at < found.size() && to.count() > 0; ++at)
      if (!written[at] && static_cast<std::uint8_t>(found[at]) != gap)
        return error(fmt::format("'{}' wrote into the padding between rows of '{}', {} bytes after its first element",
                                 program.name, program.kernel.tensors[plan.tensors[a].index()].name, at));
  }
  return std::nullopt;
}

}  // namespace isamap
