// SPDX-License-Identifier: Apache-2.0
#include "program/model_program.h"

#include "support/hash.h"

namespace isamap {
namespace {

void append(std::string& text, std::uint64_t number) {
  for (int byte = 0; byte < 8; ++byte) text += static_cast<char>(number >> (8 * byte) & 0xff);
}

}  // namespace

std::int64_t Port::bytes() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count * isamap::bytes(dtype);
}

std::uint64_t weights_hash(const ModelProgram& model) {
  return fnv1a({reinterpret_cast<const char*>(model.weights.data()), model.weights.size()});
}

std::string weights_file(const ModelProgram& model) {
  std::string text = weights_magic;
  append(text, model.weights.size());
  append(text, weights_hash(model));
  text.resize(static_cast<std::size_t>(weights_header_bytes), '\0');
  return text.append(reinterpret_cast<const char*>(model.weights.data()), model.weights.size());
}

Result<std::vector<std::uint8_t>> read_weights(const std::string& file) {
  const auto header = static_cast<std::size_t>(weights_header_bytes);
  if (file.size() < header || !file.starts_with(weights_magic)) return error("is no file of weights");
  const auto number = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t byte = 8; byte-- > 0;) value = value << 8 | static_cast<std::uint8_t>(file[at + byte]);
    return value;
  };
  ModelProgram model;
  model.weights.assign(file.begin() + weights_header_bytes, file.end());
  if (number(8) != model.weights.size())
    return error(std::string("the file of weights is ") + (number(8) > model.weights.size() ? "cut off" : "too long") +
                 ": it states " + std::to_string(number(8)) + " bytes and has " + std::to_string(model.weights.size()));
  if (number(16) != weights_hash(model)) return error("the file of weights was altered");
  return std::move(model.weights);
}

}  // namespace isamap
