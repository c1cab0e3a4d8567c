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

}  // namespace isamap
