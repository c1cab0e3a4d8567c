#pragma once
// What the readers of the three files share: what is wrong is said at its place, and reading goes on.

#include <optional>
#include <string>

#include "support/yaml.h"

namespace isamap::timeloop {

class Reader {
 protected:
  explicit Reader(Diagnostics& problems) : problems_(problems) {}

  /// Converts to any missing value, for `return wrong(...)`.
  std::nullopt_t wrong(const yaml::Node& node, const std::string& message, const std::string& hint = "") {
    problems_.push_back(error_at(node.where, message, hint));
    return std::nullopt;
  }

  Diagnostics& problems_;
};

}  // namespace isamap::timeloop
