// SPDX-License-Identifier: Apache-2.0
#include "isamap/program.h"

#include <charconv>

#include "isamap/result.h"

namespace isamap {

std::string computed_name(int read) { return "at$" + std::to_string(read); }

std::optional<int> computed_read(const std::string& name) {
  if (!name.starts_with("at$")) return std::nullopt;
  int read = 0;
  const auto [end, code] = std::from_chars(name.data() + 3, name.data() + name.size(), read);
  return code == std::errc() && end == name.data() + name.size() ? std::optional(read) : std::nullopt;
}

Ref constant_ref(const Operand& operand, double value) {
  const DType type = operand.dtype.value_or(DType::s64);
  const std::int64_t number =
      is_float(type) ? static_cast<std::int64_t>(encode(type, convert({value, 0}, DType::f64, type, false)))
                     : static_cast<std::int64_t>(value);
  return Ref{BufferId{}, {AffineExpr(number)}};
}

std::optional<Scalar> constant_value(const Operand& operand, const Ref& ref) {
  if (ref.buffer.valid() || ref.index.size() != 1 || !ref.index[0].is_constant()) return std::nullopt;
  const std::int64_t number = ref.index[0].constant();
  const DType type = operand.dtype.value_or(DType::s64);
  if (is_float(type)) return decode(type, static_cast<std::uint64_t>(number));
  return convert({static_cast<double>(number), number}, DType::s64, type, false);
}

std::int64_t element_span(const Buffer& buffer) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.extents.size(); ++i) {
    if (buffer.extents[i] == 0) return 0;
    if (i < buffer.strides.size()) last += (buffer.extents[i] - 1) * buffer.strides[i];
  }
  return last + 1;
}

AffineExpr flat_offset(const Buffer& buffer, const std::vector<AffineExpr>& index) {
  ISAMAP_CHECK(index.size() == buffer.strides.size(), "index of " + buffer.name + " has the wrong rank");
  AffineExpr offset;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * buffer.strides[i];
  return offset;
}

}  // namespace isamap
