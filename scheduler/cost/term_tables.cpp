// SPDX-License-Identifier: Apache-2.0
// The terms of each timing model.

#include <array>

#include "scheduler/cost/term.h"

namespace isamap {

namespace terms {

extern const Term compute, sum_initialisation, loop_exits, accumulator_restarts, links, cache_fills, memories, ports,
    core_cache_contention, issue_contention, instruction_fetch, prefetch_stream_starts, llc_miss_phases,
    partial_sum_reloads, single_buffers, store_bursts, packing;
extern const Term thread_starts, launches;
extern const Term block_calls, block_copies, block_copy_latency, block_links, block_ports, block_chains, block_fetches,
    block_memory, block_prologue, split_sum_initialisation, block_barriers, block_epilogue;
extern const Term scalar_accesses, scalar_memory, scalar_link, scalar_loads, scalar_latency;
extern const Term stream, stream_copies;

}  // namespace terms

std::span<const Term* const> terms_of(TimingModel model) {
  using namespace terms;
  static const std::array overlapped{&compute, &sum_initialisation, &loop_exits, &accumulator_restarts,
                                     &links,   &cache_fills,        &memories,   &thread_starts,
                                     &packing};
  static const std::array issued_moves{
      &compute, &sum_initialisation, &loop_exits, &accumulator_restarts, &links, &cache_fills, &memories, &ports,
      // once
      &thread_starts,
      // contended
      &core_cache_contention, &issue_contention, &instruction_fetch,
      // exposed
      &prefetch_stream_starts, &llc_miss_phases, &partial_sum_reloads, &single_buffers, &store_bursts, &packing};
  static const std::array thread_blocks{&block_calls, &block_copies, &block_copy_latency, &block_links, &block_ports,
                                        &block_chains, &block_fetches, &block_memory,
                                        // once
                                        &block_prologue, &split_sum_initialisation, &launches,
                                        // contended, exposed
                                        &instruction_fetch, &block_barriers, &block_epilogue};
  static const std::array parallel_scalar{&scalar_accesses,   &scalar_memory,  &scalar_link, &scalar_loads,
                                          &instruction_fetch, &scalar_latency, &launches};
  static const std::array command_stream{&stream, &stream_copies};
  switch (model) {
    case TimingModel::overlapped:
      return overlapped;
    case TimingModel::issued_moves:
      return issued_moves;
    case TimingModel::thread_blocks:
      return thread_blocks;
    case TimingModel::parallel_scalar:
      return parallel_scalar;
    case TimingModel::command_stream:
      break;
  }
  return command_stream;
}

}  // namespace isamap
