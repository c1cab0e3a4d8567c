// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values by key that several threads ask for. A value follows from its key: where two threads miss it at the same time,
// both compute it, and the first one is kept.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace isamap {

template <class Value>
class KeptValues {
 public:
  /// `make()` where the key is new. References live as long as the object.
  template <class Make>
  const Value& of(const std::string& key, const Make& make) {
    {
      const std::lock_guard held(*lock_);
      if (const auto known = values_.find(key); known != values_.end()) return known->second;
    }
    Value made = make();
    const std::lock_guard held(*lock_);
    return values_.try_emplace(key, std::move(made)).first->second;
  }

 private:
  std::unique_ptr<std::mutex> lock_ = std::make_unique<std::mutex>();
  std::map<std::string, Value> values_;
};

}  // namespace isamap
