// SPDX-License-Identifier: Apache-2.0
// Checks and times one printed kernel on the local GPU. Each case is a separate program, which isolates crashes: the
// host part of the kernel, `the_case`, and runner.cpp.
//
//   case check RESULT      against float64, its outputs poisoned before and their surroundings guarded
//   case time RESULT       in graphs of launches over buffers that take turns, in turn with the vendor's library
//
// RESULT is written whole or not at all. BENCH_SECONDS is the time that each candidate is measured (0.5).

#pragma once

#include "isamap_device.h"
#include "values.h"

namespace bench {

/// C[i,j] += A[i,k] * B[k,j], or B[j,k]; m == 0: not a product.
struct Product {
  long m = 0, n = 0, k = 0;
  bool transposed = false;
};

struct Pointer {
  device::Address at;
  template <class T>
  operator T*() const {
    return reinterpret_cast<T*>(at);
  }
};

struct Array {
  const char* name;
  const char* type_name;
  Type type;
  long count;
  bool output;
};

struct Case {
  const char *name, *family, *kernel, *target;
  std::string arch;                  ///< "sm_90a"
  std::vector<std::string> options;  ///< of the runtime compiler
  std::vector<Array> arrays;
  Product product;
  void (*reference)(const std::vector<const double*>&, double*);  ///< null: a product
  void (*entry)(const std::vector<Pointer>&, device::Handle);
  double operations, bytes, predicted_seconds;
};

/// The main function of a case (runner.cpp).
int main_of(const Case& c, int argc, char** argv);

}  // namespace bench
