// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX models as bytes, written field by field (protobuf wire format; field numbers from onnx.proto), so that tests can
// build what no library would write.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace isamap::onnx_bytes {

using Shape = std::vector<std::int64_t>;  ///< `unknown`: a symbol

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string text(int field, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

constexpr std::int64_t unknown = -1000;

/// ValueInfoProto: a name with a tensor type.
inline std::string value(const std::string& name, const Shape& shape, int type = 1) {
  std::string dims;
  for (const std::int64_t size : shape) dims += text(1, size == unknown ? text(2, "N") : number(1, size));
  return text(1, name) + text(2, text(1, number(1, type) + text(2, dims)));
}

inline std::string ints(const std::string& name, const Shape& values) {
  std::string bytes = text(1, name) + number(20, 7);
  for (const std::int64_t v : values) bytes += number(8, v);
  return text(5, bytes);
}
inline std::string integer(const std::string& name, std::int64_t v) {
  return text(5, text(1, name) + number(3, v) + number(20, 2));
}
inline std::string word(const std::string& name, const std::string& v) {
  return text(5, text(1, name) + text(4, v) + number(20, 3));
}

inline std::string words(const std::string& name, const std::vector<std::string>& values) {
  std::string bytes = text(1, name) + number(20, 8);
  for (const std::string& v : values) bytes += text(9, v);
  return text(5, bytes);
}
/// Four bytes, the lowest first.
inline std::string float_bytes(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string bytes;
  for (int b = 0; b < 4; ++b) bytes += static_cast<char>(bits >> (8 * b));
  return bytes;
}
inline std::string real(const std::string& name, float v) {
  return text(5, text(1, name) + varint(2 << 3 | 5) + float_bytes(v) + number(20, 1));
}
/// A graph: nodes, inputs and outputs as they stand in a model.
inline std::string graph_attribute(const std::string& name, const std::string& graph) {
  return text(5, text(1, name) + text(6, graph) + number(20, 5));
}
inline std::string floats(const std::string& name, const std::vector<float>& values) {
  std::string bytes;
  for (const float v : values) bytes += float_bytes(v);
  return text(5, text(1, name) + text(7, bytes) + number(20, 6));
}
/// An attribute that is a tensor of one integer of 64 bits; of one f32.
inline std::string tensor_attribute(const std::string& name, std::int64_t v) {
  return text(5, text(1, name) + text(5, number(1, 1) + number(2, 7) + number(7, v)) + number(20, 4));
}
inline std::string tensor_attribute(const std::string& name, float v) {
  return text(5, text(1, name) + text(5, number(1, 1) + number(2, 1) + text(9, float_bytes(v))) + number(20, 4));
}

/// GraphProto.node
inline std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& attributes = "") {
  std::string bytes;
  for (const std::string& input : inputs) bytes += text(1, input);
  return text(1, bytes + text(2, output) + text(4, op) + attributes);
}
inline std::string node_of(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& attributes = "") {
  std::string bytes;
  for (const std::string& input : inputs) bytes += text(1, input);
  for (const std::string& output : outputs) bytes += text(2, output);
  return text(1, bytes + text(4, op) + attributes);
}
inline std::string input(const std::string& name, const Shape& shape, int type = 1) {
  return text(11, value(name, shape, type));
}
inline std::string output(const std::string& name, const Shape& shape, int type = 1) {
  return text(12, value(name, shape, type));
}
/// An output of a type that is not stated.
inline std::string output(const std::string& name) { return text(12, text(1, name)); }
/// GraphProto.initializer of 64-bit integers.
inline std::string constant(const std::string& name, const Shape& shape, const Shape& values) {
  std::string bytes;
  for (const std::int64_t size : shape) bytes += number(1, size);
  bytes += number(2, 7);
  for (const std::int64_t v : values) bytes += number(7, v);
  return text(5, bytes + text(8, name));
}
/// GraphProto.initializer, a scalar.
inline std::string constant(const std::string& name, float v) {
  return text(5, number(2, 1) + text(8, name) + text(9, float_bytes(v)));
}
inline std::string constant_floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
  std::string bytes, raw;
  for (const std::int64_t size : shape) bytes += number(1, size);
  for (const float v : values) raw += float_bytes(v);
  return text(5, bytes + number(2, 1) + text(8, name) + text(9, raw));
}
/// ModelProto
inline std::string model(const std::string& graph, int set = 13) {
  return number(1, 8) + text(7, graph) + text(8, number(2, set));
}

}  // namespace isamap::onnx_bytes
