// SPDX-License-Identifier: Apache-2.0
#pragma once
// What functions of blocks take after their pointers: strides and counts, and the memory of copies that cells share.

#include <string>
#include <utility>
#include <vector>

#include "backends/cpp/function/runtime_numbers.h"
#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Strides that are arguments: tensor and axis.
std::vector<std::pair<std::size_t, std::size_t>> stride_arguments(const GridShape& shape);
/// "A_s0"
std::string stride_name(const Tensor& tensor, std::size_t axis);
/// "M_n": positions of a cell along an axis.
std::string count_name(const GridAxis& axis);
/// Axes that were rounded up: inputs without copies end before them.
std::vector<std::size_t> ended_axes(const GridShape& shape);
/// "K_end": positions of such an axis from the cell on that these inputs have.
std::string end_name(const GridAxis& axis);
/// "A_copy": the copy of an input.
std::string copy_name(const GridShape& shape, TensorId tensor);

/// Inputs of which some block has a copy that was packed ahead of time.
std::vector<TensorId> packed_inputs(const Grid& grid);
/// "F_packed": that copy, as blocks call it.
std::string packed_name(const GridShape& shape, TensorId tensor);

/// Axes of tensors along which some block skips terms: tensor and axis.
std::vector<std::pair<std::size_t, std::size_t>> skipping_axes(const Grid& grid);
/// Arguments for them: subscript 0 of the cell is this one of the tensor, "I_first2", and its extent, "I_size2".
void add_skipped_terms(const Grid& grid, const Block& block, RuntimeNumbers& numbers);

/// Arguments for these copies: blocks of a grid have the same ones.
void add_constants(const Grid& grid, const Block& block, const HardwareModel& model, RuntimeNumbers& numbers);

/// Inputs that some block reads in panels, whose distance is an argument of all blocks of the grid.
std::vector<TensorId> panel_inputs(const Grid& grid);
std::string panel_name(const GridShape& shape, TensorId tensor);
/// Their arguments, and the panels of a block's inputs as an axis of their own.
void add_panels(const Grid& grid, Block& block, RuntimeNumbers& numbers);

/// The numbers of a block that depend on its strides and counts; without those of copies.
RuntimeNumbers numbers_of(const GridShape& shape, const Block& block);

}  // namespace isamap
