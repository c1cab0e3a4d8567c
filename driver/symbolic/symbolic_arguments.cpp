// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/symbolic_arguments.h"

namespace isamap {

Program symbolic_arguments(const Kernel& kernel) {
  Program program;
  program.name = kernel.name;
  program.kernel = kernel;
  for (const TensorId id : arguments(kernel)) {
    const Tensor& tensor = kernel.tensors[id.index()];
    Buffer buffer;
    buffer.name = tensor.name;
    buffer.dtype = tensor.dtype;
    buffer.extents = tensor.shape;
    buffer.strides = strides_of(tensor);
    buffer.align = bytes(tensor.dtype);
    buffer.role = BufferRole::argument;
    buffer.tensor = id;
    program.buffers.push_back(std::move(buffer));
  }
  return program;
}

}  // namespace isamap
