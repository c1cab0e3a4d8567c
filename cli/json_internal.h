// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared parts of the JSON documents, for json*.cpp only.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isamap/compile.h"
#include "isamap/mapper.h"
#include "isamap/result.h"

namespace isamap::cli {

using Json = nlohmann::ordered_json;

/// {"schema_version": 1}, the start of every document; with `notes` if the user was warned.
Json document();
/// Diagnostics of this run with their source locations.
std::vector<std::string> warnings_told();
/// Text from files may contain any bytes: invalid UTF-8 becomes the replacement character.
std::string text_of(const Json& json);
/// Counts are doubles, since tails make averages; integers print without a fraction.
Json number(double value);
Json diagnostics_json(const Diagnostics& diagnostics);
Json reasons_of(const Diagnostics& diagnostics);  ///< messages of errors
/// [{statement, reasons}]
Json scalar_json(const std::vector<ScalarCode>& scalar);
/// [{instruction, statement, reasons}]
Json rejected_json(const std::vector<Rejection>& rejected, const HardwareModel& model);

template <class Pairs>
Json object_of(const Pairs& pairs) {
  Json json = Json::object();
  for (const auto& [key, value] : pairs) json[key] = value;
  return json;
}

}  // namespace isamap::cli
