// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/header.h"
#include "backends/cpp/text/helpers.h"
#include "backends/cpp/text/index_text.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "ir/evaluation/error_bounds.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

constexpr double max_points = 1e10;  // about a minute of interpretation

/// Pseudo-random element i of tensor t, here and in the printed program. Multiples of 1/8 from -1 to 1 are
/// representable in every format; small integers as in include/isamap/interpret.h keep sums exact.
std::uint32_t mixed(std::uint32_t i, std::uint32_t t) {
  std::uint32_t h = i * 2654435761U + t * 40503U + 1U;
  h = (h ^ (h >> 15)) * 2246822519U;
  return h ^ (h >> 13);
}
constexpr const char* mixed_text = R"(std::uint32_t mixed(std::uint32_t i, std::uint32_t t) {
  std::uint32_t h = i * 2654435761U + t * 40503U + 1U;
  h = (h ^ (h >> 15)) * 2246822519U;
  return h ^ (h >> 13);
}
)";

/// The values are first + step * (mixed % count), converted to the tensor's type.
struct TestValues {
  double first = -1, step = 0.125;
  std::uint32_t count = 17;
};
TestValues values_of(const Tensor& tensor) {
  if (is_float(tensor.dtype)) {
    if (!tensor.range || !std::isfinite(tensor.range->first) || !std::isfinite(tensor.range->second)) return {};
    return {tensor.range->first, (tensor.range->second - tensor.range->first) / 16, 17};
  }
  const bool no_sign = integer_min(tensor.dtype) == 0;
  if (!tensor.range) return {no_sign ? 0.0 : -2.0, 1, is_truth(tensor.dtype) ? 2U : no_sign ? 4U : 5U};
  const double width = std::floor(tensor.range->second) - std::ceil(tensor.range->first);
  return {std::ceil(tensor.range->first), 1, static_cast<std::uint32_t>(std::clamp(width, 0.0, 5.0)) + 1};
}

constexpr const char* prologue_text = R"(
struct Array {
  std::size_t bytes, align;
  unsigned char* at;
};

std::size_t held(const Array& a) { return a.bytes + 64; }  // 64 bytes behind the end are looked at too

struct Free {
  void operator()(void* at) const { std::free(at); }
};
std::vector<std::unique_ptr<void, Free>> owned;  // freed at the end

unsigned char* allocate(const Array& a) {
  const std::size_t align = a.align < 64 ? 64 : a.align;
  void* const at = std::aligned_alloc(align, (held(a) + align - 1) / align * align);
  if (at == nullptr) {
    std::fprintf(stderr, "not enough memory\n");
    std::exit(1);
  }
  owned.emplace_back(at);
  std::memset(at, 0xff, held(a));
  return static_cast<unsigned char*>(at);
}

int wrong = 0;

void check(const char* tensor, long element, double found, double expected, double bound) {
  const double error = found - expected;
  if (found == expected || (found != found && expected != expected) || (error <= bound && -error <= bound)) return;
  if (wrong++ == 0) std::fprintf(stderr, "%s: element %ld is %.9g instead of %.9g\n", tensor, element, found, expected);
}

void check_rest(const char* tensor, const Array& found, const Array& expected) {
  if (std::memcmp(found.at, expected.at, held(found)) == 0) return;
  if (wrong++ == 0) std::fprintf(stderr, "%s: memory between or behind its elements was written\n", tensor);
}
)";

/// Open loops, the ranges of their variables, and the lines inside them.
struct Nest {
  std::string open, lines, indent = "  ";
  int depth = 0;
  Ranges ranges;
  std::map<std::string, std::string> names;

  void loop(const std::string& dim, const std::string& name, std::int64_t extent) {
    names[dim] = name;
    ranges[dim] = {0, extent - 1};
    open += fmt::format("{0}for (long {1} = 0; {1} < {2}; ++{1}) {{\n", indent, name, extent);
    indent += "  ";
    ++depth;
  }
  void line(const std::string& text) { lines += indent + text + "\n"; }
  std::string text() const {
    std::string close;
    for (int d = depth; d > 0; --d)
      close += indent.substr(0, indent.size() - 2 * static_cast<std::size_t>(depth - d + 1)) + "}\n";
    return open + lines + close;
  }
};

/// The kernel as naive loops, the semantics of its statements without a schedule.
class PlainLoops {
 public:
  PlainLoops(const Kernel& kernel, const std::vector<std::string>& tensors, const Names& names, ElementText& elements)
      : kernel_(kernel), tensors_(tensors), names_(names), elements_(elements) {}

  std::string reference() {
    std::string list, body;
    std::set<std::int32_t> written;
    for (const Computation& s : kernel_.statements) written.insert(s.write.tensor.value);
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t)
      list += fmt::format("{}{}{}* {}", list.empty() ? "" : ", ",
                          written.contains(static_cast<std::int32_t>(t)) ? "" : "const ", type(t), tensors_[t]);
    std::set<std::int32_t> begun;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (begun.insert(kernel_.statements[s].write.tensor.value).second) body += start(kernel_.statements[s]);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const Repeat* repeat = repeat_of(kernel_, s);
      if (repeat && s == repeat->first) body += opening(*repeat);
      body += statement(kernel_.statements[s], repeat);
      if (repeat && s + 1 == repeat->first + repeat->count) body += "  }\n";
    }
    return "void reference(" + list + ") {\n" + unused(body) + body + "}\n\n}  // namespace\n\n";
  }

  /// One loop per dimension of the tensor; `index` gets their variables.
  Nest nest_of(const Tensor& tensor, std::vector<AffineExpr>& index) const {
    Nest nest;
    Names names = names_;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const std::string dim = "d" + std::to_string(d);
      index.push_back(AffineExpr::dim(dim));
      nest.loop(dim, names.unique(dim), tensor.shape[d]);
    }
    return nest;
  }
  std::string type(std::size_t t) const { return portable_type(kernel_.tensors[t].dtype); }

 private:
  std::string step_name(const Repeat& repeat) const {
    Names names = names_;
    return names.unique(repeat.dim);
  }

  std::string opening(const Repeat& repeat) const {
    const std::string step = step_name(repeat);
    if (repeat.backward) return fmt::format("  for (long {0} = {1}; {0} >= 0; --{0}) {{\n", step, repeat.steps - 1);
    return fmt::format("  for (long {0} = 0; {0} < {1}; ++{0}) {{\n", step, repeat.steps);
  }

  std::string unused(const std::string& body) const {
    std::string text;
    for (const std::string& name : tensors_)
      if (!says(body, name)) text += "  (void)" + name + ";\n";
    return text;
  }

  /// Outputs that are not `inout` start at the identity of their first reduction.
  std::string start(const Computation& s) {
    const std::size_t t = s.write.tensor.index();
    const Tensor& tensor = kernel_.tensors[t];
    if (tensor.inout) return "";
    const Scalar value = identity(s.reduction, tensor.dtype);
    const ScalarExpr number = constant(as_double(tensor.dtype, value), tensor.dtype);
    std::vector<AffineExpr> index;
    Nest nest = nest_of(tensor, index);
    nest.line(elements_.statement(Reduction::assign, tensor.dtype, element(t, index, nest), number, {}));
    return nest.text();
  }

  std::string element(std::size_t t, const std::vector<AffineExpr>& index, const Nest& nest) {
    return fmt::format("{}[{}]", tensors_[t],
                       index_text(position(index, kernel_.tensors[t]), nest.ranges, nest.names, elements_));
  }

  std::string statement(const Computation& s, const Repeat* repeat) {
    Nest nest;
    Names names = names_;
    const std::string step = repeat ? repeat->dim : "";
    if (repeat) {
      nest.names[step] = step_name(*repeat);
      nest.ranges[step] = {0, repeat->steps - 1};
      nest.indent += "  ";
      names.unique(step);  // that name
    }
    for (const Dim& dim : s.domain.dims)
      if (dim.name != step) nest.loop(dim.name, names.unique(dim.name), dim.extent);
    for (const AffineExpr& face : s.domain.faces)
      nest.line(fmt::format("if ({} < 0) continue;", index_text(face, nest.ranges, nest.names, elements_)));
    std::vector<std::string> reads;
    for (const Access& access : s.reads) {
      reads.push_back(names.unique("read"));
      Access regular = access;
      if (access.computed) {
        const auto axis = static_cast<std::size_t>(access.computed->axis);
        const std::string name = computed_name(access.computed->read);
        regular.index[axis] = AffineExpr::dim(name);
        nest.names[name] = elements_.clamped_index(reads[static_cast<std::size_t>(access.computed->read)],
                                                   kernel_.tensors[access.tensor.index()].shape[axis] - 1);
      }
      read(regular, reads.back(), nest);
    }
    for (const AffineExpr& value : s.values) {
      reads.push_back(names.unique("value"));
      nest.line(fmt::format("const {0} {1} = {0}({2});", portable_type(DType::s32), reads.back(),
                            index_text(value, nest.ranges, nest.names, elements_)));
    }
    const std::size_t t = s.write.tensor.index();
    nest.line(
        elements_.statement(s.reduction, kernel_.tensors[t].dtype, element(t, s.write.index, nest), s.body, reads));
    return nest.text();
  }

  void read(const Access& access, const std::string& name, Nest& nest) {
    const std::size_t t = access.tensor.index();
    const Tensor& tensor = kernel_.tensors[t];
    const auto outside = outside_of(access, kernel_.tensors);
    if (!outside) return nest.line(fmt::format("const {} {} = {};", type(t), name, element(t, access.index, nest)));
    nest.line(elements_.statement(Reduction::assign, tensor.dtype, type(t) + " " + name,
                                  constant(*outside, tensor.dtype), {}));
    std::string inside;
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      const std::string at = index_text(access.index[d], nest.ranges, nest.names, elements_);
      inside += fmt::format("{0}{1} >= 0 && {1} < {2}", inside.empty() ? "" : " && ", at, tensor.shape[d]);
    }
    nest.line(fmt::format("if ({}) {} = {};", inside.empty() ? "true" : inside, name, element(t, access.index, nest)));
  }

  const Kernel& kernel_;
  const std::vector<std::string>& tensors_;
  const Names& names_;
  ElementText& elements_;
};

class SelfTest {
 public:
  SelfTest(const TranslationUnit& unit, const Program& program, const HardwareModel& model)
      : unit_(unit),
        program_(program),
        kernel_(program.kernel),
        model_(portable(model)),
        elements_(model_),
        loops_(kernel_, tensors_, names_, elements_) {}

  Result<std::string> print() {
    if (point_count(kernel_) > max_points)
      return error(fmt::format("kernel '{}' has {:.3g} points; the limit of a test is {:.3g}", kernel_.name,
                               point_count(kernel_), max_points),
                   "choose smaller sizes for the test");
    bounds_ = bounds();
    for (const std::string& helper : helper_names()) names_.unique(helper);
    for (const char* own :
         {"mixed", "Array", "Free", "owned", "held", "allocate", "wrong", "check", "check_rest", "reference", "main"})
      names_.unique(own);
    names_.unique(unit_.name);
    names_.unique(unit_.name + "_pack");
    for (const Tensor& tensor : kernel_.tensors) tensors_.push_back(names_.unique(tensor.name));
    const std::string code = loops_.reference() + main_text();
    std::string text =
        comment(fmt::format("A test of {0}: calls it and compares with plain loops. Compile it together with the "
                            "program;\nexit code 0: right, 1: wrong\nneeds {1}",
                            unit_.name, needed_flags(model_)),
                " ");
    std::set<std::string> includes = helper_includes(elements_.used_helpers());
    includes.insert(elements_.includes().begin(), elements_.includes().end());
    includes.insert({"<cstdint>", "<cstdio>", "<cstdlib>", "<cstring>", "<memory>", "<stdint.h>", "<vector>"});
    text += "\n";
    for (const std::string& include : includes) text += "#include " + include + "\n";
    text += "\nextern \"C\" " + c_prototype(unit_, false, program_) + ";\n";
    if (!unit_.pack.empty()) text += "extern \"C\" " + c_prototype(unit_, true, program_) + ";\n";
    return text + "\n" + helper_text(elements_.used_helpers(), code) + "namespace {\n\n" +
           (code.find("mixed(") != std::string::npos ? mixed_text : "") + prologue_text + "\n" + code;
  }

 private:
  /// The test compiles without the target's headers.
  static HardwareModel portable(HardwareModel model) {
    model.program.types.clear();
    return model;
  }

  // Tolerances by the interpreter -------------------------------------------------------------------------------------

  bool given(std::size_t t) const {
    return role_of(kernel_, make_id<TensorId>(t)) == Role::input || kernel_.tensors[t].inout;
  }

  /// The largest error bound of each tensor's elements; NaN has none.
  std::vector<double> bounds() const {
    std::vector<TensorData> data;
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) {
      const Tensor& tensor = kernel_.tensors[t];
      data.push_back(make_data(tensor));
      const TestValues values = values_of(tensor);
      for (std::int64_t i = 0; given(t) && i < data[t].count(); ++i) {
        const std::uint32_t n = mixed(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(t)) % values.count;
        data[t].set(i, convert({values.first + values.step * n, 0}, DType::f64, tensor.dtype, true));
      }
    }
    interpret(kernel_, data);
    std::vector<double> largest(data.size(), 0);
    const auto each = error_bounds(kernel_, data);
    for (std::size_t t = 0; t < each.size() && t < data.size(); ++t)
      for (const double bound : each[t])
        if (std::isfinite(bound)) largest[t] = std::max(largest[t], bound);
    return largest;
  }

  // main ------------------------------------------------------------------------------------------------------------

  std::string main_text() {
    std::string text = "int main() {\n";
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) text += arrays(t);
    std::string packed, call, pack;
    for (const EntryArgument& a : unit_.arguments) {
      const Buffer& buffer = program_.buffers[a.buffer.index()];
      const std::string array = buffer.ahead_of_time ? names_.unique(a.name + "_packed") : found(buffer.tensor.index());
      if (buffer.ahead_of_time) packed += allocation(array, a.bytes, buffer.align);
      const std::string value = fmt::format("reinterpret_cast<{}*>({}.at)", c_type(a, program_), array);
      call += (call.empty() ? "" : ", ") + value;
      for (const EntryArgument& to : unit_.pack)
        if (to.buffer == a.buffer) pack_values_[to.buffer.value] = value;
    }
    for (const EntryArgument& to : unit_.pack) pack += (pack.empty() ? "" : ", ") + pack_values_[to.buffer.value];
    if (unit_.workspace) {
      const std::string array = names_.unique(workspace_name);
      packed += allocation(array, unit_.workspace->bytes, unit_.workspace->align);
      for (std::string* list : {&call, &pack}) *list += (list->empty() ? "" : ", ") + array + ".at";
    }
    text += packed;
    if (!unit_.pack.empty()) text += fmt::format("  {}_pack({});\n", unit_.name, pack);
    text += fmt::format("  {}({});\n", unit_.name, call);
    std::string list;
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t)
      list += fmt::format("{}reinterpret_cast<{}*>({}.at)", t == 0 ? "" : ", ", loops_.type(t), expected(t));
    text += fmt::format("  reference({});\n", list);
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t)
      if (role_of(kernel_, make_id<TensorId>(t)) == Role::output) text += comparison(t);
    return text + fmt::format("  if (wrong == 0) std::printf(\"{0} is right\\n\");\n  return wrong == 0 ? 0 : 1;\n}}\n",
                              unit_.name);
  }

  static std::string allocation(const std::string& name, std::int64_t bytes, std::int64_t align) {
    return fmt::format("  Array {0} = {{{1}, {2}, nullptr}};\n  {0}.at = allocate({0});\n", name, bytes, align);
  }
  bool output(std::size_t t) const { return role_of(kernel_, make_id<TensorId>(t)) == Role::output; }
  std::string found(std::size_t t) const { return (output(t) ? "found_" : "array_") + tensors_[t]; }
  std::string expected(std::size_t t) const { return (output(t) ? "expected_" : "array_") + tensors_[t]; }

  /// Inputs exist once, outputs twice.
  std::string arrays(std::size_t t) {
    const Tensor& tensor = kernel_.tensors[t];
    std::int64_t span = element_count(tensor) == 0 ? 0 : 1;
    const auto strides = strides_of(tensor);
    for (std::size_t d = 0; span > 0 && d < strides.size(); ++d) span += (tensor.shape[d] - 1) * strides[d];
    std::set<std::string> both{expected(t), found(t)};
    std::string text;
    for (const std::string& array : both) text += allocation(array, span * bytes(tensor.dtype), bytes(tensor.dtype));
    if (!given(t)) return text;
    std::vector<AffineExpr> index;
    Nest nest = loops_.nest_of(tensor, index);
    const TestValues values = values_of(tensor);
    const std::string number = index_text(row_major(index, tensor.shape), nest.ranges, nest.names, elements_);
    nest.line(fmt::format("const double value = {} + {} * double(mixed(std::uint32_t({}), {}) % {});", values.first,
                          values.step, number, t, values.count));
    const std::string at = index_text(position(index, tensor), nest.ranges, nest.names, elements_);
    for (const std::string& array : both)
      nest.line(elements_.statement(Reduction::assign, tensor.dtype,
                                    fmt::format("reinterpret_cast<{}*>({}.at)[{}]", loops_.type(t), array, at),
                                    cast(tensor.dtype, isamap::read(0, DType::f64), true), {"value"}));
    return text + (tensor.shape.empty() ? "  {\n" + nest.text() + "  }\n" : nest.text());
  }

  std::string comparison(std::size_t t) {
    const Tensor& tensor = kernel_.tensors[t];
    std::vector<AffineExpr> index;
    Nest nest = loops_.nest_of(tensor, index);
    const std::string at = index_text(position(index, tensor), nest.ranges, nest.names, elements_);
    const auto value = [&](const std::string& array) {
      return elements_.value(cast(DType::f64, isamap::read(0, tensor.dtype)),
                             {fmt::format("reinterpret_cast<{}*>({}.at)[{}]", loops_.type(t), array, at)});
    };
    nest.line(fmt::format("check(\"{}\", {}, {}, {}, {});", tensors_[t],
                          index_text(row_major(index, tensor.shape), nest.ranges, nest.names, elements_),
                          value(found(t)), value(expected(t)), bounds_[t]));
    nest.line(fmt::format("std::memcpy({1}.at + {2} * ({3}), {0}.at + {2} * ({3}), {2});", found(t), expected(t),
                          bytes(tensor.dtype), at));
    return nest.text() + fmt::format("  check_rest(\"{}\", {}, {});\n", tensors_[t], found(t), expected(t));
  }

  const TranslationUnit& unit_;
  const Program& program_;
  const Kernel& kernel_;
  HardwareModel model_;
  ElementText elements_;
  Names names_;
  std::vector<std::string> tensors_;
  PlainLoops loops_;
  std::vector<double> bounds_;
  std::map<std::int32_t, std::string> pack_values_;
};

}  // namespace

Result<std::string> print_self_test(const TranslationUnit& unit, const Program& program, const HardwareModel& model) {
  return SelfTest(unit, program, model).print();
}

}  // namespace isamap
