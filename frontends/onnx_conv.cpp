// SPDX-License-Identifier: Apache-2.0
// Convolutions of ONNX as kernels: 1-D to 3-D, strided, dilated, padded, grouped, depthwise, transposed.
//
//   O[n,k,p,q] += I[n,c,s*p+d*r-pad,...] * F[k,c,r,s]     reads outside I yield 0
//
// Tensors keep the model's layout. Two views reshape it without copies: filter dims of size 1 are left out
// ([K,C,1,1] is [K,C]), and channels of a grouped convolution are two dims ([N,G*C,H,W] is [N,G,C,H,W]).

#include "frontends/onnx_internal.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// One spatial dimension.
struct Window {
  std::int64_t input = 0, output = 0, filter = 1, stride = 1, dilation = 1, before = 0, after = 0;
  std::string out_name, filter_name;  ///< iterators

  std::int64_t span() const { return (filter - 1) * dilation + 1; }
};

constexpr std::int64_t largest = std::int64_t{1}
                                 << 30;  ///< of any size or attribute of a window: products stay in 64 bits

const char* const out_names[] = {"o", "p", "q"};
const char* const filter_names[] = {"t", "r", "s"};

std::optional<std::vector<std::int64_t>> attribute(const OnnxNode& node, const std::string& name, std::size_t count,
                                                   std::int64_t otherwise, std::int64_t least, Diagnostics& problems) {
  const auto found = node.ints.find(name);
  if (found == node.ints.end()) return std::vector<std::int64_t>(count, otherwise);
  if (found->second.size() != count) {
    problems.push_back(error("attribute " + name + " has " + std::to_string(found->second.size()) + " numbers, " +
                             std::to_string(count) + " are needed"));
    return std::nullopt;
  }
  for (const std::int64_t value : found->second)
    if (value < least || value > largest) {
      problems.push_back(error("attribute " + name + " holds " + std::to_string(value) + "; " + std::to_string(least) +
                               " to " + std::to_string(largest) + " is possible"));
      return std::nullopt;
    }
  return found->second;
}

/// auto_pad: the output has ceil(input / stride) elements; an odd one is padded at the end (upper) or the front.
void pad_same(Window& w, bool upper) {
  w.output = ceil_div(w.input, w.stride);
  const std::int64_t total = std::max<std::int64_t>((w.output - 1) * w.stride + w.span() - w.input, 0);
  w.before = upper ? total / 2 : total - total / 2;
  w.after = total - w.before;
}

bool read_windows(const OnnxNode& node, std::vector<Window>& windows, Diagnostics& problems) {
  const std::vector<std::int64_t>&x = *node.inputs[0].shape, &w = *node.inputs[1].shape;
  const std::size_t count = x.size() - 2;
  const std::vector<std::int64_t> filter(w.begin() + 2, w.end());
  const auto strides = attribute(node, "strides", count, 1, 1, problems);
  const auto dilations = attribute(node, "dilations", count, 1, 1, problems);
  const auto pads = attribute(node, "pads", 2 * count, 0, 0, problems);
  if (!strides || !dilations || !pads) return false;
  if (const auto stated = node.ints.find("kernel_shape"); stated != node.ints.end() && stated->second != filter) {
    problems.push_back(
        error("kernel_shape is " + shape_text(stated->second) + " but the filter has " + shape_text(filter)));
    return false;
  }
  for (std::size_t d = 0; d < count; ++d) {
    if (x[2 + d] > largest || filter[d] > largest || filter[d] < 1) {
      problems.push_back(error("a window of " + shape_text(filter) + " on " + shape_text(x) + " is out of range"));
      return false;
    }
    windows.push_back({x[2 + d], 0, filter[d], (*strides)[d], (*dilations)[d], (*pads)[d], (*pads)[count + d],
                       out_names[3 - count + d], filter_names[3 - count + d]});
    if (count == 1) windows[d].out_name = "p", windows[d].filter_name = "r";
  }
  return true;
}

bool set_outputs(const OnnxNode& node, std::vector<Window>& windows, Diagnostics& problems) {
  const auto found = node.texts.find("auto_pad");
  const std::string mode = found == node.texts.end() ? "NOTSET" : found->second;
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    problems.push_back(error("auto_pad is '" + mode.substr(0, 32) + "'", "NOTSET, VALID, SAME_UPPER or SAME_LOWER"));
    return false;
  }
  for (Window& w : windows) {
    if (mode.starts_with("SAME")) {
      pad_same(w, mode == "SAME_UPPER");
      continue;
    }
    if (mode == "VALID") w.before = w.after = 0;
    const std::int64_t padded = w.input + w.before + w.after;
    if (padded < w.span()) {
      problems.push_back(error("the filter spans " + std::to_string(w.span()) + " elements, the padded input has " +
                               std::to_string(padded)));
      return false;
    }
    w.output = (padded - w.span()) / w.stride + 1;
  }
  return true;
}

bool reads_outside(const Window& w) {
  return w.before > 0 || (w.output - 1) * w.stride + w.span() - 1 - w.before >= w.input;
}

std::string times(std::int64_t factor, const std::string& name) {
  return factor == 1 ? name : std::to_string(factor) + "*" + name;
}

/// `2*p+r-1`; a filter of one element has no iterator.
std::string read_index(const Window& w) {
  std::string text = times(w.stride, w.out_name);
  if (w.filter > 1) text += "+" + times(w.dilation, w.filter_name);
  if (w.before > 0) text += "-" + std::to_string(w.before);
  return text;
}

/// A tensor built dim by dim together with the text of its index.
struct Operand {
  Tensor tensor;
  std::string index;

  Operand(std::string name, DType dtype) {
    tensor.name = std::move(name);
    tensor.dtype = dtype;
  }
  void add(std::int64_t size, const std::string& text) {
    tensor.shape.push_back(size);
    index += (index.empty() ? "" : ",") + text;
  }
  std::string text() const { return tensor.name + "[" + index + "]"; }
};

/// Channels: `groups` groups of `inputs` and `outputs` channels.
struct Channels {
  std::int64_t groups = 1, inputs = 1, outputs = 1;
  bool depthwise() const { return groups > 1 && inputs == 1; }
};

void add_channels(const Channels& channels, Operand& in, Operand& filter, Operand& out, KernelDraft& draft) {
  const auto dim = [&](const std::string& name, std::int64_t size, std::initializer_list<Operand*> operands) {
    for (Operand* operand : operands) operand->add(size, name);
    draft.extents[name] = size;
  };
  if (channels.depthwise()) {
    dim("c", channels.groups, {&in, &filter, &out});
    if (channels.outputs > 1) dim("k", channels.outputs, {&filter, &out});
    return;
  }
  if (channels.groups > 1) dim("g", channels.groups, {&in, &filter, &out});
  dim("k", channels.outputs, {&filter, &out});
  dim("c", channels.inputs, {&in, &filter});
}

KernelDraft conv_draft(const OnnxNode& node, DType output, const Channels& channels,
                       const std::vector<Window>& windows) {
  Operand in("I", dtype_of(node, 0)), filter("F", dtype_of(node, 1)), out("O", output);
  KernelDraft draft;
  const std::int64_t batch = node.inputs[0].shape->front();
  in.add(batch, "n"), out.add(batch, "n"), draft.extents["n"] = batch;
  add_channels(channels, in, filter, out, draft);
  for (const Window& w : windows) {
    in.add(w.input, read_index(w));
    out.add(w.output, w.out_name);
    draft.extents[w.out_name] = w.output;
    if (reads_outside(w)) in.tensor.outside = 0;
    if (w.filter == 1) continue;
    filter.add(w.filter, w.filter_name);
    draft.extents[w.filter_name] = w.filter;
  }
  draft.statement = out.text() + " += " + in.text() + " * " + filter.text();
  draft.tensors = {in.tensor, filter.tensor, out.tensor};
  return draft;
}

/// Ranks 3 to 5, equal; false with the layer's reason or a problem otherwise.
bool ranks_fit(const OnnxNode& node, Layer& layer, Diagnostics& problems) {
  const std::vector<std::int64_t>&x = *node.inputs[0].shape, &w = *node.inputs[1].shape;
  layer.op = x.size() >= 3 && x.size() <= 5 ? "conv" + std::to_string(x.size() - 2) + "d" : "conv";
  if (x.size() == w.size() && x.size() >= 3 && x.size() <= 5) return true;
  if (x.size() == w.size() && x.size() > 5)
    layer.reason = "a convolution over " + std::to_string(x.size() - 2) + " spatial dimensions";
  else
    problems.push_back(error("a convolution of " + shape_text(x) + " with the filter " + shape_text(w)));
  return false;
}

/// Kernel channel counts from [N, G*C, ...] and [G*K, C, ...].
std::optional<Channels> conv_channels(const OnnxNode& node, Diagnostics& problems) {
  const std::vector<std::int64_t>&x = *node.inputs[0].shape, &w = *node.inputs[1].shape;
  const std::int64_t groups = node.integer("group", 1);
  const bool fits = groups >= 1 && x[1] % groups == 0 && x[1] / groups == w[1] && w[0] % groups == 0;
  if (fits) return Channels{groups, w[1], w[0] / groups};
  problems.push_back(error("the input has " + std::to_string(x[1]) + " channels; " + std::to_string(groups) +
                           " groups of filters " + shape_text(w) + " do not fit"));
  return std::nullopt;
}

}  // namespace

void make_conv(const OnnxNode& node, Layer& layer, Diagnostics& problems) {
  layer.op = "conv";
  if (!shapes_known(node, 2, layer) || !ranks_fit(node, layer, problems)) return;
  const bool integer = node.op == "ConvInteger";
  if (integer && (node.has_input(2) || node.has_input(3))) {
    layer.reason = "zero points are not mapped";
    return;
  }
  const auto channels = conv_channels(node, problems);
  std::vector<Window> windows;
  if (!channels || !read_windows(node, windows, problems) || !set_outputs(node, windows, problems)) return;
  std::vector<std::int64_t> output{node.inputs[0].shape->front(), node.inputs[1].shape->front()};
  for (const Window& w : windows) output.push_back(w.output);
  if (!output_agrees(node, output, problems)) return;
  if (channels->depthwise())
    layer.op = "depthwise";
  else if (channels->groups > 1)
    layer.op = "grouped_" + layer.op,
    layer.notes.push_back("channels are seen as " + std::to_string(channels->groups) + " groups");
  if (!integer && node.has_input(2))
    layer.notes.push_back("the bias '" + node.inputs[2].name + "' is left out of the kernel");
  finish_kernel(conv_draft(node, sum_dtype(node, layer), *channels, windows), layer, problems);
}

}  // namespace isamap
