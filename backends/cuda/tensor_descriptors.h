// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host-side descriptors of tensors that launching functions build and pass to kernels (`objects` of the description;
// tensor maps).

#include <map>
#include <string>
#include <vector>

#include "backends/cpp/text/names.h"
#include "backends/cuda/device_file.h"
#include "hwdesc/model/described_tensor.h"

namespace isamap {

class HostObjects {
 public:
  /// `buffers`: names of the arrays. `tiles`: extents and strides that are known at the call; null: none are.
  HostObjects(const Program& program, const HardwareModel& model, const std::vector<std::string>& buffers, Names& names,
              const TileNumbers* tiles)
      : program_(program), model_(model), buffers_(buffers), names_(names), tiles_(tiles) {}

  void clear() { built_.clear(); }  ///< start of another entry
  bool empty() const { return built_.empty(); }
  void begin_kernel() { of_kernel_.clear(); }

  /// The descriptor for a use's boxes of the tensor; equal ones are shared.
  std::string use(const Operand& operand, BufferId tensor, const DescribedTensor& box);

  /// Name and declaration of the parameters of the current kernel.
  const std::map<std::string, std::string>& of_kernel() const { return of_kernel_; }
  std::string text() const;  ///< builds them all

 private:
  struct Built {
    std::string name, text;
  };
  std::vector<std::string> sizes(BufferId tensor, const DescribedTensor& box) const;
  std::vector<std::string> pitches(BufferId tensor, const DescribedTensor& box) const;  ///< bytes
  std::string built(const HostObject& object, const std::string& name, BufferId tensor,
                    const DescribedTensor& box) const;

  const Program& program_;
  const HardwareModel& model_;
  const std::vector<std::string>& buffers_;
  Names& names_;
  const TileNumbers* tiles_;
  std::vector<Built> built_;
  std::map<std::string, std::string> of_kernel_;
};

}  // namespace isamap
