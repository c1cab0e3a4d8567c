// What the AVX-VNNI intrinsics compute, by AVX2 alone, for processors without the feature. Programs that ran with this
// header are reported as shim. Semantics: Intel SDM vol. 2, VPDPBUSD and VPDPWSSD: no intermediate saturation, sums
// wrap.
#pragma once
#include <immintrin.h>

static inline __m256i avx_vnni_shim_dpbusd(__m256i c, __m256i a, __m256i b) {  // a unsigned, b signed bytes
  const __m256i low = _mm256_set1_epi16(0x00ff);
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(a, low), _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8));
  return _mm256_add_epi32(c, _mm256_add_epi32(even, odd));
}
static inline __m256i avx_vnni_shim_dpwssd(__m256i c, __m256i a, __m256i b) {
  return _mm256_add_epi32(c, _mm256_madd_epi16(a, b));
}
#undef _mm256_dpbusd_avx_epi32
#undef _mm256_dpwssd_avx_epi32
#define _mm256_dpbusd_avx_epi32 avx_vnni_shim_dpbusd
#define _mm256_dpwssd_avx_epi32 avx_vnni_shim_dpwssd
