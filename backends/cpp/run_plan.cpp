#include "backends/cpp/run_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/process.h"

namespace isamap {

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
  }
  if (!unit.pack.empty()) plan.pack.function = by_name || unit.pack_as.empty() ? unit.name + "_pack" : unit.pack_as;
  for (const EntryArgument& a : unit.pack) plan.pack.arrays.push_back(array_of[a.buffer.index()]);
  return plan;
}

bool write_inputs(const RunPlan& plan, const std::vector<TensorData>& data, const std::filesystem::path& folder) {
  for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
    if (!plan.arrays[a].input) continue;
    const auto& from = data[plan.tensors[a].index()].bytes;
    if (!write_file(folder / fmt::format("{}.in", a), from.data(), from.size())) return false;
  }
  return true;
}

std::optional<Diagnostic> read_outputs(const RunPlan& plan, const Program& program, std::vector<TensorData>& data,
                                       const std::filesystem::path& folder) {
  for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
    if (!plan.arrays[a].output) continue;
    const auto size = static_cast<std::size_t>(plan.arrays[a].bytes);
    const std::string found = read_file(folder / fmt::format("{}.out", a), size);
    auto& bytes = data[plan.tensors[a].index()].bytes;
    if (found.size() != size || bytes.size() != size)
      return error(fmt::format("'{}' wrote {} bytes instead of {}", program.name, found.size(), bytes.size()));
    std::copy(found.begin(), found.end(), bytes.begin());
  }
  return std::nullopt;
}

}  // namespace isamap
