// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/gpu/mappings.h"

#include <algorithm>
#include <tuple>

#include "hwdesc/layout/bank_conflicts.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/operand_rows.h"
#include "scheduler/space/mapping_ranking.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr std::int64_t bytes_per_row = 16;  // bytes that moves read from each of neighbouring rows at once

/// Cycles of all calls on one processor, each as wide as the dims allow.
double cycles_of_calls(const BlockMapping& m, const HardwareModel& model) {
  const Instruction& instruction = *m.pairing.instruction;
  std::vector<std::int64_t> extents = full_extents(instruction);
  double calls = 1;
  for (const Dim& dim : m.statement.domain.dims) {
    const auto digit = m.pairing.digit_of.find(dim.name);
    if (digit == m.pairing.digit_of.end()) {
      calls *= static_cast<double>(dim.extent);
      continue;
    }
    std::int64_t& step = extents[digit->second];
    if (const std::int64_t own = chosen_step(m, dim.name, most_calls, dim.extent); own > 0) step = own;
    calls *= static_cast<double>(ceil_div(dim.extent, step));
  }
  return calls * interval_of(instruction, extents, model) / ports_of(instruction, model);
}

/// Is the contiguous dim of the output the last index of the output of a call?
bool rows_agree(const BlockMapping& m, const Kernel& kernel) {
  const Access& write = m.statement.write;
  const auto digit = m.pairing.digit_of.find(along_rows(write, kernel.tensors[write.tensor.index()]));
  const Computation& call = m.pairing.instruction->statement();
  return digit != m.pairing.digit_of.end() && !call.write.index.empty() &&
         call.write.index.back() == AffineExpr::dim(call.domain.dims[digit->second].name);
}

}  // namespace

std::int64_t pad_of_rows(const Memory& memory, std::int64_t row, std::int64_t element, const OperandFeed& feed) {
  if (memory.banks < 1 || memory.bank_width < 1) return 0;
  const bool by_element = !feed.concurrent_elements.empty();
  const std::int64_t size = std::max<std::int64_t>(element, 1),
                     piece = !by_element ? bytes_per_row : std::max(feed.copy_bytes, std::max(memory.bank_width, size)),
                     step = std::max<std::int64_t>(piece / size, 1),
                     together = std::max<std::int64_t>(memory.banks * memory.bank_width / bytes_per_row, 1);
  const auto degrees = [&](std::int64_t pad) {
    std::vector<std::vector<std::int64_t>> fetched;  // in groups that all banks serve at once
    std::vector<std::int64_t> moved;
    const std::int64_t served = std::max<std::int64_t>(memory.banks * memory.bank_width / size, 1);
    for (std::size_t p = 0; p < feed.concurrent_elements.size(); ++p) {
      if (static_cast<std::int64_t>(p) % served == 0) fetched.emplace_back();
      const OperandFeed::Place& place = feed.concurrent_elements[p];
      for (std::int64_t b = 0; b < size; ++b)
        fetched.back().push_back((place.row * (row + pad) + place.column) * size + b);
    }
    for (std::int64_t r = 0; r < together; ++r)
      for (std::int64_t b = 0; b < bytes_per_row; ++b) moved.push_back(r * (row + pad) * size + b);
    return std::pair(by_element ? conflict_degree(memory, fetched) : 1, conflict_degree(memory, {moved}));
  };
  std::int64_t best = 0;
  auto least = degrees(0);
  for (std::int64_t pad = step;
       pad < together * bytes_per_row / size && least > std::pair<std::int64_t, std::int64_t>(1, 1); pad += step)
    if (const auto found = degrees(pad); found < least) best = pad, least = found;
  return best;
}

std::string fused_dim(const BlockMapping& m, const std::string& dim) {
  for (const Dim& d : m.statement.domain.dims)
    if (d.name == dim || d.name.rfind(dim + ".", 0) == 0) return d.name;
  return "";
}

std::int64_t call_step(const BlockMapping& m, const std::string& dim) {
  const std::string name = fused_dim(m, dim);
  const auto digit = m.pairing.digit_of.find(name);
  return name.empty() || digit == m.pairing.digit_of.end() ? 0 : full_extent(*m.pairing.instruction, digit->second);
}

std::int64_t chosen_step(const BlockMapping& m, const std::string& dim, std::int64_t eighths, std::int64_t extent) {
  const auto digit = m.pairing.digit_of.find(dim);
  if (digit == m.pairing.digit_of.end()) return 0;
  const DimRange& range = m.pairing.instruction->ranges[digit->second];
  if (range.fixed() || !range.known_at_compile_time) return 0;
  const std::int64_t wanted = std::min(eighths * ceil_div(range.max, most_calls), std::max<std::int64_t>(extent, 1));
  return std::clamp(round_up(wanted, range.multiple_of), range.min, range.max);
}

std::vector<std::size_t> ranked_block_mappings(const Kernel& kernel, const Computation& unfused,
                                               const std::vector<Mapping>& mappings,
                                               const std::vector<BlockMapping>& prepared, const HardwareModel& model) {
  struct Fast {
    double cycles;
    std::size_t outside;
    bool across;  ///< the contiguous dim of the output is not that of the fragment
    std::size_t mapping;
  };
  const std::vector<std::size_t> all = ranked_mappings(unfused, mappings, model);
  std::vector<Fast> fastest;
  for (const std::size_t m : all) {
    Fast one{cycles_of_calls(prepared[m], model), 0, !rows_agree(prepared[m], kernel), m};
    for (const Dim& dim : prepared[m].statement.domain.dims)
      one.outside += dim.extent > 1 && !prepared[m].pairing.digit_of.contains(dim.name);
    fastest.push_back(one);
  }
  std::stable_sort(fastest.begin(), fastest.end(), [](const Fast& a, const Fast& b) {
    return std::tuple(a.cycles, a.outside, a.across) < std::tuple(b.cycles, b.outside, b.across);
  });
  std::vector<std::size_t> order;
  std::vector<bool> listed(mappings.size(), false);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::size_t m : {fastest[i].mapping, all[i]}) {
      if (!listed[m]) order.push_back(m);
      listed[m] = true;
    }
  return order;
}

std::optional<BlockMapping> block_mapping(const Kernel& kernel, StatementId id, const Mapping& mapping,
                                          const HardwareModel& model, const SpaceOptions& options) {
  const InstructionForm form = instruction_form(mapping, model);
  if (!form) return std::nullopt;
  const auto machine = block_machine(*form, model);
  if (!machine) return std::nullopt;
  BlockMapping p;
  p.machine = *machine;
  p.statement = fuse(kernel.statements[id.index()], mapping);
  p.pairing = pair(p.statement, form, mapping);
  if (p.pairing.constant_operand >= 0) return std::nullopt;
  const Tensor& output = kernel.tensors[p.statement.write.tensor.index()];
  if (!options.no_split_reductions && !(options.sums_in_order && is_float(output.dtype)))
    p.combine = combine_of_blocks(p.statement, *form, output, *machine, model);
  p.feeds.resize(static_cast<std::size_t>(access_count(p.statement)));
  for (int a = 1; a < access_count(p.statement); ++a) {
    const Access& access = access_of(p.statement, a);
    const Tensor& tensor = kernel.tensors[access.tensor.index()];
    OperandFeed& feed = p.feeds[static_cast<std::size_t>(a)];
    for (const AffineExpr& e : natural_forms(access)) feed.layout.push_back({e, 0});
    if (feed.layout.empty()) return std::nullopt;
    feed.padded = true;
    feed.copy = widest_copy(access, tensor, *machine, model);
    const int own = p.pairing.operand_access[static_cast<std::size_t>(a)];
    if (own >= 0 && form->operands[operand_of_access(*form, own).index()].memory == machine->scratch) {
      const auto rows = rows_of_operand(p.pairing, a);
      if (!rows || along_rows(access, tensor) != rows->along || feed.copy.empty()) return std::nullopt;
      feed.layout = rows->layout;
      feed.swizzle = rows->swizzle;
      feed.along = rows->along;
      feed.row = rows->row;
      feed.read_from_scratchpad = true;
      feed.padded = false;
      feed.counted_copy = counted_copy(feed, access, tensor, *machine, model);
      if (!feed.counted_copy.empty() && access.index.size() > 2)
        feed.whole = *access.index[access.index.size() - 2].as_dim();
      continue;
    }
    // Which index of the operand is contiguous in the tensor?
    const std::string last = along_rows(access, tensor);
    const int operand = p.pairing.operand_access[static_cast<std::size_t>(a)];
    const auto& subscripts = access_of(form->statement(), operand).index;
    for (std::size_t s = 0; s < subscripts.size(); ++s)
      if (const auto digit = p.pairing.digit_of.find(last);
          digit != p.pairing.digit_of.end() &&
          subscripts[s] == AffineExpr::dim(form->statement().domain.dims[digit->second].name))
        if (feed.fetch = gathering_move(*form, operand, s, tensor, *machine, model); feed.fetch.empty())
          feed.concurrent_elements = concurrent_elements(form->operands[operand_of_access(*form, operand).index()], s);
    if (const auto copy = model.find_instruction(feed.copy))
      feed.copy_bytes = full_extents(model.instruction(*copy)).front() * bytes(tensor.dtype);
  }
  // Mixing operands read from the scratchpad with operands loaded element by element is pointless.
  const auto any = [&](const auto& test) { return std::any_of(p.feeds.begin() + 1, p.feeds.end(), test); };
  if (any([](const OperandFeed& f) { return f.read_from_scratchpad; }) &&
      any([](const OperandFeed& f) { return !f.read_from_scratchpad && f.fetch.empty(); }))
    return std::nullopt;
  return p;
}

}  // namespace isamap
