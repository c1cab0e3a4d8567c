// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/tensor_descriptors.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {

std::vector<std::string> HostObjects::sizes(BufferId tensor, const DescribedTensor& box) const {
  std::vector<std::string> text;
  for (const std::int64_t size : box.sizes) text.push_back(std::to_string(size));
  if (tiles_ == nullptr) return text;
  if (const auto known = tiles_->extents.find(static_cast<std::int32_t>(tensor.index()));
      known != tiles_->extents.end())
    for (std::size_t r = 0; r < text.size(); ++r) text[r] = "std::uint64_t(" + known->second[box.axes[r]] + ")";
  return text;
}

std::vector<std::string> HostObjects::pitches(BufferId tensor, const DescribedTensor& box) const {
  std::vector<std::string> text;
  for (const std::int64_t pitch : box.pitches) text.push_back(std::to_string(pitch));
  if (tiles_ == nullptr) return text;
  const auto known = tiles_->numbers.strides.find(static_cast<std::int32_t>(tensor.index()));
  if (known == tiles_->numbers.strides.end()) return text;
  for (std::size_t r = 0; r < text.size(); ++r)
    if (const std::string& stride = known->second[box.axes[r + 1]]; !stride.empty())
      text[r] = fmt::format("{} * std::uint64_t({})", bytes(program_.buffers[tensor.index()].dtype), stride);
  return text;
}

std::string HostObjects::built(const HostObject& object, const std::string& name, BufferId tensor,
                               const DescribedTensor& box) const {
  std::string text;
  const auto array = [&](const char* what, const char* type, const auto& values) {
    text += fmt::format("  const {} {}_{}[] = {{{}}};\n", type, name, what,
                        values.empty() ? "0" : fmt::format("{}", fmt::join(values, ", ")));
  };
  array("sizes", "std::uint64_t", sizes(tensor, box));
  array("pitches", "std::uint64_t", pitches(tensor, box));
  array("box", "std::uint32_t", box.box);
  const std::map<std::string, std::string> values{
      {"name", name},
      {"base", buffers_[tensor.index()]},
      {"dtype", std::to_string(bits(program_.buffers[tensor.index()].dtype))},
      {"rank", std::to_string(box.sizes.size())},
      {"sizes", name + "_sizes"},
      {"pitches", name + "_pitches"},
      {"box", name + "_box"},
      {"swizzle", std::to_string(box.swizzle ? box.swizzle->bits : 0)}};
  text += "  " + fill(object.build, [&](const Placeholder& p) { return values.at(p.text); });
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text + "\n";
}

std::string HostObjects::use(const Operand& operand, BufferId tensor, const DescribedTensor& box) {
  const auto object = std::find_if(model_.objects().begin(), model_.objects().end(),
                                   [&](const HostObject& o) { return o.name == operand.object; });
  if (object == model_.objects().end()) return "";
  std::string name;
  for (const Built& other : built_)
    if (other.text == built(*object, other.name, tensor, box)) name = other.name;
  if (name.empty()) {
    name = names_.unique(buffers_[tensor.index()] + "_" + operand.object);
    built_.push_back({name, built(*object, name, tensor, box)});
  }
  of_kernel_[name] = fill(object->parameter, [&](const Placeholder&) { return name; });
  return name;
}

std::string HostObjects::text() const {
  std::string text;
  for (const Built& object : built_) text += object.text;
  return text;
}

}  // namespace isamap
