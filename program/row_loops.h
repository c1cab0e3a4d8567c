// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over all rows of a program whose trip may be any number.
//
// A program was lowered for R rows. A loop over `v` with R/T steps walks all rows in tiles of T if rows occur under it
// only as T*v + r with 0 <= r < T where they are written, and if v occurs nowhere else: then every step is the same
// code at addresses that move by T rows, and what one step computes does not depend on how many steps there are. So
//
//   the program with trip q in place of R/T, for all such loops, computes T*q rows,
//
// for every q: step v of it is step 0 at a shifted address, and the steps together write rows 0 .. T*q - 1.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// Rows of one step by loop variable, where all rows of the tensors are under such loops; nothing: they are not. The
/// program is for `rows` rows; `factor`: positions of axis 0 a row, by tensor. Every step divides `multiple`.
std::optional<std::map<std::string, std::int64_t>> row_loops(const Program& program, const HardwareModel& model,
                                                             std::int64_t rows,
                                                             const std::map<TensorId, std::int64_t>& factor,
                                                             std::int64_t multiple);

/// What tiles leave in the same pass over the other tensors: each loop over columns that holds a loop over tiles of
/// rows holds the code of the last, shorter tile, too. That tile is moved to the front: its rows become 0 .. remainder
/// - 1, and those of the loops begin at `remainder`. So no address depends on the number of tiles, and the loops may
/// have any trip.
struct RemainderFirst {
  Program program;
  std::map<std::string, std::int64_t> loops;  ///< as of `row_loops`, over the rows behind the remainder
};
/// Nothing: the last `remainder` of the `rows` rows are not computed apart from such loops.
std::optional<RemainderFirst> remainder_first(Program program, const HardwareModel& model, std::int64_t rows,
                                              const std::map<TensorId, std::int64_t>& factor, std::int64_t multiple,
                                              std::int64_t remainder);

/// The program with all such loops walking `rows` rows, a multiple of each step: what the code does at that number.
Program with_trips(Program program, const std::map<std::string, std::int64_t>& loops, std::int64_t rows);

}  // namespace isamap
