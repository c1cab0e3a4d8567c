// SPDX-License-Identifier: Apache-2.0
#pragma once
// Windows that move over the spatial dimensions: what convolutions and pools share.

#include <string>
#include <vector>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// One spatial dimension.
struct Window {
  std::int64_t input = 0, output = 0, filter = 1, stride = 1, dilation = 1, before = 0, after = 0;
  std::string out_name, filter_name;  ///< iterators

  std::int64_t span() const { return (filter - 1) * dilation + 1; }
  bool reads_outside() const { return before > 0 || (output - 1) * stride + span() - 1 - before >= input; }
  /// `2*p + r - 1`; a filter of one element has no iterator.
  std::string read_index() const;
};

/// Windows of these filter sizes over the input's last dimensions, with strides, dilations, pads and auto_pad of the
/// node.
std::vector<Window> read_windows(const Maker& m, const Sizes& input, const Sizes& filter);
/// Outputs of windows that gather (not of transposed ones).
void set_outputs(const Maker& m, std::vector<Window>& windows);
Sizes outputs_of(const std::vector<Window>& windows);
/// A list with an entry for each spatial dimension, each from `least` to 2^30.
std::vector<std::int64_t> window_attribute(const Maker& m, const std::string& name, std::size_t count,
                                           std::int64_t otherwise, std::int64_t least);

/// Statements `out[..] += in[..] * filter[..]` of a convolution: local names of tensors, and the channels of each
/// group.
struct Convolution {
  std::string in, filter, out;
  std::string term;                                            ///< of the operands' texts {x} and {w}
  std::int64_t groups = 1, in_channels = 1, out_channels = 1;  ///< of one group
  std::int64_t batch = 1;

  /// Index of the output's channel: "k", "c", or "4*g + k" of groups; and the iterators in it.
  std::string channel() const;
  Extents channel_extents() const;
};
/// "conv2d", "depthwise" or "grouped_conv2d"; refuses channels that do not fit.
Convolution read_convolution(const Maker& m, const Sizes& input, const Sizes& filter, std::string& kind);
void say_convolution(Maker& m, const Convolution& c, const std::vector<Window>& windows);

}  // namespace isamap::importing
