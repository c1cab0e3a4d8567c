// SPDX-License-Identifier: Apache-2.0
// The dim of the rows: for each output element the contributions must have the order of the domain's dims. If the write
// maps distinct points of the parallel dims to distinct elements, moving one parallel dim innermost changes no
// element's order, and neither does the last reduction dim. Otherwise rows run along the last dim.
//
// Of large scatters (ir/scatter.h) only points are visited at which the place is hit; small ones are what all points
// say, so that tests compare programs with that.

#include "ir/evaluation/row_statement.h"

#include <algorithm>
#include <cstdlib>

#include "ir/scalar/scalar_functions.h"
#include "ir/scatter.h"
#include "support/stop.h"

namespace isamap {
namespace {

// Sorted by size, each stride must exceed the total reach of all smaller ones.
bool writes_once(const Computation& s, const Tensor& written) {
  const AffineExpr position = row_major(s.write.index, written.shape);
  if (!position.is_linear()) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;  // stride, extent
  for (const Dim& dim : s.domain.dims) {
    if (dim.kind == DimKind::parallel && dim.extent > 1)
      strides.emplace_back(std::abs(position.coefficient(dim.name)), dim.extent);
  }
  std::sort(strides.begin(), strides.end());
  std::int64_t reach = 0;
  for (const auto& [stride, extent] : strides) {
    if (stride <= reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

std::size_t choose_row(const std::vector<Dim>& dims, bool free_choice) {
  if (!free_choice) return dims.size() - 1;
  std::optional<std::size_t> parallel, reduction;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].kind == DimKind::reduction)
      reduction = d;
    else if (!parallel || dims[d].extent >= dims[*parallel].extent)
      parallel = d;
  }
  constexpr std::int64_t long_enough = 32;
  if (!parallel) return *reduction;
  if (reduction && dims[*parallel].extent < long_enough && dims[*reduction].extent > dims[*parallel].extent)
    return *reduction;
  return *parallel;
}

std::vector<Dim> dims_of(const Computation& s) {
  if (!s.domain.dims.empty()) return s.domain.dims;
  return {{"", 1, DimKind::parallel}};  // a statement without dims has one point
}

/// The longest row of elements with one position, else the first digit.
std::size_t choose_row(const Computation& s, const Scatter& scatter) {
  const std::vector<Dim>& dims = s.domain.dims;
  auto row = static_cast<std::size_t>(s.domain.find(scatter.digits.front().first));
  bool found = false;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool own =
        std::find(s.write.index.begin(), s.write.index.end(), AffineExpr::dim(dims[d].name)) != s.write.index.end();
    if (!own || scatter.has(dims[d].name) || scatter.fixed.contains(dims[d].name)) continue;
    if (!found || dims[d].extent > dims[row].extent) row = d;
    found = true;
  }
  return row;
}

/// The updates of a scatter.
struct Hits {
  std::vector<int> operands;  ///< of the place
  RowExpr place;
  ScatterPlace digits;
};

class StatementRun {
 public:
  StatementRun(const Computation& s, const std::vector<Tensor>& tensors, std::vector<Numbers>& numbers,
               const std::optional<Scatter>& scatter)
      : reduction_(s.reduction),
        dims_(dims_of(s)),
        row_(scatter ? choose_row(s, *scatter) : choose_row(dims_, writes_once(s, tensors[s.write.tensor.index()]))),
        body_(s.body),
        written_(numbers[s.write.tensor.index()]),
        write_(s.write, without_outside(tensors[s.write.tensor.index()]), names(), row_),
        point_(dims_.size(), 0) {
    if (scatter) hits_.emplace(Hits{scatter->operands, RowExpr(scatter->place), {*scatter, s}});
    for (const Access& read : s.reads) {
      reads_.emplace_back(read, tensors[read.tensor.index()], names(), row_);
      sources_.push_back(&numbers[read.tensor.index()]);
    }
    for (std::size_t r = 0; r < s.reads.size(); ++r)
      if (const auto& computed = s.reads[r].computed) reads_[r].set_computed(*computed, s.reads[r]);
    for (const AffineExpr& face : s.domain.faces) faces_.emplace_back(face, names());
    for (const AffineExpr& value : s.values) values_.push_back({CompiledAffine(value, names()), {}});
    rows_.resize(reads_.size() + values_.size());
    if (is_float(write_.dtype()))
      spread_real_.resize(static_cast<std::size_t>(RowExpr::max_length));
    else
      spread_integer_.resize(static_cast<std::size_t>(RowExpr::max_length));
  }

  void run() {
    for (const Dim& dim : dims_) {
      if (dim.extent <= 0) return;
    }
    do {
      point_[row_] = 0;
      hits_ ? hit() : row();
      point_[row_] = 0;
      leave_if_asked();
    } while (next_row());
  }

 private:
  static Tensor without_outside(Tensor tensor) {
    tensor.outside.reset();
    return tensor;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Dim& dim : dims_) result.push_back(dim.name);
    return result;
  }

  bool next_row() {
    for (std::size_t d = dims_.size(); d-- > 0;) {
      if (d == row_ || (hits_ && hits_->digits.has(d))) continue;
      if (++point_[d] < dims_[d].extent) return true;
      point_[d] = 0;
    }
    return false;
  }

  // The runs of points inside all faces.
  void row() {
    const std::int64_t extent = dims_[row_].extent;
    std::int64_t first = 0;
    while (first < extent) {
      std::int64_t end = faces_.empty() ? extent : first;
      while (end < extent && is_inside(end)) ++end;
      for (std::int64_t begin = first; begin < end; begin += RowExpr::max_length) {
        piece(begin, std::min(RowExpr::max_length, end - begin));
      }
      first = end + 1;
    }
  }

  void load(std::size_t operand, std::int64_t first, std::int64_t length) {
    if (operand >= reads_.size()) {
      rows_[operand] = value_row(values_[operand - reads_.size()], first, length);
      return;
    }
    RowAccess& read = reads_[operand];
    if (const auto from = read.computed_by()) read.choose(rows_[*from], length);
    rows_[operand] = read.load(*sources_[operand], point_.data(), first, length);
  }

  // The points of one update that have its place.
  void hit() {
    for (const int operand : hits_->operands) load(static_cast<std::size_t>(operand), 0, 1);
    point_[row_] = 0;
    if (!hits_->digits.go_to(hits_->place.evaluate(rows_, 1).integer[0], point_)) return;
    if (hits_->digits.has(row_))
      piece(point_[row_], 1);
    else
      row();
    hits_->digits.leave(point_);
  }

  bool is_inside(std::int64_t x) {
    point_[row_] = x;
    return std::all_of(faces_.begin(), faces_.end(), [&](const auto& face) { return face(point_.data()) >= 0; });
  }

  void piece(std::int64_t first, std::int64_t length) {
    for (std::size_t r = 0; r < rows_.size(); ++r) load(r, first, length);
    const Row value = body_.evaluate(rows_, length);
    point_[row_] = first;
    if (is_float(write_.dtype()))
      store_real(value, length);
    else
      store_integer(value, length);
  }

  struct ValueRow {
    CompiledAffine value;
    std::vector<std::int64_t> row;
  };

  Row value_row(ValueRow& of, std::int64_t first, std::int64_t length) {
    of.row.resize(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) {
      point_[row_] = first + i;
      of.row[static_cast<std::size_t>(i)] = of.value(point_.data());
    }
    return {false, nullptr, of.row.data()};
  }

  template <class T>
  static const T* spread(const T* values, bool uniform, std::vector<T>& buffer, std::int64_t length) {
    if (!uniform) return values;
    std::fill_n(buffer.begin(), length, *values);
    return buffer.data();
  }

  // out (op)= value at each point, in order.
  template <class T, class F>
  void update(T* out, const T* values, std::int64_t length, F f) {
    const auto stride = write_.stride();
    const std::int64_t first = write_.position(point_.data());
    if (stride == 1) {
      T* to = out + first;
      for (std::int64_t i = 0; i < length; ++i) to[i] = f(to[i], values[i]);
    } else if (stride == 0) {
      T sum = out[first];
      for (std::int64_t i = 0; i < length; ++i) sum = f(sum, values[i]);
      out[first] = sum;
    } else if (stride) {
      for (std::int64_t i = 0; i < length; ++i) out[first + i * *stride] = f(out[first + i * *stride], values[i]);
    } else {
      const std::int64_t start = point_[row_];
      for (std::int64_t i = 0; i < length; ++i) {
        point_[row_] = start + i;
        T& element = out[write_.position(point_.data())];
        element = f(element, values[i]);
      }
    }
  }

  void store_real(const Row& value, std::int64_t length) {
    const double* values = spread(value.real, value.uniform, spread_real_, length);
    double* out = written_.real.data();
    const DType type = write_.dtype();
    if (reduction_ == Reduction::assign) return update(out, values, length, [](double, double v) { return v; });
    if (reduction_ == Reduction::add && type == DType::f32) {
      return update(out, values, length,
                    [](double a, double v) { return static_cast<double>(static_cast<float>(a + v)); });
    }
    if (reduction_ == Reduction::add && type == DType::f64) {
      return update(out, values, length, [](double a, double v) { return a + v; });
    }
    update(out, values, length, [this, type](double a, double v) {
      return combine(reduction_, type, {a, 0}, {v, 0}).real;
    });
  }

  void store_integer(const Row& value, std::int64_t length) {
    const std::int64_t* values = spread(value.integer, value.uniform, spread_integer_, length);
    std::int64_t* out = written_.integer.data();
    const DType type = write_.dtype();
    if (reduction_ == Reduction::assign)
      return update(out, values, length, [](std::int64_t, std::int64_t v) { return v; });
    if (reduction_ == Reduction::add && type == DType::s32) {
      return update(out, values, length, [](std::int64_t a, std::int64_t v) -> std::int64_t {
        return static_cast<std::int32_t>(wrapping::add(a, v));
      });
    }
    update(out, values, length, [this, type](std::int64_t a, std::int64_t v) {
      return combine(reduction_, type, {0, a}, {0, v}).integer;
    });
  }

  Reduction reduction_;
  std::vector<Dim> dims_;
  std::size_t row_;
  std::optional<Hits> hits_;
  RowExpr body_;
  Numbers& written_;
  RowAccess write_;
  std::vector<RowAccess> reads_;
  std::vector<const Numbers*> sources_;
  std::vector<CompiledAffine> faces_;
  std::vector<ValueRow> values_;
  std::vector<std::int64_t> point_;
  std::vector<Row> rows_;
  std::vector<double> spread_real_;
  std::vector<std::int64_t> spread_integer_;
};

}  // namespace

void run_statement(const Computation& statement, const std::vector<Tensor>& tensors, std::vector<Numbers>& numbers,
                   bool from_zero) {
  StatementRun(statement, tensors, numbers, large_scatter(statement, from_zero)).run();
}

}  // namespace isamap
