// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs of a plan on the ranks of an MPI program. Rank 0 hands them out, one at a time, and does some itself; each rank
// records what it did in its own file. When a rank dies what is recorded is kept: the launcher ends all ranks, or an
// MPI with fault tolerance lets them continue and do its jobs again (cli/mpi/deaths.h).

#include "jobs/work.h"

namespace isamap::cli {

/// Do all ranks begin the work? Called once by each: by `work_on_ranks`, or with false by one that failed before.
bool all_ranks_begin(bool this_one);
/// Has this rank called it?
bool rank_has_begun();
/// Did ranks die while others worked on? Known to all that are left once the work is over.
bool ranks_have_died();

/// As jobs::work; called by all ranks. On ranks other than 0 the result is empty.
jobs::WorkEnd work_on_ranks(const jobs::Plan& plan, jobs::JobStore& store, const jobs::WorkOptions& options,
                            const jobs::JobRunner& runner, const std::function<void(const jobs::Progress&)>& progress);

}  // namespace isamap::cli
