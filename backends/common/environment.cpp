// SPDX-License-Identifier: Apache-2.0
#include "backends/common/environment.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace isamap {
namespace {

/// Empty: it is not set.
std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_delivery(const std::string& text) {
  const std::string random = "random:";
  if (!text.starts_with(random)) return text == "late" || text == "eager";
  const std::string seed = text.substr(random.size());
  return !seed.empty() && seed.size() < 10 && seed.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Result<bool> asks_for_emulation() {
  const std::string delivery = environment_value("ISAMAP_EMULATION");
  if (delivery.empty() || is_delivery(delivery)) return !delivery.empty();
  return error("ISAMAP_EMULATION is '" + delivery + "', which is none of: late, eager, random:SEED",
               "SEED is an integer below 1000000000; unset it to use a GPU");
}

Result<bool> counts_requests() {
  const std::string counts = environment_value("ISAMAP_EMULATION_COUNTS");
  if (counts.empty() || counts == "0" || counts == "1") return counts == "1";
  return error("ISAMAP_EMULATION_COUNTS is '" + counts + "', which is none of: 0, 1", "1 counts requests");
}

Result<double> compile_seconds() {
  const std::string seconds = environment_value("ISAMAP_COMPILE_SECONDS");
  if (seconds.empty()) return default_compile_seconds;
  char* end = nullptr;
  const double number = std::strtod(seconds.c_str(), &end);
  if (*end == '\0' && number > 0 && std::isfinite(number)) return number;
  return error("ISAMAP_COMPILE_SECONDS is '" + seconds + "', which is no number above 0",
               fmt::format("the seconds that a compiler may take; unset it for {:g}", default_compile_seconds));
}

std::optional<Diagnostic> environment_problem() {
  if (const auto emulation = asks_for_emulation(); !emulation) return emulation.diagnostics().front();
  if (const auto counts = counts_requests(); !counts) return counts.diagnostics().front();
  if (const auto seconds = compile_seconds(); !seconds) return seconds.diagnostics().front();
  return std::nullopt;
}

}  // namespace isamap
