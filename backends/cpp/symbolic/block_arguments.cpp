// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/block_arguments.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"

namespace isamap {
namespace {

std::string trip_text(const GridShape& shape, const Block& block, const TileLoop& loop) {
  const std::string count = count_name(shape.axes[static_cast<std::size_t>(loop.axis)]);
  if (block.short_axes.contains(loop.axis) && loop.step > 1)
    return fmt::format("({} + {}) / {}", count, loop.step - 1, loop.step);
  return loop.step == 1 ? count : fmt::format("{} / {}", count, loop.step);
}

/// Extent of a grown axis for one step.
std::int64_t one_section(const Block& block, const TileLoop& loop, std::int64_t extent) {
  std::int64_t trip = 1;
  const std::function<void(const std::vector<Node>&)> find = [&](const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (const auto* one = std::get_if<Loop>(&node.is)) {
        const auto known = block.loops.find(one->variable);
        if (known != block.loops.end() && known->second == loop) trip = one->trip;
        find(one->body);
      } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
        find(guard->then);
        find(guard->otherwise);
      }
  };
  find(block.program.body);
  return extent / trip;
}

/// A local array some of whose axes have a section for each step of a loop.
void add_grown(const GridShape& shape, const Block& block, BufferId id, const std::vector<TileLoop>& loops,
               RuntimeNumbers& numbers) {
  const Buffer& buffer = block.program.buffers[id.index()];
  std::vector<std::string> names(buffer.extents.size());
  std::string length = "1";
  for (std::size_t d = buffer.extents.size(); d-- > 0;) {
    if (length != "1") {
      names[d] = fmt::format("{}_s{}", identifier(buffer.name), d);
      numbers.definitions.push_back(fmt::format("[[maybe_unused]] const long {} = {};", names[d], length));
      length = names[d];
    }
    std::int64_t number = buffer.extents[d];
    if (loops[d].axis >= 0) number = one_section(block, loops[d], number);
    if (number != 1 || loops[d].axis < 0)
      length = length == "1" ? std::to_string(number) : fmt::format("{} * {}", length, number);
    if (loops[d].axis >= 0) length = fmt::format("{} * ({})", length, trip_text(shape, block, loops[d]));
  }
  numbers.strides[id.value] = std::move(names);
  numbers.lengths[id.value] = "(" + length + ")";
}

/// Subscripts of the argument have the panel in front.
void split_panels(std::vector<Node>& nodes, BufferId buffer, const Panels& panels) {
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      split_panels(loop->body, buffer, panels);
    } else if (auto* call = std::get_if<Call>(&node.is)) {
      for (Ref& ref : call->operands) {
        if (ref.buffer != buffer) continue;
        const AffineExpr panel = AffineExpr::dim(panels.variable);
        ref.index[panels.dim] = ref.index[panels.dim] - panels.tile * panel;
        ref.index.insert(ref.index.begin(), panel);
      }
    }
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> stride_arguments(const GridShape& shape) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t t = 0; t < shape.strides.size(); ++t)
    for (std::size_t d = 0; d < shape.strides[t].size(); ++d)
      if (!shape.strides[t][d].is_number()) found.emplace_back(t, d);
  return found;
}

std::string stride_name(const Tensor& tensor, std::size_t axis) {
  return fmt::format("{}_s{}", identifier(tensor.name), axis);
}

std::string count_name(const GridAxis& axis) { return identifier(axis.dim) + "_n"; }

std::vector<std::size_t> ended_axes(const GridShape& shape) {
  std::vector<std::size_t> found;
  for (std::size_t axis = 0; axis < shape.axes.size(); ++axis)
    if (shape.axes[axis].end) found.push_back(axis);
  return found;
}

std::string end_name(const GridAxis& axis) { return identifier(axis.dim) + "_end"; }

std::string copy_name(const GridShape& shape, TensorId tensor) {
  return identifier(shape.kernel.tensors[tensor.index()].name) + "_copy";
}

std::vector<TensorId> packed_inputs(const Grid& grid) {
  std::set<TensorId> found;
  for (const Block& block : grid.blocks)
    for (const Buffer& buffer : block.program.buffers)
      if (buffer.ahead_of_time) found.insert(buffer.tensor);
  return {found.begin(), found.end()};
}

std::string packed_name(const GridShape& shape, TensorId tensor) {
  return identifier(shape.kernel.tensors[tensor.index()].name) + "_packed";
}

void add_constants(const Grid& grid, const Block& block, const HardwareModel& model, RuntimeNumbers& numbers) {
  for (const TensorId tensor : packed_inputs(grid)) {
    const std::string name = packed_name(grid.shape, tensor);
    const std::string type = element_type(model, grid.shape.kernel.tensors[tensor.index()].dtype);
    numbers.constants.push_back(fmt::format("const {}* __restrict {}", type, name));
    numbers.definitions.push_back("(void)" + name + ";");
    for (std::size_t b = 0; b < block.program.buffers.size(); ++b)
      if (const Buffer& buffer = block.program.buffers[b]; buffer.ahead_of_time && buffer.tensor == tensor)
        numbers.constant_names[static_cast<std::int32_t>(b)] = name;
  }
}

std::vector<std::pair<std::size_t, std::size_t>> skipping_axes(const Grid& grid) {
  std::set<std::pair<std::size_t, std::size_t>> found;
  for (const Block& block : grid.blocks)
    for (const auto& [variable, terms] : block.skipped) found.emplace(terms.tensor.index(), terms.dim);
  return {found.begin(), found.end()};
}

void add_skipped_terms(const Grid& grid, const Block& block, RuntimeNumbers& numbers) {
  const auto name = [&](const char* what, std::size_t tensor, std::size_t axis) {
    return fmt::format("{}_{}{}", identifier(grid.shape.kernel.tensors[tensor].name), what, axis);
  };
  for (const auto& [tensor, axis] : skipping_axes(grid))
    for (const char* what : {"first", "size"}) {
      numbers.parameters.push_back(name(what, tensor, axis));
      numbers.definitions.push_back("(void)" + numbers.parameters.back() + ";");
    }
  for (const auto& [variable, terms] : block.skipped) {
    const std::size_t tensor = terms.tensor.index();
    numbers.ranges[variable] = {name("first", tensor, terms.dim), name("size", tensor, terms.dim), terms.first,
                                terms.step};
  }
}

std::vector<TensorId> panel_inputs(const Grid& grid) {
  std::set<TensorId> found;
  for (const Block& block : grid.blocks)
    for (const auto& one : block.panels) found.insert(one.first);
  return {found.begin(), found.end()};
}

std::string panel_name(const GridShape& shape, TensorId tensor) {
  return identifier(shape.kernel.tensors[tensor.index()].name) + "_panel";
}

void add_panels(const Grid& grid, Block& block, RuntimeNumbers& numbers) {
  for (const TensorId tensor : panel_inputs(grid)) {
    const std::string name = panel_name(grid.shape, tensor);
    numbers.parameters.push_back(name);
    numbers.definitions.push_back("(void)" + name + ";");
    const auto found = block.panels.find(tensor);
    if (found == block.panels.end()) continue;
    const Panels& panels = found->second;
    for (std::size_t b = 0; b < block.program.buffers.size(); ++b) {
      Buffer& buffer = block.program.buffers[b];
      if (buffer.role != BufferRole::argument || buffer.ahead_of_time || buffer.tensor != tensor) continue;
      buffer.extents.insert(buffer.extents.begin(), buffer.extents[panels.dim] / panels.tile);
      buffer.extents[panels.dim + 1] = panels.tile;
      buffer.strides.insert(buffer.strides.begin(), panels.tile);
      auto& names = numbers.strides[static_cast<std::int32_t>(b)];
      names.resize(buffer.extents.size() - 1);
      names.insert(names.begin(), name);
      split_panels(block.program.body, make_id<BufferId>(b), panels);
    }
  }
}

RuntimeNumbers numbers_of(const GridShape& shape, const Block& block) {
  RuntimeNumbers numbers;
  for (const auto& [t, d] : stride_arguments(shape)) {
    const std::string name = stride_name(shape.kernel.tensors[t], d);
    numbers.parameters.push_back(name);
    for (std::size_t b = 0; b < block.program.buffers.size(); ++b) {
      const Buffer& buffer = block.program.buffers[b];
      if (buffer.role != BufferRole::argument || buffer.tensor.index() != t) continue;
      auto& names = numbers.strides[static_cast<std::int32_t>(b)];
      names.resize(buffer.extents.size());
      names[d] = name;
    }
  }
  for (const GridAxis& axis : shape.axes) numbers.parameters.push_back(count_name(axis));
  for (const std::size_t axis : ended_axes(shape)) numbers.parameters.push_back(end_name(shape.axes[axis]));
  for (const auto& [variable, loop] : block.loops) numbers.trips[variable] = trip_text(shape, block, loop);
  for (const auto& [extent, at] : block.masked) {
    const std::string count = count_name(shape.axes[static_cast<std::size_t>(at.first)]);
    numbers.extents[extent] = {"int(" + (at.second == 0 ? count : fmt::format("{} - {}", count, at.second)) + ")"};
  }
  for (const auto& [extent, to] : block.ended) {
    const GridAxis& axis = shape.axes[static_cast<std::size_t>(to.axis)];
    // Steps are whole, and less than a multiple of the axis was added to its end.
    const bool some = axis.end && to.lanes >= axis.multiple;
    numbers.extents[extent] = {axis.end ? end_name(axis) : count_name(axis), to.first, to.lanes, some};
  }
  for (const auto& [id, loops] : block.grown) add_grown(shape, block, id, loops, numbers);
  for (const std::string& parameter : numbers.parameters) numbers.definitions.push_back("(void)" + parameter + ";");
  return numbers;
}

}  // namespace isamap
