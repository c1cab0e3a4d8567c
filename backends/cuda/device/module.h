// SPDX-License-Identifier: Apache-2.0
// From text to code of the GPU, and from code to kernels that can be launched.

#pragma once

#include "backends/cuda/device/api.h"

namespace device {

// What printed files include of the standard library, for a compiler that has none.
inline const char* const standard_names[] = {"bit", "cmath", "cstdint", "cstring", "limits", "stdint.h", "type_traits"};
inline const char* const standard_texts[] = {
    // bit
    R"(#pragma once
#include <cstdint>
namespace std {
template <class To, class From> __device__ inline To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
__device__ inline int countl_zero(unsigned long x) { return __clzll(x); }
__device__ inline int countl_zero(unsigned x) { return __clz(x); }
}
)",
    // cmath
    R"(#pragma once
namespace std {
using ::ilogb; using ::ldexp; using ::nearbyint; using ::fabs; using ::copysign; using ::fmod; using ::exp; using ::log;
using ::sqrt; using ::tanh; using ::erf; using ::fma; using ::fmin; using ::fmax; using ::floor; using ::ceil; using ::trunc;
using ::round; using ::rint; using ::pow; using ::abs; using ::sin; using ::cos; using ::tan; using ::asin; using ::acos;
using ::atan; using ::sinh; using ::cosh; using ::asinh; using ::acosh; using ::atanh; using ::expm1; using ::log1p;
__device__ inline float ldexp(float x, int e) { return ::ldexpf(x, e); }
__device__ inline float nearbyint(float x) { return ::nearbyintf(x); }
__device__ inline float fabs(float x) { return ::fabsf(x); }
__device__ inline float copysign(float x, float y) { return ::copysignf(x, y); }
__device__ inline int ilogb(float x) { return ::ilogbf(x); }
__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline float log(float x) { return ::logf(x); }
__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline float tanh(float x) { return ::tanhf(x); }
__device__ inline float erf(float x) { return ::erff(x); }
__device__ inline float floor(float x) { return ::floorf(x); }
__device__ inline float ceil(float x) { return ::ceilf(x); }
__device__ inline float trunc(float x) { return ::truncf(x); }
__device__ inline float fmod(float x, float y) { return ::fmodf(x, y); }
__device__ inline float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
__device__ inline bool isinf(double x) { return ::fabs(x) == __longlong_as_double(0x7ff0000000000000LL); }
__device__ inline bool isfinite(double x) { return ::fabs(x) < __longlong_as_double(0x7ff0000000000000LL); }
__device__ inline bool isnan(double x) { return x != x; }
__device__ inline bool signbit(double x) { return __double_as_longlong(x) < 0; }
}
)",
    // cstdint
    R"(#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t; typedef unsigned long uint64_t;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
}
)",
    // cstring
    R"(#pragma once
namespace std { using ::memcpy; using ::memset; }
)",
    // limits
    R"(#pragma once
namespace std {
template <class T> struct numeric_limits {
  static constexpr bool is_signed = T(-1) < T(0);
  __device__ static constexpr T max() { return is_signed ? T((1ull << (8 * sizeof(T) - 1)) - 1) : T(~0ull); }
  __device__ static constexpr T min() { return is_signed ? T(-max() - 1) : T(0); }
  __device__ static constexpr T lowest() { return min(); }
};
template <> struct numeric_limits<float> {
  __device__ static constexpr float max() { return 0x1.fffffep127f; }
  __device__ static constexpr float lowest() { return -0x1.fffffep127f; }
  __device__ static float infinity() { return __int_as_float(0x7f800000); }
  __device__ static float quiet_NaN() { return __int_as_float(0x7fc00000); }
};
template <> struct numeric_limits<double> {
  __device__ static constexpr double max() { return 0x1.fffffffffffffp1023; }
  __device__ static constexpr double lowest() { return -0x1.fffffffffffffp1023; }
  __device__ static double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
  __device__ static double quiet_NaN() { return __longlong_as_double(0x7ff8000000000000LL); }
};
}
)",
    // stdint.h
    "#pragma once\n#include <cstdint>\n",
    // type_traits
    R"(#pragma once
namespace std {
template <class T> inline constexpr bool is_signed_v = T(-1) < T(0);
template <bool first, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool first, class A, class B> using conditional_t = typename conditional<first, A, B>::type;
}
)"};

/// Code of the GPU for a printed file; it need not be there. Ends with the compiler's log where the text is wrong.
inline std::string compile(const std::string& text, const std::vector<std::string>& options) {
  Handle program = nullptr;
  constexpr int headers = sizeof standard_names / sizeof standard_names[0];
  static_assert(headers == sizeof standard_texts / sizeof standard_texts[0]);
  if (compiler.create(&program, text.c_str(), "kernel.cu", headers, standard_texts, standard_names) != 0)
    stop(wrong, "the runtime compiler takes no program");
  std::vector<const char*> words_of_options;
  for (const std::string& option : options) words_of_options.push_back(option.c_str());
  const Code code = compiler.compile(program, static_cast<int>(options.size()), words_of_options.data());
  std::size_t size = 0;
  if (code != 0) {
    compiler.log_size(program, &size);
    std::string log(size + 1, '\0');
    if (size > 0) compiler.log(program, log.data());
    stop(wrong, "the runtime compiler refuses the kernels (error %d):\n%s", code, log.c_str());
  }
  if (compiler.size(program, &size) != 0 || size == 0)
    stop(wrong, "the runtime compiler made no code: its options name no architecture of a GPU (-arch=sm_80, say)");
  std::string binary(size, '\0');
  if (compiler.code(program, binary.data()) != 0) stop(wrong, "the runtime compiler does not hand over its code");
  compiler.destroy(&program);
  return binary;
}

// One process runs the kernels of one file.
inline Handle kernels = nullptr;
inline std::string code_of_kernels;  // must outlive the module

/// From here on this process can use the GPU.
inline void begin(Gpu& gpu) {
  if (const std::string why = open_driver(); !why.empty()) stop(missing, "%s", why.c_str());
  if (const std::string why = find_gpu(gpu); !why.empty()) stop(missing, "%s", why.c_str());
  Handle context = nullptr;
  if (const Code code = driver.retain(&context, gpu.number); code != 0)
    stop(missing, "%s cannot be used: %s", gpu.name.c_str(), words(code).c_str());
  expect(driver.set_current(context), "the GPU's context");
}

inline void load_kernels(std::string code) {
  code_of_kernels = std::move(code);
  if (const Code problem = driver.load(&kernels, code_of_kernels.data()); problem != 0)
    stop(wrong, "the driver does not load the kernels: %s", words(problem).c_str());
}

inline Address allocate(std::size_t bytes) {
  Address at = 0;
  const Code code = driver.allocate(&at, bytes > 0 ? bytes : 1);
  if (code == 0) return at;
  std::size_t left = 0, all = 0;
  driver.free_memory(&left, &all);
  stop(code == out_of_memory ? missing : wrong, "%zu bytes on the GPU, of which %zu of %zu are free: %s", bytes, left,
       all, words(code).c_str());
}

}  // namespace device
