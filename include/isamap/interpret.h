// SPDX-License-Identifier: Apache-2.0
#pragma once
// The semantics of a kernel, test data, and the interface of what runs programs (Runner).

#include <cstdint>
#include <string>
#include <vector>

#include "isamap/kernel.h"
#include "isamap/program.h"

namespace isamap {

// The only source of random numbers: the same seed gives the same numbers on every machine.
// splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 14.

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    return span == 0 ? static_cast<std::int64_t>(next()) : low + static_cast<std::int64_t>(next() % span);
  }

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// The executable definition of a kernel: the reference for all results.

/// The bytes of one tensor, row-major, little endian, in the tensor's dtype.
struct TensorData {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
  bool operator==(const TensorData&) const = default;

  std::int64_t count() const;
  Scalar get(std::int64_t position) const;
  void set(std::int64_t position, Scalar value);
};

TensorData make_data(const Tensor& tensor);  ///< zeros

/// Small integers (-2 to 2, unsigned 0 to 3), with which sums of some 2^20 products are exact in f32 and those of a few
/// dozen in the smallest floats, or (real) uniform values in [-1, 1] rounded to the dtype. Within Tensor::range.
enum class Fill { integers, real };
TensorData random_data(const Tensor& tensor, Fill fill, Random& random);
/// One for each tensor of the kernel: random where the caller provides values (inputs and `inout`), else zeros.
std::vector<TensorData> random_data(const Kernel& kernel, Fill fill, std::uint64_t seed);

/// The number of points of `interpret`, as a double: it may exceed 2^63.
double point_count(const Computation& statement);
double point_count(const Kernel& kernel);

/// One TensorData for each tensor of the kernel, in order. Inputs are read, outputs and intermediates written:
/// an output starts at the reduction's identity unless `inout`. Reductions run in the order of the domain's dims.
/// Shapes must match (checked). Runs at a few ns per operation: rows of the longest parallel dim at a time.
void interpret(const Kernel& kernel, std::vector<TensorData>& data);

/// The difference of two results. Integers must be equal, unless they were rounded from inexact intermediates. Each
/// float may differ by a bound: for sums of products 2 * (terms + roundings of the body) * unit roundoff of the
/// coarsest rounding * sum of |terms| (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.1;
/// twice, since both results round); for other bodies by running error analysis. NaN equals NaN.
struct Comparison {
  bool equal = true;
  double max_error = 0;          ///< largest |a - b|
  double worst_ratio = 0;        ///< largest |a - b| / bound; <= 1 is equal
  std::string first_difference;  ///< "O[3,1]: 12 instead of 13"
};
/// `expected`: after `interpret`, with inputs and intermediates; of `found` only outputs are used. The initial value of
/// an `inout` output is unknown here and bounded by its final value and the added terms.
Comparison compare(const Kernel& kernel, const std::vector<TensorData>& expected, const std::vector<TensorData>& found);

// Runs programs: implemented by backends, used by the scheduler's measured models and the CLI.

/// Limits of the process that runs a program.
struct RunLimits {
  double seconds = 60;                                ///< of wall-clock time, and of processor time
  std::int64_t memory_bytes = std::int64_t{8} << 30;  ///< of address space; 0: none
  std::int64_t file_bytes = std::int64_t{256} << 20;  ///< of each written file; 0: none
};

/// Requests of emulated threads to global memory, counted together where one instruction has several.
struct MemoryRequests {
  std::string part, tensor, access;  ///< part of the program (a kernel); "loads", "stores", "additions", "copies"
  std::int64_t requests = 0;
  std::int64_t sectors = 0;  ///< sectors that the memory moved for them
  std::int64_t least = 0;    ///< sectors that the same bytes would need if contiguous
  std::int64_t sector_bytes = 0;
};

/// Requests to a banked memory, which serves them in passes: one word of each bank per pass.
struct BankRequests {
  std::string part, array, access;
  std::int64_t requests = 0;
  std::int64_t passes = 0;
  std::int64_t least = 0;  ///< passes that the same bytes would need without conflicts
  std::int64_t banks = 0, bank_width = 0;
  std::int64_t worst_passes = 0, worst_least = 0;  ///< of the request with the most conflicts
  std::int64_t worst_line = 0;                     ///< of the printed text
  std::int64_t worst_block = 0, worst_warp = 0;
};

/// How a program runs on this machine.
enum class ExecutionMode {
  unavailable,  ///< it does not: something is missing
  native,
  emulated,   ///< its times say nothing about the described machine
  simulator,  ///< counts cycles
  shim,       ///< a header in plain C++ implements the instructions
  written     ///< it was written, to run on another machine
};
/// "native", "emulated", ...
std::string_view name(ExecutionMode mode);

/// Whether a run computed what the interpreter does. Stores of trials hold the numbers.
enum class RunVerdict { not_run = 0, correct = 1, wrong_result = 2 };

struct RunOutcome {
  ExecutionMode executed = ExecutionMode::unavailable;
  std::string compiler;                  ///< the command that made the program; empty: none did
  std::string simulator;                 ///< the name of an external simulator; empty: none
  double simulator_seconds = 0;          ///< its time limit
  std::string text;                      ///< of the printed program that ran, as `emit` has it
  double seconds = 0;                    ///< median time of one run of the main entry; 0: simulated, not timed
  std::int64_t cycles = 0;               ///< simulators only: of instructions
  double scalar_cycles = 0;              ///< simulators only: of element statements between them
  std::vector<MemoryRequests> requests;  ///< emulations only, on request (ISAMAP_EMULATION_COUNTS)
  std::vector<BankRequests> banks;       ///< the same
  std::string missing;                   ///< non-empty: not run, because this package or feature is missing
  std::string limit;                     ///< non-empty: not finished, because this limit was reached
  std::string environment;               ///< non-empty: not run, because of a setting that the user can change
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// What can be done before runs, such as compiling, by `jobs` compilers at a time: nothing else runs while one is
  /// timed. Only saves time; problems are those of `run`. `stopped`: asked before each program.
  virtual void prepare(const std::vector<const Program*>& /*programs*/, int /*jobs*/,
                       const std::function<bool()>& /*stopped*/ = {}) {}
  /// `data`: one entry for each kernel tensor; outputs are replaced by the results of the run. `min_seconds`: repeat
  /// the timed entry until this much time is spent (at least once).
  virtual Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits& limits,
                                 double min_seconds) = 0;
};

}  // namespace isamap
