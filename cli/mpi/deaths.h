// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that die. An MPI with fault tolerance tells the others, which continue: ULFM (Bland, Bouteiller, Herault,
// Bosilca, Dongarra, "Post-failure recovery of MPI communication capability", IJHPCA 27(3), 2013), the functions
// MPIX_Comm_failure_* of Open MPI 5 under `mpirun --with-ft ulfm`. Without it the launcher ends all ranks.

#include <vector>

namespace isamap::cli {

/// From here on calls of this rank return errors where another one died. Changes nothing without fault tolerance.
void go_on_after_deaths();
/// The ranks that are known to be dead, in no order; none without fault tolerance.
std::vector<int> dead_ranks();
/// Has no rank died yet? All that are left call it, and get the same answer; true without fault tolerance.
bool all_ranks_live();

}  // namespace isamap::cli
