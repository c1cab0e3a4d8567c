// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/calibration.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "bench/cpu/measure.h"
#include "bench/cpu/ours.h"

namespace isamap::bench {
namespace {

constexpr std::int64_t smallest = std::int64_t{1} << 14, largest = std::int64_t{1} << 28;
constexpr double sample_operations = 2e8, sample_bytes = 4e6;

/// Is it a multiply-accumulate of these types, by the instruction's statement?
bool multiplies(const Instruction& instruction, const std::string& types) {
  if (!is_compute(instruction) || instruction.semantics.size() != 1) return false;
  const Computation& statement = instruction.statement();
  if (statement.reduction != Reduction::add || statement.reads.size() < 2) return false;
  const DType left = types == "f32" ? DType::f32 : types == "bf16" ? DType::bf16 : DType::u8;
  const DType right = types == "u8s8" ? DType::s8 : left, sum = types == "u8s8" ? DType::s32 : DType::f32;
  std::vector<DType> factors;
  std::vector<TensorId> seen;
  for (const Access& read : statement.reads) {
    if (std::find(seen.begin(), seen.end(), read.tensor) != seen.end()) continue;
    seen.push_back(read.tensor);
    const auto type = instruction.operands[read.tensor.index()].dtype;
    if (!type) return false;
    factors.push_back(*type);
  }
  return factors == std::vector{left, right} && instruction.operands[statement.write.tensor.index()].dtype == sum;
}

double best_rate(PeakProgram& program, double work) {
  program.run();
  double best = 0;
  for (int sample = 0; sample < 7; ++sample) {
    const double begin = thread_seconds();
    program.run();
    best = std::max(best, work / std::max(thread_seconds() - begin, 1e-9));
  }
  return best;
}

/// The same number of operations for all, so that call overhead is equal.
std::unique_ptr<PeakProgram> with_results(const HardwareModel& model, InstructionId id, std::int64_t results) {
  const auto one = peak_code(model, id, {results});
  if (!one) return nullptr;
  double points = 2;
  for (const Dim& dim : one->kernel.statements[0].domain.dims) points *= static_cast<double>(dim.extent);
  auto made = peak_program(model, id, {results, static_cast<std::int64_t>(sample_operations / points) + 1});
  return made ? std::make_unique<PeakProgram>(std::move(*made)) : nullptr;
}

}  // namespace

PeakProgram* Calibration::compute(const std::string& types) {
  auto& kept = compute_[types];
  if (kept) return kept.get();
  double best = 0;
  for (const HardwareModel& model : models_for(types))
    for (std::size_t i = 0; i < model.instructions().size(); ++i) {
      const auto id = make_id<InstructionId>(i);
      if (!multiplies(model.instruction(id), types)) continue;
      const std::int64_t room = results_in_registers(model, id);
      // All registers and a few fewer, since compiler temporaries may spill accumulators.
      for (const std::int64_t results : {room, room - room / 8}) {
        auto program = results > 0 ? with_results(model, id, results) : nullptr;
        if (!program) continue;
        const double rate = best_rate(*program, program->operations());
        if (rate > best) best = rate, kept = std::move(program);
        if (room / 8 == 0) break;
      }
    }
  return kept.get();
}

double Calibration::stream_size(double bytes) {
  std::int64_t size = smallest;
  while (size < largest && static_cast<double>(size) < bytes) size *= 2;
  return static_cast<double>(size);
}

PeakProgram* Calibration::stream(double bytes) {
  const auto size = static_cast<std::int64_t>(stream_size(bytes));
  auto& kept = stream_[size];
  if (kept) return kept.get();
  constexpr std::int64_t streams = 8;
  for (const HardwareModel& model : models_for("f32"))
    for (std::size_t i = 0; i < model.instructions().size(); ++i) {
      const auto id = make_id<InstructionId>(i);
      const Instruction& instruction = model.instruction(id);
      if (!multiplies(instruction, "f32") || results_in_registers(model, id) < streams) continue;
      const auto& first = instruction.statement().reads[0];
      const auto one = peak_code(model, id, {streams, 1, 1, true});
      if (!one || first.index.empty()) continue;  // a scalar operand does not measure bandwidth
      const Tensor& read = one->kernel.tensors[one->kernel.statements[0].reads[0].tensor.index()];
      const std::int64_t step = byte_count(read);
      const auto passes = std::max<std::int64_t>(1, static_cast<std::int64_t>(sample_bytes) / size);
      // Hardware prefetchers favour one order or the other, depending on the size.
      double best = 0;
      for (const bool apart : {false, true}) {
        auto made = peak_program(model, id, {streams, std::max<std::int64_t>(size / step, 1), passes, true, apart});
        if (!made) continue;
        const double rate = best_rate(*made, made->bytes());
        if (rate > best) best = rate, kept = std::make_unique<PeakProgram>(std::move(*made));
      }
      if (kept) return kept.get();
    }
  return nullptr;
}

std::vector<Level> Calibration::levels() {
  std::vector<Level> found;
  const auto add = [&](const std::string& name, double room) {
    double size = static_cast<double>(smallest);
    while (size * 2 <= std::min(room, static_cast<double>(largest))) size *= 2;
    if (size > room || (!found.empty() && size <= found.back().bytes)) return;
    const std::string text =
        size < 1 << 20 ? fmt::format("{} KiB", size / 1024) : fmt::format("{} MiB", size / (1 << 20));
    if (PeakProgram* program = stream(size))
      found.push_back({fmt::format("{}, {}", name, text), size, best_rate(*program, program->bytes())});
  };
  // Half of a cache, leaving room for other data. The last level is shared, so a small part of it is measured
  // separately.
  const long first = sysconf(_SC_LEVEL1_DCACHE_SIZE), second = sysconf(_SC_LEVEL2_CACHE_SIZE),
             third = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (first > 0) add("L1", static_cast<double>(first) / 2);
  if (second > 0) add("L2", static_cast<double>(second) / 2);
  if (third > 0 && third >= 16 * second) add("L3", 8 * static_cast<double>(second));
  if (third > 0) add("L3", static_cast<double>(third) / 2);
  if (4.0 * static_cast<double>(third) <= static_cast<double>(largest)) add("memory", static_cast<double>(largest));
  return found;
}

}  // namespace isamap::bench
