// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device_names.h"

namespace isamap {
namespace {

struct ForDevice {
  const char *standard, *name, *text;
};
constexpr ForDevice for_device[] = {
    {"std::numeric_limits<", "limits_of", R"(#if defined(__CUDACC_RTC__)
template <class T> using limits_of = std::numeric_limits<T>;
#else
template <class T> struct limits_of {
  static constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  static constexpr T beyond = std::numeric_limits<T>::infinity(), none = std::numeric_limits<T>::quiet_NaN();
  static __host__ __device__ constexpr T min() { return least; }
  static __host__ __device__ constexpr T max() { return most; }
  static __host__ __device__ constexpr T infinity() { return beyond; }
  static __host__ __device__ constexpr T quiet_NaN() { return none; }
};
#endif

)"},
};

}  // namespace

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string with_device_names(std::string text) {
  std::string definitions;
  for (const ForDevice& other : for_device) {
    if (text.find(other.standard) == std::string::npos) continue;
    text = replaced(text, other.standard, std::string(other.name) + "<");
    definitions += other.text;
  }
  return definitions + text;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const ForDevice& other : for_device) names.emplace_back(other.name);
  return names;
}

}  // namespace isamap
