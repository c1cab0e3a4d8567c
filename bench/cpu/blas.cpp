// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/blas.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <sstream>

#include "bench/cpu/libraries.h"
#include "support/allocate.h"

namespace isamap::bench {
namespace {

// Constants of the CBLAS interface: orders, transpositions, packed factor, offsets.
constexpr int row_major = 101, plain = 111, transposed = 112, packed = 151, second_factor = 162, fixed_offset = 173;

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using Sgemv = void (*)(int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SgemmBatch = void (*)(int, int, int, int, int, int, float, const float*, int, int, const float*, int, int, float,
                            float*, int, int, int);
using Bf16Gemm = void (*)(int, int, int, int, int, int, float, const std::uint16_t*, int, const std::uint16_t*, int,
                          float, float*, int);
using ByteGemm = void (*)(int, int, int, int, int, int, int, float, const void*, int, std::int8_t, const void*, int,
                          std::int8_t, float, std::int32_t*, int, const std::int32_t*);
using PackSize = std::size_t (*)(int, int, int, int);
using PackScaled = void (*)(int, int, int, int, int, int, float, const void*, int, void*);
using Pack = void (*)(int, int, int, int, int, int, const void*, int, void*);
using SgemmPacked = void (*)(int, int, int, int, int, int, const float*, int, const void*, int, float, float*, int);

struct Blas {
  std::string name, version;
  std::string prefix;  ///< of all entries
  void* library = nullptr;
  template <class Function>
  Function entry(const std::string& what) const {
    return symbol<Function>(library, prefix + what);
  }
};

std::string first_words(const std::string& text, int count) {
  std::istringstream in(text);
  std::string words, word;
  for (int i = 0; i < count && in >> word; ++i) words += (i == 0 ? "" : " ") + word;
  return words;
}

/// Library-specific queries of version and selected kernels.
std::string version_of(const Blas& blas) {
  if (const auto config = blas.entry<char* (*)()>("openblas_get_config")) {
    const auto core = blas.entry<char* (*)()>("openblas_get_corename");
    return first_words(config(), 2) + (core == nullptr ? "" : fmt::format(" {}", core()));
  }
  if (const auto version = blas.entry<const char* (*)()>("bli_info_get_version_str")) {
    if (const auto begin = blas.entry<void (*)()>("bli_init"))
      begin();  // before that it stops when asked for its kernels
    const auto kind = blas.entry<int (*)()>("bli_arch_query_id");
    const auto text = blas.entry<const char* (*)(int)>("bli_arch_string");
    return fmt::format("{} {} {}", blas.name, version(), kind && text ? text(kind()) : "");
  }
  if (const auto version = blas.entry<void (*)(char*, int)>("mkl_get_version_string")) {
    char text[200] = "";
    version(text, sizeof(text) - 1);
    const std::string whole(text);
    const std::size_t at = whole.find("Version ");
    return blas.name + " " + first_words(at == std::string::npos ? whole : whole.substr(at + 8), 1);
  }
  return blas.name;
}

const std::vector<Blas>& libraries() {
  static const std::vector<Blas> all = [] {
    std::vector<Blas> found{{"OpenBLAS", "", "", open_library({"libscipy_openblas.so", "libopenblas.so.0"})},
                            {"BLIS", "", "", open_library({"libblis.so.4"})},
                            {"MKL", "", "", open_library({"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"})}};
    for (Blas& blas : found) {
      if (blas.library == nullptr) continue;
      if (blas.entry<Sgemm>("cblas_sgemm") == nullptr)
        blas.prefix = "scipy_";  // the build in Python wheels prefixes all symbols
      if (blas.entry<Sgemm>("cblas_sgemm") == nullptr) blas.library = nullptr;
      if (blas.library != nullptr) blas.version = version_of(blas);
    }
    return found;
  }();
  return all;
}

struct Call {
  int m, n, k, lda, ldb, ldc, ta, tb;
  Arrays at;
  template <class T>
  T* a() const {
    return static_cast<T*>(at.inputs[0]);
  }
  template <class T>
  T* b() const {
    return static_cast<T*>(at.inputs[1]);
  }
  template <class T>
  T* c() const {
    return static_cast<T*>(at.output);
  }
};

Call call_of(const CpuCase& c, const Arrays& at) {
  const MatrixPlace a = place_a(c), b = place_b(c), out = place_c(c);
  return {static_cast<int>(c.m),
          static_cast<int>(c.n),
          static_cast<int>(c.k),
          static_cast<int>(a.step),
          static_cast<int>(b.step),
          static_cast<int>(out.step),
          a.transposed ? transposed : plain,
          b.transposed ? transposed : plain,
          at};
}

/// The second factor, packed once; the peer owns the packed copy.
std::shared_ptr<void> packed_factor(const Blas& blas, const std::string& kind, const Call& x) {
  const auto size = blas.entry<PackSize>(kind + "_pack_get_size");
  if (size == nullptr || blas.entry<void*>(kind + "_compute") == nullptr) return nullptr;
  const std::shared_ptr<void> memory = allocate_array(static_cast<std::int64_t>(size(second_factor, x.m, x.n, x.k)));
  if (kind == "cblas_sgemm")
    blas.entry<PackScaled>(kind + "_pack")(row_major, second_factor, x.tb, x.m, x.n, x.k, 1, x.b<void>(), x.ldb,
                                           memory.get());
  else
    blas.entry<Pack>(kind + "_pack")(row_major, second_factor, x.tb, x.m, x.n, x.k, x.b<void>(), x.ldb, memory.get());
  return memory;
}

std::function<void()> packed_run(const Blas& blas, const std::string& types, const Call& x) {
  const std::string kind = types == "f32"    ? "cblas_sgemm"
                           : types == "bf16" ? "cblas_gemm_bf16bf16f32"
                                             : "cblas_gemm_s8u8s32";
  const std::shared_ptr<void> b = packed_factor(blas, kind, x);
  if (!b) return nullptr;
  if (types == "f32") {
    const auto run = blas.entry<SgemmPacked>(kind + "_compute");
    return [=] {
      run(row_major, x.ta, packed, x.m, x.n, x.k, x.a<float>(), x.lda, b.get(), x.ldb, 0, x.c<float>(), x.ldc);
    };
  }
  if (types == "bf16") {
    const auto run = blas.entry<Bf16Gemm>(kind + "_compute");
    return [=] {
      run(row_major, x.ta, packed, x.m, x.n, x.k, 1, x.a<std::uint16_t>(), x.lda,
          static_cast<const std::uint16_t*>(b.get()), x.ldb, 0, x.c<float>(), x.ldc);
    };
  }
  const auto run = blas.entry<ByteGemm>(kind + "_compute");
  return [=] {
    static constexpr std::int32_t none = 0;
    run(row_major, x.ta, packed, fixed_offset, x.m, x.n, x.k, 1, x.a<void>(), x.lda, 0, b.get(), x.ldb, 0, 0,
        x.c<std::int32_t>(), x.ldc, &none);
  };
}

std::function<void()> f32_run(const Blas& blas, const CpuCase& c, const Call& x) {
  const auto gemm = blas.entry<Sgemm>("cblas_sgemm");
  if (c.batch > 1) {
    const int count = static_cast<int>(c.batch), a = x.m * x.k, b = x.k * x.n, out = x.m * x.n;
    if (const auto batch = blas.entry<SgemmBatch>("cblas_sgemm_batch_strided"))
      return [=] {
        batch(row_major, x.ta, x.tb, x.m, x.n, x.k, 1, x.a<float>(), x.lda, a, x.b<float>(), x.ldb, b, 0, x.c<float>(),
              x.ldc, out, count);
      };
    return [=] {
      for (int i = 0; i < count; ++i)
        gemm(row_major, x.ta, x.tb, x.m, x.n, x.k, 1, x.a<float>() + i * a, x.lda, x.b<float>() + i * b, x.ldb, 0,
             x.c<float>() + i * out, x.ldc);
    };
  }
  // One row or column: GEMV on the unpacked matrix.
  const auto gemv = blas.entry<Sgemv>("cblas_sgemv");
  const bool dense = c.gap == 0 && x.ta == plain && x.tb == plain;
  if (gemv != nullptr && dense && x.m == 1)
    return [=] { gemv(row_major, transposed, x.k, x.n, 1, x.b<float>(), x.ldb, x.a<float>(), 1, 0, x.c<float>(), 1); };
  if (gemv != nullptr && dense && x.n == 1)
    return [=] { gemv(row_major, plain, x.m, x.k, 1, x.a<float>(), x.lda, x.b<float>(), 1, 0, x.c<float>(), 1); };
  return [=] {
    gemm(row_major, x.ta, x.tb, x.m, x.n, x.k, 1, x.a<float>(), x.lda, x.b<float>(), x.ldb, 0, x.c<float>(), x.ldc);
  };
}

std::function<void()> run_of(const Blas& blas, const CpuCase& c, const Call& x) {
  if (c.packed)
    if (auto run = packed_run(blas, c.types, x)) return run;
  if (c.types == "f32") return f32_run(blas, c, x);
  if (c.types == "bf16") {
    const auto gemm = blas.entry<Bf16Gemm>("cblas_gemm_bf16bf16f32");
    if (gemm == nullptr) return nullptr;
    return [=] {
      gemm(row_major, x.ta, x.tb, x.m, x.n, x.k, 1, x.a<std::uint16_t>(), x.lda, x.b<std::uint16_t>(), x.ldb, 0,
           x.c<float>(), x.ldc);
    };
  }
  return nullptr;
}

}  // namespace

void add_blas(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found) {
  if (c.kind != CpuCase::Kind::gemm) return;
  for (const Blas& blas : libraries()) {
    if (blas.library == nullptr) continue;
    if (c.types != "f32" && blas.entry<void*>("cblas_gemm_bf16bf16f32") == nullptr) continue;
    const Arrays at = arrays();
    if (auto run = run_of(blas, c, call_of(c, at))) found.push_back({blas.name, std::move(run), at.output});
  }
}

std::vector<std::string> blas_versions() {
  std::vector<std::string> texts;
  for (const Blas& blas : libraries()) texts.push_back(blas.library == nullptr ? "no " + blas.name : blas.version);
  return texts;
}

}  // namespace isamap::bench
