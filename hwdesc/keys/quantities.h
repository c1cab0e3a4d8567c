// SPDX-License-Identifier: Apache-2.0
#pragma once
// The quantities of the hardware language: the keys with a range. The loader refuses values outside of it;
// hwdesc/README.md has the table, and a test tries each row.

#include <span>
#include <string>

#include "hwdesc/keys/key.h"

namespace isamap::keys {

struct Quantity {
  std::string path;  ///< "memories.*.capacity"
  const Key* key = nullptr;
};
std::span<const Quantity> quantities();

/// "1B to 2^60B": the allowed range above 0.
std::string range_text(const Key& key);
/// The table as Markdown.
std::string quantity_table();

}  // namespace isamap::keys
