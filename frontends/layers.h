// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layers of a model: the statements of each node, cut out of the model's kernel.

#include "frontends/model.h"
#include "isamap/frontends.h"

namespace isamap {

/// These statements, ascending, as a kernel: what they read from outside are its inputs, what is read outside its
/// outputs. All statements of a recurrence are one again; some of them alone are none. Dimensions of size 1 that are
/// indexed by 0 are left out, and channels of groups ("4*g + k") are two dimensions, so that a convolution reads as one
/// writes it.
Kernel cut(const Kernel& kernel, const std::vector<std::size_t>& statements, const std::string& name);
/// The same with the dimensions that the kernel has.
Kernel cut_as_it_is(const Kernel& kernel, const std::vector<std::size_t>& statements, const std::string& name);
/// Statements [first, first + count).
Kernel cut(const Kernel& kernel, std::size_t first, std::size_t count, const std::string& name);

/// A layer for each node with statements, and for each refused one. Nodes that sum products are kernels, with the
/// epilogues of the node; the others have a reason.
LayerList layers_of(const Model& model);

}  // namespace isamap
