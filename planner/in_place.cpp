// SPDX-License-Identifier: Apache-2.0
#include "planner/in_place.h"

#include <algorithm>

namespace isamap {
namespace {

bool reads(const Computation& statement, TensorId tensor) {
  return std::any_of(statement.reads.begin(), statement.reads.end(),
                     [&](const Access& read) { return read.tensor == tensor; });
}

/// Does this statement read the tensor exactly where it writes?
bool reads_where_it_writes(const Computation& statement, TensorId tensor) {
  return std::all_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
    return read.tensor != tensor || (read.index == statement.write.index && !read.outside);
  });
}

bool stored_alike(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

class Finder {
 public:
  Finder(const Kernel& kernel, const std::vector<Part>& parts) : kernel_(kernel), parts_(parts) {}

  std::map<TensorId, TensorId> run() const {
    std::map<TensorId, TensorId> found;
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (const std::size_t s : parts_[p].statements) {
        const Computation& statement = kernel_.statements[s];
        const Tensor& written = kernel_.tensors[statement.write.tensor.index()];
        if (statement.reduction != Reduction::assign || written.inout) continue;
        if (writer_count(kernel_, statement.write.tensor) != 1) continue;
        TensorId last = {};
        for (const Access& read : statement.reads)
          if (may_be_overwritten(read.tensor, s, p) && (!last.valid() || writer(read.tensor) > writer(last)))
            last = read.tensor;
        if (last.valid()) found[last] = statement.write.tensor;
      }
    return found;
  }

 private:
  bool may_be_overwritten(TensorId tensor, std::size_t statement, std::size_t part) const {
    const Computation& by = kernel_.statements[statement];
    if (tensor == by.write.tensor || role_of(kernel_, tensor) != Role::intermediate) return false;
    if (writer_count(kernel_, tensor) != 1) return false;
    if (!stored_alike(kernel_.tensors[tensor.index()], kernel_.tensors[by.write.tensor.index()])) return false;
    if (!reads_where_it_writes(by, tensor)) return false;
    for (std::size_t p = part; p < parts_.size(); ++p)
      for (const std::size_t s : parts_[p].statements) {
        const bool same = p == part && s == statement;
        if (kernel_.statements[s].write.tensor == tensor || (!same && reads(kernel_.statements[s], tensor)))
          return false;
      }
    return true;
  }

  /// The last statement that writes it.
  std::size_t writer(TensorId tensor) const {
    std::size_t last = 0;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (kernel_.statements[s].write.tensor == tensor) last = s;
    return last;
  }

  const Kernel& kernel_;
  const std::vector<Part>& parts_;
};

}  // namespace

std::map<TensorId, TensorId> overwritten_tensors(const Kernel& kernel, const std::vector<Part>& parts) {
  return kernel.repeats.empty() ? Finder(kernel, parts).run() : std::map<TensorId, TensorId>{};
}

}  // namespace isamap
