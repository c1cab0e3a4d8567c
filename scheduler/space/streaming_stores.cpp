// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/streaming_stores.h"

#include <algorithm>
#include <set>

#include "hwdesc/model/async_kind.h"
#include "hwdesc/model/cache_line.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

/// Do the tensors of a statement exceed the private caches of a core, or every cache if the output is read next?
bool outgrow_caches(const Kernel& kernel, const Computation& statement, const HardwareModel& model) {
  const bool shared = kernel.tensors[statement.write.tensor.index()].output;
  std::int64_t own = 0, all = byte_count(kernel.tensors[statement.write.tensor.index()]);
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && (shared || (m.per.valid() && model.unit(m.per).scalar)))
      own = std::max(own, m.capacity);
  std::set<TensorId> read;
  for (const Access& a : statement.reads)
    if (read.insert(a.tensor).second) all += byte_count(kernel.tensors[a.tensor.index()]);
  return all > own;
}

/// A streaming store of whole cache lines.
bool is_streaming_store(const Instruction& move, DType dtype, const HardwareModel& model) {
  if (!is_move(move) || !completes_by_fence(move, model) || !move.link.valid()) return false;
  const Link& link = model.link(move.link);
  std::int64_t elements = 1;
  for (const DimRange& range : move.ranges) elements *= range.max;
  return link.via.empty() && link.to == model.home() && model.memory(link.from).is_register() &&
         type_refusal(move, 0, dtype).empty() && type_refusal(move, 1, dtype).empty() &&
         elements * bytes(dtype) % std::max<std::int64_t>(cache_line(model), 1) == 0;
}

}  // namespace

bool can_stream_stores(const Kernel& kernel, StatementId statement, const HardwareModel& model) {
  const Computation& computation = kernel.statements[statement.index()];
  const TensorId written = computation.write.tensor;
  const Tensor& output = kernel.tensors[written.index()];
  if (!outgrow_caches(kernel, computation, model)) return false;
  if (output.shape.empty() || output.inout || cache_line(model) == 0 || !kernel.repeats.empty()) return false;
  for (const Computation& s : kernel.statements)
    for (const Access& read : s.reads)
      if (read.tensor == written) return false;
  return output.shape.back() * bytes(output.dtype) % cache_line(model) == 0 &&
         std::any_of(model.instructions().begin(), model.instructions().end(),
                     [&](const Instruction& i) { return is_streaming_store(i, output.dtype, model); });
}

std::vector<std::string> streaming_store_moves(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                                               MemoryId registers) {
  std::vector<std::string> names;
  if (!can_stream_stores(kernel, statement, model)) return names;
  const DType dtype = kernel.tensors[kernel.statements[statement.index()].write.tensor.index()].dtype;
  for (const Instruction& i : model.instructions())
    if (is_streaming_store(i, dtype, model) && model.link(i.link).from == registers) names.push_back(i.name);
  return names;
}

std::vector<std::string> streaming_store_for(const CpuTemplate& form) {
  const HardwareModel& model = *form.model;
  const auto& hops = form.routes.front().hops;
  const bool packed = std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.packed; });
  if (packed || !in_registers(form, 0) || !form.cuts.empty()) return {};
  return streaming_store_moves(*form.kernel, form.mapping->statement, model, hops.back().memory);
}

}  // namespace isamap
