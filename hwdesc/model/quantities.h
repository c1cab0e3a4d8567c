// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every number of the hardware language that counts or measures something: its unit, its range, and what 0 means.
//
// The loader refuses what is outside; hwdesc/README.md prints the table, and a test compares the two and tries each.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace isamap {

enum class QuantityKind { number, size, rate, time, cycles, energy, energy_per_byte, frequency };

struct Quantity {
  std::string_view key;  ///< path in the file; `*`: any entry of a list or map
  QuantityKind kind = QuantityKind::number;
  double least = 1, most = 1;  ///< of what is kept: bytes, bytes/cycle, cycles, pJ, pJ/B, Hz
  std::string_view zero;       ///< what 0 means; empty: 0 is an error
  std::string_view instead;    ///< what to write where 0 is an error
};

std::span<const Quantity> quantities();
/// The row of this key, which must be there.
const Quantity& quantity(std::string_view key);

/// "1B to 2^60B": what is allowed, above 0.
std::string range_text(const Quantity& quantity);
/// The table as Markdown.
std::string quantity_table();

}  // namespace isamap
