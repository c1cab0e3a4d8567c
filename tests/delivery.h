// SPDX-License-Identifier: Apache-2.0
#pragma once
// How asynchronous copies arrive in emulated kernels: what is right must be right however they do.

#include <cstdlib>
#include <optional>
#include <string>

namespace isamap {

/// How they are delivered while it lives; "": as the environment says.
class Delivered {
 public:
  explicit Delivered(const std::string& how) {
    if (const char* const given = std::getenv(name)) before_ = given;
    if (!how.empty()) setenv(name, how.c_str(), 1);
  }
  ~Delivered() {
    if (before_)
      setenv(name, before_->c_str(), 1);
    else
      unsetenv(name);
  }
  Delivered(const Delivered&) = delete;
  Delivered& operator=(const Delivered&) = delete;

 private:
  static constexpr const char* name = "ISAMAP_EMULATION";
  std::optional<std::string> before_;
};

}  // namespace isamap
