// SPDX-License-Identifier: Apache-2.0
#pragma once
// Symbolic sizes on the command line: --sizes M=37, and lists M=1,7,37,N=8 for `run` and `evaluate`.

#include <optional>
#include <vector>

#include "cli/common.h"
#include "isamap/symbolic.h"

namespace isamap::cli {

/// Every combination of the values of --sizes, in order, the last name fastest; one without sizes where there are none.
/// Empty: an error was reported.
std::optional<std::vector<Bindings>> combinations_of_sizes(const Options& options, Exit& code);

/// The kernel file or the one-line form with these sizes; empty: `code` is set.
std::optional<SymbolicKernel> load_symbolic_of(const Options& options, const Bindings& sizes, Exit& code);

/// "M=37,N=8", as --sizes reads it; and for tables "37 8".
std::string sizes_text(const Bindings& sizes);

/// The kernel where it has symbols and a verb is about all sizes; an empty optional in `symbolic`: it has none, or
/// --sizes gives all of them. False: an error was reported.
bool load_if_symbolic(const Options& options, std::optional<SymbolicKernel>& symbolic, Exit& code);

/// Does the command line ask for several sizes: a list in --sizes, or none for a symbolic kernel? Then their values.
/// Nothing: a single run, as ever. `code` is not ok: an error was reported.
std::optional<std::vector<Bindings>> several_sizes(const Options& options, Exit& code);

/// `run` and `evaluate` for several sizes: "runs" with "sizes" and the fields of a single run.
Exit run_sizes(const Options& options, const std::vector<Bindings>& sizes);
Exit evaluate_sizes(const Options& options, const std::vector<Bindings>& sizes);

}  // namespace isamap::cli
