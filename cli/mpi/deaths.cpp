// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/deaths.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // Open MPI's; MPICH declares them in <mpi.h>
#endif

#include <numeric>

namespace isamap::cli {

#ifdef MPIX_ERR_PROC_FAILED

void go_on_after_deaths() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }

std::vector<int> dead_ranks() {
  MPI_Group dead = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  // Acknowledged ones no longer make receiving from any rank an error.
  if (MPIX_Comm_failure_ack(MPI_COMM_WORLD) != MPI_SUCCESS) return {};
  if (MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &dead) != MPI_SUCCESS) return {};
  int count = 0;
  MPI_Group_size(dead, &count);
  std::vector<int> numbers(static_cast<std::size_t>(count)), ranks(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  if (count > 0) {
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(dead, count, numbers.data(), all, ranks.data());
    MPI_Group_free(&all);
  }
  if (dead != MPI_GROUP_EMPTY) MPI_Group_free(&dead);
  return ranks;
}

bool all_ranks_live() {
  int live = dead_ranks().empty() ? 1 : 0;
  return MPIX_Comm_agree(MPI_COMM_WORLD, &live) == MPI_SUCCESS && live == 1;  // an error: an unknown death
}

#else

void go_on_after_deaths() {}
std::vector<int> dead_ranks() { return {}; }
bool all_ranks_live() { return true; }

#endif

}  // namespace isamap::cli
