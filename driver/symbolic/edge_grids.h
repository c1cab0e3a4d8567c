// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isamap/compile.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Adds grids for the positions at edges (program/edge_shapes.h) where a copy with what lies outside would cost as much
/// as the computation. Kernels of one statement only: those of several run in strips, whose edges are padded.
void add_edges(SymbolicProgram& program, const HardwareModel& model, const CompileOptions& options);

}  // namespace isamap
