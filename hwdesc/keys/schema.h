// SPDX-License-Identifier: Apache-2.0
#pragma once
// hwdesc/schema.json: the table of keys as a JSON Schema, for editors.

#include <string>

namespace isamap::keys {

/// The whole file. It describes structure: names that must be declared and layouts that must be one to one are the
/// loader's business.
std::string schema_text();

}  // namespace isamap::keys
