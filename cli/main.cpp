// SPDX-License-Identifier: Apache-2.0
// The command line, read (cli/command_line.h); then its verb, which the table of verbs names.

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "backends/common/environment.h"
#include "backends/common/process.h"
#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/interrupt.h"

namespace isamap::cli {
namespace {

Exit main_of(int argc, char** argv) {
  const CommandLine given = read_command_line(argc, argv);
  if (!given.verb) return given.code;
  const Options& options = given.options;
  const ForeignExit guard(options);
  if (const auto problem = environment_problem())
    return close_json(options, fail(Exit::usage, problem->message, problem->hint));
  // Before the work, which may take hours.
  for (const std::string& path : {options.report, options.trace, options.record, options.onnx.outputs})
    if (const auto problem = why_no_file(path)) return close_json(options, fail(Exit::wrong_input, {*problem}));
  for (const std::string& path : {options.output, options.lab.store})
    if (const auto problem = why_not_written(path); problem && !(given.verb->makes_folders && path == options.output))
      return close_json(options, fail(Exit::wrong_input, {*problem}));
  return close_json(options, given.verb->run(options));
}

}  // namespace
}  // namespace isamap::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // SIGPIPE ignored: a closed pipe is a failed write, which is reported
  std::signal(SIGXFSZ, SIG_IGN);  // likewise a file size limit
  try {
    isamap::remove_temporary_files_on_signals(isamap::cli::only_interrupts);
    return static_cast<int>(isamap::cli::main_of(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "memory ran out\n  hint: choose smaller sizes\n");
    return static_cast<int>(isamap::Exit::limit);
  } catch (const std::system_error& lacking) {
    if (lacking.code() != std::errc::resource_unavailable_try_again) {
      std::fprintf(stderr, "internal error: %s\n", lacking.what());
      return isamap::cli::internal_error_code;
    }
    std::fprintf(stderr, "%s\n  hint: raise the limits on processes and on memory (ulimit -u, ulimit -v)\n",
                 lacking.what());
    return static_cast<int>(isamap::Exit::limit);
  } catch (const std::exception& wrong) {  // InternalError: thrown by the library, reported here
    std::fprintf(stderr, "internal error: %s\n", wrong.what());
    return isamap::cli::internal_error_code;
  }
}
