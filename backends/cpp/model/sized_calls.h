// SPDX-License-Identifier: Apache-2.0
#pragma once
// NAME_run of a model whose calls bring the sizes: the calls of its parts, by one thread or by a team.

#include <map>
#include <string>
#include <vector>

#include "program/symbolic_model_program.h"

namespace isamap {

/// A pointer argument of a part: its place among SymbolicCall::arguments.
struct SizedArgument {
  std::size_t place = 0;
  TensorId tensor;  ///< none: packed ahead of time
  std::string type;
  bool written = false;
  std::int64_t align = 1;
};

struct SizedPart {
  std::string function;
  std::vector<SizedArgument> arguments;
  bool sized = true;         ///< the sizes follow the pointers
  bool distributed = false;  ///< the team executes it, and is the last argument
};

/// What the texts of such a model share.
struct SizedNames {
  std::map<std::string, std::string> sizes;  ///< by size
  /// "  const long n_seq = sizes[0];", of each size.
  std::string numbers(const SymbolicModelProgram& model) const;
  /// Bytes of a tensor: an expression over them.
  std::string bytes_of(const SymbolicPort& tensor) const;
};

struct SizedRun {
  std::string text;                           ///< with NAME for the model's name
  std::vector<std::int64_t> inputs, outputs;  ///< bytes that pointers of the caller are multiples of
};
/// `parts`: by program. Members of a team execute the parts where one of them is distributed.
SizedRun run_at_sizes(const SymbolicModelProgram& model, const std::vector<SizedPart>& parts, const SizedNames& names);

/// Is some part distributed?
bool has_team(const std::vector<SizedPart>& parts);

}  // namespace isamap
