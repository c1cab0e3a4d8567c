// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of JSON Schema that hwdesc/schema.json uses, over our own YAML nodes: $ref, type, properties, required,
// additionalProperties, items, enum, pattern, minimum, anyOf, not. Other keywords are refused, so that none is ignored.

#include <nlohmann/json.hpp>
#include <string>

#include "support/yaml.h"

namespace isamap {

/// Empty: valid; else the place and the reason: "/memories/0/kind: none of the alternatives".
std::string violation(const nlohmann::json& schema, const yaml::Node& node);

}  // namespace isamap
