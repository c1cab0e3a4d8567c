// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a time was measured. Facts of this machine that a running time depends on are hashed into a key; times of
// different keys are never compared. A lock lets one process at a time measure on a machine, and a fixed computation at
// the start of each measuring process says whether the machine is as fast as it was.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isamap::jobs {

/// "model name", "features", "caches", "governor", "accelerators", "compilers".
using DeviceFacts = std::map<std::string, std::string>;

/// `compilers`: versions of those that compile programs here.
DeviceFacts device_facts(const std::vector<std::string>& compilers);
/// 16 hexadecimal digits.
std::string device_key(const DeviceFacts& facts);
bool is_device_key(std::string_view text);

/// Held while a program is timed: the only timing on this machine by this user. Waits for others.
class DeviceLock {
 public:
  DeviceLock();
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int file_;
};

/// Seconds of the reference computation (dependent multiplications and additions, then sums of 1 MiB): the best of
/// several.
double reference_seconds();
/// A reference off by more than this share of the median of its device marks the measurement.
constexpr double reference_tolerance = 0.05;

}  // namespace isamap::jobs
