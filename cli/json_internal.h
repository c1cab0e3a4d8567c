// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts that the JSON documents share: for json*.cpp only.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isamap/compile.h"
#include "isamap/mapper.h"
#include "isamap/result.h"

namespace isamap::cli {

using Json = nlohmann::ordered_json;

/// {"schema_version": 1}, to which a document's keys are added; with `notes` where the user was warned.
Json document();
/// Of this run, each with its place.
std::vector<std::string> warnings_told();
/// Text from files may hold any bytes: what is no UTF-8 prints as the replacement character.
std::string text_of(const Json& json);
/// Counts are doubles inside, since tails make averages; a whole number prints as one.
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
