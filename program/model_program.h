// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model after lowering: the programs of its parts, and calls of them in order on one arena and one block of
// weights. Backends print it; equal parts are one program that is called several times.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// Where an argument of a part begins.
struct ModelPlace {
  enum class In { nowhere, input, output, arena, weights };
  In in = In::nowhere;      ///< nowhere: the part does not touch it
  std::int64_t at = 0;      ///< inputs, outputs: position in the model's list; arena, weights: bytes from the start
  std::int64_t offset = 0;  ///< bytes from there: rows of a tensor
  std::int64_t step = 0;    ///< in a loop over bands: bytes by which it moves from band to band
  bool operator==(const ModelPlace&) const = default;
};

/// Elements that begin at the identity of a reduction, since several parts write into their tensor.
struct FilledTensor {
  ModelPlace place;
  DType dtype = DType::f32;
  std::int64_t count = 0;
  Scalar value;
};

struct PartCall {
  std::string name;                   ///< of its first node
  std::size_t program = 0;            ///< in ModelProgram::programs
  std::vector<ModelPlace> arguments;  ///< by buffer of the program: those that are arguments
  std::vector<FilledTensor> fill;     ///< before the call
  ModelPlace workspace;               ///< of its local arrays
  double seconds = 0;                 ///< predicted; 0: unknown
};

/// Rows of a buffer that the next band reads again.
struct MovedRows {
  ModelPlace from, to;  ///< they may overlap
  std::int64_t bytes = 0;
};

struct ModelBandStep {
  std::size_t call = 0;  ///< in ModelProgram::calls: the part that it is a step of
  std::variant<PartCall, FilledTensor, MovedRows> is;
};

struct ModelBandLoop {
  std::int64_t times = 1;
  std::vector<ModelBandStep> steps;
};

/// Calls [first, first + count) of a model that run in bands of rows: these loops, one after another, instead.
struct ModelBands {
  std::size_t first = 0, count = 0;
  std::int64_t by = 0;  ///< rows of the last call in a band
  std::vector<ModelBandLoop> loops;
};

/// An input or output of the model.
struct Port {
  std::string name;  ///< as the file spells it
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t bytes() const;
};

/// What lies in the arena, and when.
struct ArenaBlock {
  std::string name;  ///< of the tensor; "local arrays" of a part
  std::int64_t at = 0, bytes = 0;
  std::size_t first = 0, last = 0;  ///< calls, both included
};

/// Weights begin at multiples of this in their file, arena places at multiples of it in the arena: a cache line.
constexpr std::int64_t place_align = 64;

struct ModelProgram {
  std::string name;
  std::vector<Program> programs;
  std::vector<PartCall> calls;    ///< in order of execution
  std::vector<ModelBands> bands;  ///< of calls, ascending; `calls` has where the whole tensors of theirs are
  std::vector<Port> inputs, outputs;
  std::int64_t arena_bytes = 0;  ///< of tensors between parts, and the workspace of each part while it runs
  std::int64_t arena_align = place_align;
  std::int64_t arena_bound = 0;  ///< the largest sum of what is needed at one time
  std::vector<ArenaBlock> blocks;
  std::vector<std::uint8_t> weights;  ///< packed as the programs read them
};

/// The weights as a file: a header of 64 bytes (magic, bytes behind it, their hash) and the weights.
/// All numbers little endian.
std::string weights_file(const ModelProgram& model);
std::uint64_t weights_hash(const ModelProgram& model);
/// The weights in a file's bytes. Errors: it is no such file, or cut off, or altered.
Result<std::vector<std::uint8_t>> read_weights(const std::string& file);
inline constexpr const char* weights_magic = "isamapW1";  ///< 8 bytes
constexpr std::int64_t weights_header_bytes = 64;

}  // namespace isamap
