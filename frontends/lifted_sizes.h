// SPDX-License-Identifier: Apache-2.0
#pragma once
// One symbolic kernel from kernels at several sizes.
//
//   seq = 64:  S[h,i,j] += Q[i,h,d] * K[j,h,d]   over 12 x 64 x 64 x 32
//   seq = 65:  S[h,i,j] += Q[i,h,d] * K[j,h,d]   over 12 x 65 x 65 x 32    gives   over 12 x seq x seq x 32
//
// Importers compute with numbers: a model is imported at some sizes, and every number in which the kernels differ is
// fitted by `a*seq + b`, by `(a*seq + b)/c`, rounded down (strided windows), or by `b + k*(seq mod c)` (their
// paddings). All samples must agree with the fit. What this does not prove is that other sizes agree as well, so
// whoever runs a size compares with its own import.

#include <set>

#include "isamap/symbolic.h"

namespace isamap {

/// A kernel at these values of all symbolic sizes.
struct KernelAt {
  Bindings sizes;
  const Kernel* kernel;
};

/// Fits numbers at the sizes of samples by affine expressions over the sizes.
class SizeFit {
 public:
  explicit SizeFit(std::vector<Bindings> samples) : samples_(std::move(samples)) {}

  /// `values[n]`: at sample n. Nothing: no such expression, as of the product of two sizes.
  std::optional<AffineExpr> fit(const std::vector<std::int64_t>& values);
  /// Values of `size`, of first, first + step, .. up to `last`, at which the quotients of this size that agree with all
  /// samples are different numbers, so that samples there decide between them: the first, the middle and the last one.
  /// None: no quotient agrees, or all are one on the first 2048 of these values, more than the rounding of a divisor up
  /// to 64 takes to show.
  std::set<std::int64_t> undecided(const std::vector<std::int64_t>& values, const std::string& size, std::int64_t first,
                                   std::int64_t last, std::int64_t step) const;
  const std::vector<Bindings>& samples() const { return samples_; }

 private:
  /// (a*size + b)/c, rounded down, agrees with all samples for b of low..high.
  struct Quotient {
    std::int64_t a, low, high, c;
    bool is_near;  ///< `a` is the slope times c, rounded
  };
  std::vector<Quotient> quotients(const std::vector<std::int64_t>& values, const std::string& size) const;
  std::optional<AffineExpr> affine(const std::vector<std::int64_t>& values) const;
  std::optional<AffineExpr> divided(const std::vector<std::int64_t>& values, const std::string& size) const;
  std::optional<AffineExpr> remainder(const std::vector<std::int64_t>& values, const std::string& size) const;
  bool agrees(const AffineExpr& e, const std::vector<std::int64_t>& values) const;

  std::vector<Bindings> samples_;
  std::map<std::vector<std::int64_t>, std::optional<AffineExpr>> known_;
};

/// The same kernel without axes and iterators of extent 1: rows of [1, seq, 384] are rows of [seq, 384]. The bytes of
/// tensors are the same.
SymbolicKernel without_unit_axes(const SymbolicKernel& kernel);

/// The first sample gives the names and becomes SymbolicKernel::sample. Factors in bodies that are sizes (the count of
/// a mean) become values of the statement. Errors: kernels that differ in more than numbers, and numbers that are no
/// affine expression, with the place.
Result<SymbolicKernel> lifted(const SizeFacts& facts, const std::vector<KernelAt>& samples, SizeFit& fit);

}  // namespace isamap
