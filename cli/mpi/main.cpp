// SPDX-License-Identifier: Apache-2.0
// isamap-mpi: the same verbs under an MPI launcher. `work`, `lab run` and `tune` distribute their jobs over the ranks,
// `schedule` the batches of its search; every other verb runs on rank 0.
//
//   mpirun -n 4 isamap-mpi work plan.jsonl --store records
//   srun -n 64 isamap-mpi lab run gemm -o trials.jsonl      (records in trials.jsonl.jobs)

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "backends/common/process.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/jobs/work_flags.h"
#include "cli/mpi/batches.h"
#include "cli/mpi/ranks.h"

namespace isamap::cli {
namespace {

/// Where `lab run` and `tune` keep their records: --store DIR of tune, else beside the output.
std::string store_of(const Options& options) {
  if (!options.lab.store.empty()) return options.lab.store;
  return options.output.empty() ? "" : options.output + ".jobs";
}

Exit planned(const char* kind, Options options, bool first) {
  const std::string store = store_of(options);
  if (store.empty())
    return fail(Exit::usage, "a place for the records is expected, so that the same command can go on after a death",
                "-o FILE: they are kept in the folder FILE.jobs");
  if (store.ends_with(".db"))
    return fail(Exit::usage,
                "--store: '" + store + "' is named like the database of one machine, and ranks record in a folder",
                "--store " + store.substr(0, store.size() - 3));
  if (options.lab.strategies.empty() && options.strategy_given) {
    options.lab.strategies = options.schedule.strategy;
    for (const auto& [key, value] : options.schedule.strategy_options)
      options.lab.strategies += ":" + key + "=" + value;
  }
  if (std::string(kind) == "tune") options.lab.seeds = 1;
  return run_planned(kind, {options, ""}, store, first);
}

/// The same search on every rank, each with its share of the batches; rank 0 writes.
Exit schedule_on_ranks(const CommandLine& given, bool first) {
  Options options = given.options;
  if (options.schedule.max_seconds > 0)
    return fail(Exit::usage, "a search on ranks is limited by evaluations: their clocks differ", "--budget evals=N");
  if (!options.lab.store.empty() || options.cost == "measured")
    return fail(Exit::usage, "a search on ranks neither measures nor reads a database of one machine",
                "isamap-mpi tune measures, and records by --store DIR");
  options.schedule.executor = executor_of_ranks();
  options.schedule.jobs = 1;
  if (!first) options.output = options.report = options.trace = "";
  return given.verb->run(options);
}

Exit main_of(int argc, char** argv, bool first) {
  const CommandLine given = read_command_line(argc, argv);
  if (!given.verb) return given.code;  // the same on every rank
  const ForeignExit guard(given.options);
  work_loop() = work_on_ranks;
  const std::string& words = given.verb->words;
  Exit code = Exit::ok;
  if (words == "lab run")
    code = planned("lab", given.options, first);
  else if (words == "tune")
    code = planned("tune", given.options, first);
  else if (words == "schedule")
    code = schedule_on_ranks(given, first);
  else if (words == "work" || first)
    code = given.verb->run(given.options);
  const bool on_all = words == "lab run" || words == "tune" || words == "work";
  if (on_all && !rank_has_begun()) all_ranks_begin(false);  // it failed before; the others must not wait for us
  return first ? close_json(given.options, code) : Exit::ok;
}

}  // namespace
}  // namespace isamap::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  isamap::remove_temporary_files_on_signals(isamap::cli::ends);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {  // one rank talks
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nothing, 1);
    ::dup2(nothing, 2);
  }
  int code = isamap::cli::internal_error_code;
  try {
    code = static_cast<int>(isamap::cli::main_of(argc, argv, rank == 0));
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "internal error: %s\n", wrong.what());
    MPI_Abort(MPI_COMM_WORLD, isamap::cli::internal_error_code);
  }
  // After two deaths Open MPI 5.0 waits there for the dead (in a fence of PMIx).
  if (isamap::cli::ranks_have_died()) {
    std::fflush(nullptr);
    std::_Exit(code);
  }
  MPI_Finalize();
  return code;
}
