// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace isamap::cli {
namespace {

bool is_delivery(const std::string& text) {
  const std::string random = "random:";
  if (!text.starts_with(random)) return text == "late" || text == "eager";
  const std::string seed = text.substr(random.size());
  return !seed.empty() && seed.size() < 10 && seed.find_first_not_of("0123456789") == std::string::npos;
}

bool is_limit(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return *end == '\0' && number > 0 && std::isfinite(number);
}

}  // namespace

std::optional<Diagnostic> environment_problem() {
  const char* const delivery = std::getenv("ISAMAP_EMULATION");
  if (delivery != nullptr && *delivery != '\0' && !is_delivery(delivery))
    return error("ISAMAP_EMULATION is '" + std::string(delivery) + "', which is none of: late, eager, random:SEED",
                 "SEED is an integer below 1000000000; unset it to use a GPU");
  const char* const counts = std::getenv("ISAMAP_EMULATION_COUNTS");
  const std::string asked = counts == nullptr ? "" : counts;
  if (!asked.empty() && asked != "0" && asked != "1")
    return error("ISAMAP_EMULATION_COUNTS is '" + asked + "', which is none of: 0, 1", "1 counts requests");
  const char* const seconds = std::getenv("ISAMAP_COMPILE_SECONDS");
  if (seconds != nullptr && *seconds != '\0' && !is_limit(seconds))
    return error("ISAMAP_COMPILE_SECONDS is '" + std::string(seconds) + "', which is no number above 0",
                 "the seconds that a compiler may take; unset it for 300");
  return std::nullopt;
}

}  // namespace isamap::cli
