// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every quantity of the hardware language: its unit, its range, and the meaning of 0.
//
// The loader refuses values outside the range; hwdesc/README.md has the table, and a test compares the two and tries
// each row.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace isamap {

enum class QuantityKind { number, size, rate, time, cycles, energy, energy_per_byte, frequency };

struct Quantity {
  std::string_view key;  ///< path in the file; `*`: any entry of a list or map
  QuantityKind kind = QuantityKind::number;
  double least = 1, most = 1;  ///< in the model's unit: bytes, bytes/cycle, cycles, pJ, pJ/B, Hz
  std::string_view zero;       ///< what 0 means; empty: 0 is an error
  std::string_view instead;    ///< what to write where 0 is an error
};

std::span<const Quantity> quantities();
/// The row of this key, which must be there.
const Quantity& quantity(std::string_view key);

/// "1B to 2^60B": the allowed range above 0.
std::string range_text(const Quantity& quantity);
/// The table as Markdown.
std::string quantity_table();

}  // namespace isamap
