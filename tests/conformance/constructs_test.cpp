// SPDX-License-Identifier: Apache-2.0
// Each construct that printers have, alone, for 1 to 40 columns and every type: many kernels in one file, made by each
// compiler that is here with the flags of each vector target that is here, compared bit by bit with the interpreter.
// A compiler that gets one of them wrong (GCC 12 made masked loads of a select of loads, and mixed up the masks) is
// seen here, and the construct is then printed otherwise.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/translation_unit.h"
#include "ir/scalar/scalar_functions.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

constexpr int most_columns = 40;

/// `compute` and the tensors beside M, S and T of 7 x N; t: the type at hand, a: that of its sums.
struct Construct {
  std::string name, compute;
  std::string output = "Y: {shape: [7, N], dtype: t}";
  std::string more = "";
  bool sums = false;           ///< exact on whole numbers only
  std::vector<DType> of = {};  ///< types that it is tried on; empty: all
};

const std::vector<Construct> written_constructs = {
    {"select", "Y[i,j] = select(M[i,j], S[i,j], T[i,j])"},
    {"select of a constant", "Y[i,j] = select(M[i,j], S[i,j], 3)"},
    {"nested select", "Y[i,j] = select(M[i,j], select(T[i,j], S[i,j], 3), T[i,j])"},
    {"select as condition", "Y[i,j] = select(select(M[i,j], S[i,j], T[i,j]), S[i,j], M[i,j])"},
    {"select of sums", "Y[i,j] = select(M[i,j], S[i,j] + T[i,j], S[i,j] - T[i,j])"},
    {"gradient of a relu", "Y[i,j] = select(max(M[i,j], 0), S[i,j], 0)"},
    {"select of broadcasts", "Y[i,j] = select(B[j], S[i,j], D[i])", "Y: {shape: [7, N], dtype: t}",
     "B: {shape: [N], dtype: t}, D: {shape: [7], dtype: t}"},
    {"select of other places", "Y[i,j] = select(M[i,j], L[2*j,i], L[2*j+1,i])", "Y: {shape: [7, N], dtype: t}",
     "L: {shape: [2*N, 7], dtype: t}"},
    {"sum of selects over rows", "Y[j] += select(M[i,j], S[i,j], T[i,j])", "Y: {shape: [N], dtype: t}", "", true},
    {"sum of selects over columns", "Y[i] += select(M[i,j], S[i,j], T[i,j])", "Y: {shape: [7], dtype: t}", "", true},
    {"select of elements outside", "Y[i,j] = select(M[i,j], P[i,j-1], P[i+1,j])", "Y: {shape: [7, N], dtype: t}",
     "P: {shape: [7, N], dtype: t, outside: 0}"},
    {"elements outside", "Y[i,j] = P[i-1,j+1] + S[i,j]", "Y: {shape: [7, N], dtype: t}",
     "P: {shape: [7, N], dtype: t, outside: 0}"},
    {"window with a border", "Y[i,j] += P[i+r-1,j+s-1] * F[r,s]", "Y: {shape: [7, N], dtype: a}",
     "P: {shape: [7, N], dtype: t, outside: 0}, F: {shape: [3, 3], dtype: t}", true},
    {"maximum with a border", "Y[i,j] max= P[i,j+s-1] + F[s]", "Y: {shape: [7, N], dtype: t}",
     "P: {shape: [7, N], dtype: t, outside: 0}, F: {shape: [3], dtype: t}"},
    {"min and max", "Y[i,j] = min(max(M[i,j], S[i,j]), T[i,j])"},
    {"relu", "Y[i,j] = max(S[i,j] - T[i,j], 0)"},
    {"maximum of rows", "Y[i] max= S[i,j]", "Y: {shape: [7], dtype: t}"},
    {"minimum of columns", "Y[j] min= S[i,j]", "Y: {shape: [N], dtype: t}"},
    {"division", "Y[i,j] = S[i,j] / M[i,j]"},
    {"division by a constant", "Y[i,j] = S[i,j] / 3"},
    {"division and remainder in subscripts", "Y[i,j] = S[i,j/2] + T[i,j - j/2] * B[j%3]",
     "Y: {shape: [7, N], dtype: t}", "B: {shape: [3], dtype: t}"},
    {"backwards", "Y[i,j] = S[6-i,N-1-j] * T[i,j]"},
    {"transposed", "Y[i,j] = L[j,i]", "Y: {shape: [7, N], dtype: t}", "L: {shape: [N, 7], dtype: t}"},
    {"every second", "Y[i,j] = L[i,2*j] - L[i,2*j+1]", "Y: {shape: [7, N], dtype: t}",
     "L: {shape: [7, 2*N], dtype: t}"},
    {"abs and round", "Y[i,j] = abs(S[i,j]) - round(T[i,j])"},
    {"floor, ceil and sign", "Y[i,j] = floor(S[i,j]) + ceil(T[i,j]) * sign(M[i,j])"},
    {"comparison", "Y[i,j] = select(S[i,j] < T[i,j], S[i,j], M[i,j])"},
    {"comparison as a factor", "Y[i,j] = S[i,j] * (T[i,j] >= M[i,j])"},
    {"logic", "Y[i,j] = select(S[i,j] < T[i,j] and not M[i,j] or T[i,j] == 0, S[i,j], T[i,j])"},
    {"truth values", "Y[i,j] = M[i,j] >= S[i,j] or T[i,j]", "Y: {shape: [7, N], dtype: bool}"},
    {"select of truth values", "Y[i,j] = select(B[i,j], S[i,j], T[i,j])", "Y: {shape: [7, N], dtype: t}",
     "B: {shape: [7, N], dtype: bool}"},
    {"whether one is true", "Y[i] max= S[i,j] > T[i,j]", "Y: {shape: [7], dtype: bool}"},
    {"to s8", "Y[i,j] = s8(S[i,j])", "Y: {shape: [7, N], dtype: s8}"},
    {"to u8, clamped", "Y[i,j] = sat_u8(s32(S[i,j]) * 30)", "Y: {shape: [7, N], dtype: u8}"},
    {"to s32", "Y[i,j] = s32(S[i,j])", "Y: {shape: [7, N], dtype: s32}"},
    {"to f32", "Y[i,j] = f32(S[i,j]) * 0.5", "Y: {shape: [7, N], dtype: f32}"},
    {"to bf16 and back", "Y[i,j] = f32(bf16(f32(S[i,j]) / 3))", "Y: {shape: [7, N], dtype: f32}"},
    {"to f16", "Y[i,j] = f16(f32(S[i,j]) / 3)", "Y: {shape: [7, N], dtype: f16}"},
    {"select of casts", "Y[i,j] = select(M[i,j], f32(S[i,j]), f32(T[i,j]) / 3)", "Y: {shape: [7, N], dtype: f32}"},
    {"sum into what is there", "Y[i,j] += S[i,j] * T[i,j]", "Y: {shape: [7, N], dtype: t, inout: true}", "", true},
    {"product with tails", "Y[i,j] += A[i,k] * W[k,j]", "Y: {shape: [7, N], dtype: a}",
     "A: {shape: [7, 5], dtype: t}, W: {shape: [5, N], dtype: t}", true},
};

const std::vector<const char*> types = {"f32", "s32", "f64",  "s8",  "bf16", "u8",
                                        "f16", "s16", "tf32", "s64", "e4m3", "e5m2"};

/// A function of the table on one of its types, which differ from function to function.
template <class Function>
void add_function(const Function& f, std::vector<Construct>& all) {
  const std::vector<std::string> names{"S[i,j]", "T[i,j]"};
  for (std::size_t n = 0; n < types.size(); ++n) {
    const DType type = *parse_dtype(types[(all.size() + n) % types.size()]);
    if ((is_float(type) ? f.common.text : f.common.integer_text).empty()) continue;
    const ScalarExpr a = read(0, type), b = read(1, type);
    ScalarExpr e;
    if constexpr (std::is_same_v<Function, UnaryFunction>)
      e = unary(f.op, a);
    else
      e = binary(f.op, a, b);
    all.push_back({std::string(f.common.name),
                   "Y[i,j] = " + print(e, names),
                   e.type == DType::boolean ? "Y: {shape: [7, N], dtype: bool}" : "Y: {shape: [7, N], dtype: t}",
                   "",
                   false,
                   {type}});
    return;
  }
}

const std::vector<Construct>& constructs() {
  static const std::vector<Construct> all = [] {
    std::vector<Construct> list = written_constructs;
    for (const UnaryFunction& f : unary_functions()) add_function(f, list);
    for (const BinaryFunction& f : binary_functions()) add_function(f, list);
    return list;
  }();
  return all;
}

bool is_tried(std::size_t construct, std::size_t type) {
  const std::vector<DType>& of = constructs()[construct].of;
  return of.empty() || std::find(of.begin(), of.end(), *parse_dtype(types[type])) != of.end();
}

struct Case {
  std::size_t construct = 0, type = 0;
  int columns = 1;
};

/// Part `part` of `parts` equal ones: as many targets have every construct of every type and size between them.
std::vector<Case> share(std::size_t part, std::size_t parts) {
  std::vector<Case> some;
  for (std::size_t c = 0; c < constructs().size(); ++c)
    for (std::size_t t = 0; t < std::size(types); ++t)
      for (int n = 1; n <= most_columns; ++n)
        if (is_tried(c, t) && (c + 3 * t + static_cast<std::size_t>(n)) % parts == part) some.push_back({c, t, n});
  return some;
}

constexpr std::size_t constructs_turns = 4;  ///< of 40 sizes one; two turns are taken, HeavyConstructs takes all

/// Each construct of each type at one size in one of the turns; the sizes of the turns lie 10 apart. Of `targets` each
/// has its share.
std::vector<Case> each_at_one_size(std::size_t turn, std::size_t target, std::size_t targets) {
  std::vector<Case> some;
  for (std::size_t c = 0; c < constructs().size(); ++c)
    for (std::size_t t = 0; t < std::size(types); ++t)
      if (is_tried(c, t) && (c + t) % constructs_turns == turn && (c + t) / constructs_turns % targets == target)
        some.push_back(
            {c, t, 1 + static_cast<int>((7 * c + 11 * t + most_columns / constructs_turns * turn) % most_columns)});
  return some;
}

/// `t` and `a` behind "dtype: ".
std::string with_types(std::string text, const std::string& type) {
  const std::string sums = type == "f64"                      ? "f64"
                           : type == "s64"                    ? "s64"
                           : DType::f32 == *parse_dtype(type) ? "f32"
                           : is_float(*parse_dtype(type))     ? "f32"
                                                              : "s32";
  for (std::size_t at = 0; (at = text.find("dtype: ", at)) != std::string::npos;) {
    at += 7;
    const bool own = text[at] == 't' && !std::isalnum(static_cast<unsigned char>(text[at + 1]));
    if (own) text.replace(at, 1, type);
    if (text[at] == 'a') text.replace(at, 1, sums);
  }
  return text;
}

std::string kernel_text(const Case& c, const std::string& name) {
  const Construct& what = constructs()[c.construct];
  const std::string compute = what.compute;
  std::string tensors;
  for (const char* own : {"M", "S", "T"})
    if (compute.find(std::string(own) + "[") != std::string::npos)
      tensors += fmt::format("  {}: {{shape: [7, N], dtype: t}}\n", own);
  std::string more = what.more;  // "B: {..}, D: {..}": one a line
  for (std::size_t at = 0; (at = more.find("}, ", at)) != std::string::npos; at += 4) more.replace(at, 3, "}\n  ");
  if (!more.empty()) tensors += "  " + more + "\n";
  return with_types(fmt::format("kernel: {}\ndims: {{N: {}}}\ntensors:\n{}  {}\ncompute:\n  - {}\n", name, c.columns,
                                tensors, what.output, compute),
                    types[c.type]);
}

struct Printed {
  Case of;
  std::string name;
  Program program;
  TranslationUnit unit;
};

/// Takes the tensors where they are in `arguments`.
using Entry = void (*)(void* const* arguments);

class ConstructsOn {
 public:
  ConstructsOn(const HardwareModel& model, std::string compiler) : model_(model), compiler_(std::move(compiler)) {}

  void check(const std::vector<Case>& cases) {
    for (const Case& one : cases) print(one);
    constexpr std::size_t in_one_file = 400;
    for (std::size_t from = 0; from < printed_.size(); from += in_one_file)
      check_file(from, std::min(printed_.size(), from + in_one_file));
  }

 private:
  std::string label(const Case& c) const {
    return fmt::format("{} of {}, {} columns, on {} by {}", constructs()[c.construct].name, types[c.type], c.columns,
                       model_.name, compiler_);
  }

  void print(const Case& c) {
    SCOPED_TRACE(label(c));
    const std::string name = fmt::format("k{}", printed_.size()), text = kernel_text(c, name);
    const auto kernel = parse_kernel_yaml(text, "construct.yaml");
    ASSERT_TRUE(kernel) << render(kernel.diagnostics()) << text;
    Compiled compiled = compile(*kernel, model_, true);
    ASSERT_TRUE(compiled.program) << compiled.problem << text;
    compiled.program->library_functions = true;  // whose last digits are the interpreter's
    auto unit = print_cpp(*compiled.program, model_);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    ASSERT_TRUE(unit->pack.empty());
    printed_.push_back({c, name, std::move(*compiled.program), std::move(*unit)});
  }

  /// Headers are included first, so that those which stand in a namespace are empty.
  std::string file_of(std::size_t from, std::size_t to) const {
    std::set<std::string> headers;
    std::string kernels;
    for (std::size_t n = from; n < to; ++n) {
      const TranslationUnit& unit = printed_[n].unit;
      std::istringstream lines(unit.text);
      for (std::string line; std::getline(lines, line);)
        if (line.starts_with("#include")) headers.insert(line);
      std::string list;
      for (std::size_t a = 0; a < unit.arguments.size(); ++a)
        list += fmt::format("{}({}*)p[{}]", a > 0 ? ", " : "", unit.arguments[a].type, a);
      kernels +=
          fmt::format("namespace n{0} {{\n{1}}}\nextern \"C\" void run_{0}(void* const* p) {{ n{0}::{2}({3}); }}\n", n,
                      unit.text, unit.name, list);
    }
    return fmt::format("{}\n{}", fmt::join(headers, "\n"), kernels);
  }

  void check_file(std::size_t from, std::size_t to) {
    const TemporaryDirectory folder;
    const std::string source = folder.path() / "kernels.cpp", library = folder.path() / "kernels.so";
    std::ofstream(source) << file_of(from, to);
    ::setenv("CXX", compiler_.c_str(), 1);
    auto command = compile_command(model_, {source}, library);
    ::unsetenv("CXX");
    for (const char* flag : {"-shared", "-fPIC", "-w"}) command.emplace_back(flag);
    const auto made =
        run_process(command, {1200, std::int64_t{8} << 30, std::int64_t{1} << 30}, folder.path() / "compiler.log");
    ASSERT_TRUE(made.started && made.exit_code == 0) << listed_command(command) << "\n" << made.output;
    void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(loaded, nullptr) << ::dlerror();
    for (std::size_t n = from; n < to; ++n) {
      const auto entry = reinterpret_cast<Entry>(::dlsym(loaded, fmt::format("run_{}", n).c_str()));
      ASSERT_NE(entry, nullptr);
      compare_with_interpreter(printed_[n], entry, Fill::integers);
      if (!constructs()[printed_[n].of.construct].sums) compare_with_interpreter(printed_[n], entry, Fill::real);
    }
    ::dlclose(loaded);
  }

  void compare_with_interpreter(const Printed& one, Entry entry, Fill fill) const {
    const Kernel& kernel = one.program.kernel;
    std::vector<TensorData> expected = random_data(kernel, fill, 3), found = expected;
    interpret(kernel, expected);
    std::vector<std::unique_ptr<void, void (*)(void*)>> memory;
    std::vector<void*> arguments;
    std::vector<TensorId> tensors;
    for (const EntryArgument& argument : one.unit.arguments) {
      tensors.push_back(one.program.buffers[argument.buffer.index()].tensor);
      const auto& bytes = found[tensors.back().index()].bytes;
      memory.emplace_back(std::aligned_alloc(64, (bytes.size() + 127) / 64 * 64), &std::free);
      arguments.push_back(memory.back().get());
      if (!bytes.empty()) std::memcpy(arguments.back(), bytes.data(), bytes.size());
    }
    entry(arguments.data());
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      TensorData& data = found[tensors[a].index()];
      if (one.unit.arguments[a].written && !data.bytes.empty())
        std::memcpy(data.bytes.data(), arguments[a], data.bytes.size());
      expect_same_bits(expected[tensors[a].index()], data, one);
    }
  }

  /// All NaNs are one.
  void expect_same_bits(const TensorData& expected, const TensorData& found, const Printed& one) const {
    if (expected.bytes == found.bytes) return;
    for (std::int64_t i = 0; i < found.count(); ++i) {
      const Scalar a = expected.get(i), b = found.get(i);
      const bool real = is_float(expected.dtype);
      if (real ? a.real == b.real || (a.real != a.real && b.real != b.real) : a.integer == b.integer) continue;
      ADD_FAILURE() << label(one.of) << ": element " << i << " is " << (real ? b.real : double(b.integer))
                    << " instead of " << (real ? a.real : double(a.integer));
      return;
    }
  }

  const HardwareModel& model_;
  std::string compiler_;
  std::vector<Printed> printed_;
};

std::vector<std::string> compilers() {
  std::vector<std::string> here;
  for (const char* one : {"g++-12", "clang++-14", "clang++-19"})
    if (command_exists(one)) here.emplace_back(one);
  return here;
}

/// Those whose programs this processor executes in this process.
bool runs_here(const HardwareModel& model) {
  return model.program.language == "c++" && availability(model).how == ExecutionMode::native;
}

/// One size of half of the constructs with each type, by one of two compilers in turn, on one of two machines.
class Constructs : public testing::TestWithParam<std::size_t> {};

TEST_P(Constructs, OfEveryTypeAtOneSize) {
  std::vector<HardwareModel> here;
  for (const char* name : {"x86_avx512", "x86_avx2"})
    if (HardwareModel model = load_model(name); runs_here(model)) here.push_back(std::move(model));
  const std::vector<std::string> by = compilers();
  if (by.empty() || here.empty()) GTEST_SKIP() << "no compiler or no vector instructions here";
  const std::size_t target = GetParam() % here.size();  // the other one has the other share, under --all
  ConstructsOn(here[target], by[GetParam() % by.size()]).check(each_at_one_size(GetParam(), target, here.size()));
}

INSTANTIATE_TEST_SUITE_P(Turn, Constructs, testing::Values(std::size_t{0}));
INSTANTIATE_TEST_SUITE_P(HeavyTurn, Constructs, testing::Values(std::size_t{1}));

class HeavyConstructs : public testing::TestWithParam<std::string> {};

TEST_P(HeavyConstructs, ItsShareOfAllSizesAndTypes) {
  const HardwareModel model = load_model(GetParam());
  if (!runs_here(model)) GTEST_SKIP() << GetParam() << " is not executed in this process: " << availability(model).why;
  std::vector<std::string> here;
  for (const std::string& name : fixed_model_names())
    if (runs_here(load_model(name))) here.push_back(name);
  const auto part = static_cast<std::size_t>(std::find(here.begin(), here.end(), GetParam()) - here.begin());
  for (const std::string& compiler : compilers()) ConstructsOn(model, compiler).check(share(part, here.size()));
}

INSTANTIATE_TEST_SUITE_P(Model, HeavyConstructs, testing::ValuesIn(fixed_model_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance
