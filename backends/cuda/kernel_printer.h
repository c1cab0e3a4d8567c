// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of one kernel: its parameters, its arrays in shared memory, and its statements for the threads of a block.
//
// With specialized warps those of each role are behind the computing ones, and one of their threads executes the role:
//
//   if (the first thread) { initialize the counters }
//   barrier of the block
//   if (warp == 4) {  // loader
//     if (the warp's first thread) { .. }
//   } else {
//     ..
//   }

#include <string>
#include <vector>

#include "backends/cuda/device_file.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/tensor_descriptors.h"

namespace isamap {

/// Where a kernel is printed.
struct KernelContext {
  const Program& program;
  DeviceFile& file;                            ///< gets the kernel, and the functions of its instructions
  const std::vector<std::string>& buffers;     ///< names
  const std::vector<const HostLoop*>& around;  ///< loops around the launch, outermost first: they are parameters
  HostObjects& objects;                        ///< of the entry
  const TileNumbers* tiles;                    ///< null: all numbers are known
};

/// The variable of a host loop, in the launching function and in its kernels.
std::string host_variable(const std::string& variable);

/// Lines that compute strides from the sizes of `tiles`; null: none.
std::string stride_definitions(const TileNumbers* tiles);

/// Adds the kernel of these nodes to the file; returns the text of its launch. The nodes are distributed over blocks
/// and threads (distribute_loops.h) and without barriers.
std::string print_kernel(const std::vector<Node>& nodes, const std::string& name, const KernelContext& context,
                         Diagnostics& diagnostics);

}  // namespace isamap
