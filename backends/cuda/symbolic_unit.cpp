// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/symbolic_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/statement_text.h"
#include "backends/cpp/symbolic/block_arguments.h"
#include "backends/cpp/symbolic/symbolic_entry.h"
#include "backends/cpp/text/types.h"
#include "backends/cuda/device_file.h"
#include "backends/cuda/device_names.h"
#include "backends/cuda/reserved_words.h"
#include "backends/cuda/thread_binding.h"
#include "isamap/interpret.h"
#include "program/edges.h"

namespace isamap {
namespace {

// For subscripts on the device, and for sizes of launches on the host.
const char* const index_functions =
    R"(template <class A, class B> [[maybe_unused]] HOW inline A isamap_floor_div(A a, B b) { return a / b - (a % b < 0 ? 1 : 0); }
template <class A, class B> [[maybe_unused]] HOW inline A isamap_clamped(A at, B extent) { return at < 0 ? 0 : at < extent ? at : extent - 1; }

)";
const char* const wrong_size = R"(#include <cstdio>

static int isamap_wrong_size(const char* message, long size) {
  std::fprintf(stderr, message, size);
  return 1;
}
)";

/// Names of one file: of arrays by tensor, of sizes in the entry.
struct SymbolicNames {
  std::string entry;
  std::vector<std::string> tensors;
  std::map<std::string, std::string> sizes;
};

/// The kernels of one statement, and the lines that launch them.
class StatementKernels {
 public:
  StatementKernels(const SymbolicProgram& program, std::size_t statement, DeviceFile& file, const SymbolicNames& names)
      : kernel_(program.kernel),
        number_(statement),
        statement_(kernel_.sample.statements[statement]),
        how_(program.launches[statement]),
        file_(file),
        names_(names),
        text_(kernel_, statement, file.elements, names.sizes, names.tensors) {
    text_.read = [&](TensorId id, const std::string& element) {
      return fmt::format("static_cast<{}>({})", type_of(id), element);
    };
    index_ = how_.index == IndexType::bits32 ? "int" : "long";
  }

  /// Adds kernels to the file, and functions that launch tiles to `functions`. Errors: of tiles.
  Result<std::string> launches(std::string& functions) {
    const std::string threads = (how_.fills ? fill() : "") + compute();
    if (how_.tiles.empty()) return threads;
    std::string text;
    const std::string which = how_.tiles.size() > 1 ? cheapest(functions) : "";
    if (!which.empty()) {
      std::string sizes;
      for (const SymbolicSize& size : kernel_.facts.sizes)
        sizes += (sizes.empty() ? "" : ", ") + names_.sizes.at(size.name);
      text = fmt::format("  {{\n  const int which = {}({});\n", which, sizes);
    }
    for (std::size_t n = 0; n < how_.tiles.size(); ++n) {
      const std::string condition =
          which.empty() ? possible(how_.tiles[n], names_.sizes) : fmt::format("which == {}", n);
      auto tiles = in_tiles(how_.tiles[n], functions);
      if (!tiles) return tiles.diagnostics();
      text += fmt::format("  {}if ({}) {{\n    {}", n == 0 ? "" : "} else ", condition, *tiles);
    }
    return text + "  } else {\n" + threads + (which.empty() ? "  }\n" : "  }\n  }\n");
  }

 private:
  std::string type_of(TensorId id) const { return element_type(file_.model, kernel_.sample.tensors[id.index()].dtype); }
  TensorId written() const { return statement_.write.tensor; }
  const Tensor& output() const { return kernel_.sample.tensors[written().index()]; }

  std::string start() const {
    const Scalar value = identity(statement_.reduction, output().dtype);
    return file_.elements.statement(Reduction::assign, output().dtype, "sum",
                                    constant(as_double(output().dtype, value), output().dtype), {});
  }

  /// There are enough terms, and elements.
  static std::string possible(const TiledLaunch& tiles, const std::map<std::string, std::string>& sizes) {
    std::string condition;
    const auto add = [&](const AffineExpr& e, const char* than) {
      condition += fmt::format("{}{} {}", condition.empty() ? "" : " && ", size_text(e, sizes), than);
    };
    for (const AffineExpr& enough : tiles.enough) add(enough, ">= 0");
    for (const GridAxis& axis : tiles.shape.axes)
      if (!axis.reduced) add(*affine_extent(axis), "> 0");
    return condition.empty() ? "true" : condition;
  }

  /// Adds the function that chooses tiles to `functions`; its name is that of the choice too.
  std::string cheapest(std::string& functions) {
    const std::string name = file_.names.unique(fmt::format("{}_{}_cheapest", names_.entry, number_ + 1));
    const auto product = [&](const std::vector<AffineExpr>& factors) {
      std::string text;
      for (const AffineExpr& e : factors) text += (text.empty() ? "(" : " * (") + size_text(e, names_.sizes) + ")";
      return text.empty() ? std::string("1") : text;
    };
    std::string sizes;
    for (const SymbolicSize& size : kernel_.facts.sizes)
      sizes += fmt::format("{}[[maybe_unused]] long {}", sizes.empty() ? "" : ", ", names_.sizes.at(size.name));
    functions += fmt::format(
        "// The tiles that take the fewest predicted cycles; -1: threads.\n"
        "static int {}({}) {{\n  int which = -1;\n  long least = 0, cycles = 0;\n",
        name, sizes);
    for (std::size_t n = 0; n < how_.tiles.size(); ++n) {
      const TilePrice& price = how_.tiles[n].price;
      functions += fmt::format(
          "  cycles = ({} + {}) / {} * ({} + {} * ({}));\n"
          "  if ({} && (which < 0 || cycles < least)) which = {}, least = cycles;\n",
          product(price.tiles), price.at_once - 1, price.at_once, price.first, price.step, product(price.steps),
          possible(how_.tiles[n], names_.sizes), n);
    }
    functions += "  return which;\n}\n\n";
    return name;
  }

  /// The launch of tiles.
  Result<std::string> in_tiles(const TiledLaunch& tiles, std::string& functions) {
    const std::string name = file_.names.unique(fmt::format("{}_{}_tiles", names_.entry, number_ + 1));
    auto made = tile_entry(tiles.program, numbers_of_tiles(tiles), file_, name);
    if (!made) return made.diagnostics();
    functions += made->text + "\n";
    std::string arguments;
    for (const EntryArgument& a : made->arguments) {
      const TensorId own = tiles.program.buffers[a.buffer.index()].tensor;
      arguments += names_.tensors[tiles.shape.tensors[own.index()].index()] + ", ";
    }
    for (const SymbolicSize& size : kernel_.facts.sizes) arguments += names_.sizes.at(size.name) + ", ";
    return fmt::format("if (const cudaError_t e = {}({}stream); e != cudaSuccess) return e;\n", name, arguments);
  }

  /// Trips, strides and edges over `size_M`.
  TileNumbers numbers_of_tiles(const TiledLaunch& tiles) const {
    TileNumbers made;
    std::map<std::string, std::string> sizes;
    for (const SymbolicSize& size : kernel_.facts.sizes) {
      sizes[size.name] = identifier(size_symbol(size.name));
      made.sizes.push_back(sizes[size.name]);
    }
    for (const auto& [variable, trip] : tiles.trips)
      made.numbers.trips[variable] =
          replaced(size_text(trip, sizes), "isamap_floor_div(", "isamap_floor_div<long, long>(");
    for (const auto& [t, d] : stride_arguments(tiles.shape)) {
      std::string value = std::to_string(tiles.shape.strides[t][d].number);
      for (const AffineExpr& factor : tiles.shape.strides[t][d].factors)
        value += " * (" + size_text(factor, sizes) + ")";
      made.numbers.definitions.push_back(
          fmt::format("[[maybe_unused]] const long {} = {};", stride_name(tiles.shape.kernel.tensors[t], d), value));
    }
    for (std::size_t b = 0; b < tiles.program.buffers.size(); ++b) {
      const Buffer& buffer = tiles.program.buffers[b];
      if (buffer.role != BufferRole::argument) continue;
      const std::size_t t = buffer.tensor.index();
      for (const AffineExpr& extent : tiles.shape.extents[t])
        made.numbers.edges[static_cast<std::int32_t>(b)].push_back(with_size_symbols(extent)),
            made.extents[static_cast<std::int32_t>(b)].push_back(size_text(extent, sizes));
      std::vector<std::string> strides(buffer.extents.size());
      for (std::size_t d = 0; d < strides.size(); ++d)
        if (!tiles.shape.strides[t][d].is_number()) strides[d] = stride_name(tiles.shape.kernel.tensors[t], d);
      if (std::any_of(strides.begin(), strides.end(), [](const std::string& s) { return !s.empty(); }))
        made.numbers.strides[static_cast<std::int32_t>(b)] = std::move(strides);
    }
    return made;
  }

  /// Threads that are numbered as `number`, one for each of `count` elements.
  std::string add(const std::string& wish, const std::vector<TensorId>& tensors, const std::string& count,
                  const std::string& body) {
    const std::string name = file_.names.unique(wish);
    std::string parameters, arguments;
    for (const TensorId id : tensors) {
      parameters += fmt::format("{}<{}{}> __restrict__ {}, ", "global_pointer", id == written() ? "" : "const ",
                                type_of(id), names_.tensors[id.index()]);
      arguments += ", " + names_.tensors[id.index()];
    }
    for (const SymbolicSize& size : kernel_.facts.sizes) {
      parameters += fmt::format("[[maybe_unused]] {} {}, ", index_, names_.sizes.at(size.name));
      arguments += fmt::format(", {}({})", index_, names_.sizes.at(size.name));
    }
    parameters.resize(parameters.size() - 2);
    const std::string attribute = replaced(file_.model.program.function, "{threads}", std::to_string(how_.threads));
    file_.kernels += fmt::format(
        "{0}extern \"C\" __global__ void {1}{2}({3}) {{\n"
        "  const {4} number = {4}(blockIdx.x) * {5} + {4}(threadIdx.x);\n"
        "  if (number >= {6}) return;\n{7}}}\n\n",
        comment(print_formula(statement_, kernel_.sample.tensors), " "), attribute.empty() ? "" : attribute + " ", name,
        parameters, index_, how_.threads, count, body);
    return fmt::format(
        "  if (const long threads = {0}; threads > 0)\n    ISAMAP_LAUNCH({1}, (threads + {2}) / {3}, {3}, 0, "
        "stream{4});\n",
        count, name, how_.threads - 1, how_.threads, arguments);
  }

  std::string fill() {
    const std::string element = names_.tensors[written().index()] + "[number]";
    std::string body = fmt::format("  {} sum;\n  {}\n  {} = sum;\n", type_of(written()), start(), element);
    return add(names_.entry + "_fill", {written()}, count_text(kernel_.shapes[written().index()], names_.sizes), body);
  }

  std::string compute() {
    std::vector<TensorId> tensors;
    for (int a = 0; a < access_count(statement_); ++a)
      if (const TensorId id = access_of(statement_, a).tensor;
          std::find(tensors.begin(), tensors.end(), id) == tensors.end())
        tensors.push_back(id);
    std::sort(tensors.begin(), tensors.end());
    std::vector<AffineExpr> counted;
    for (const int d : how_.dims) counted.push_back(kernel_.statements[number_].extents[static_cast<std::size_t>(d)]);
    return add(fmt::format("{}_{}", names_.entry, number_ + 1), tensors, count_text(counted, names_.sizes),
               dims() + (statement_.reduction == Reduction::assign ? one_element() : sum()));
  }

  /// The dims of the thread's element, from its number.
  std::string dims() const {
    std::string text, left = "number";
    for (std::size_t i = how_.dims.size(); i-- > 0;) {
      const auto d = static_cast<std::size_t>(how_.dims[i]);
      const std::string extent = text_.extent(d);
      text += fmt::format("  [[maybe_unused]] const {} {} = {};\n", index_, text_.dim_name(d),
                          i == 0 ? left : fmt::format("{} % {}", left, extent));
      left = fmt::format("{} / {}", left, extent);
    }
    return text;
  }

  /// `=`: its other dims have one position.
  std::string one_element() {
    std::string text;
    for (const int d : how_.terms)
      text += fmt::format("  [[maybe_unused]] const {} {} = 0;\n", index_, text_.dim_name(static_cast<std::size_t>(d)));
    std::string terms;
    for (const int d : how_.terms)
      terms += fmt::format("  if ({} < 1) return;\n", text_.extent(static_cast<std::size_t>(d)));
    return text + terms + "  " + text_.combined(text_.element(0), text_.element(0)) + "\n";
  }

  std::string sum() {
    const std::string old = fmt::format("static_cast<{}>({})", type_of(written()), text_.element(0));
    std::string text = fmt::format("  {} sum;\n  {}\n", type_of(written()),
                                   how_.starts ? start() : fmt::format("sum = {};", old)),
                indent = "  ";
    for (const int d : how_.terms) {
      const std::string& name = text_.dim_name(static_cast<std::size_t>(d));
      text += fmt::format("{0}for ({1} {2} = 0; {2} < {3}; ++{2})\n", indent, index_, name,
                          text_.extent(static_cast<std::size_t>(d)));
      indent += "  ";
    }
    text += indent + "{ " + text_.combined("sum", "sum") + " }\n";
    return text + fmt::format("  {} = sum;\n", text_.element(0));
  }

  const SymbolicKernel& kernel_;
  std::size_t number_;
  const Computation& statement_;
  const StatementLaunch& how_;
  DeviceFile& file_;
  const SymbolicNames& names_;
  StatementText text_;
  std::string index_;
};

/// The file with its entry.
class SymbolicCuda {
 public:
  SymbolicCuda(const SymbolicProgram& program, const HardwareModel& model, UnitId grid)
      : program_(program), kernel_(program.kernel), file_(model, grid, program.arguments.library_functions) {
    names_.entry = own_name(program.arguments.name);
    for (const char* behind : {"", "_emulated", "_wrong_sizes"}) file_.names.unique(names_.entry + behind);
    for (const char* taken : {"number", "sum", "threads", "isamap_floor_div", "isamap_clamped", "isamap_wrong_size",
                              "which", "least", "cycles"})
      file_.names.unique(taken);
    for (const Tensor& tensor : kernel_.sample.tensors)
      names_.tensors.push_back(file_.names.unique(identifier(tensor.name)));
    for (const SymbolicSize& size : kernel_.facts.sizes)
      names_.sizes[size.name] = file_.names.unique(identifier(size.name));
    Program device = program.arguments;
    for (Buffer& buffer : device.buffers) buffer.memory = model.home();
    file_.note_memories(device);
  }

  Result<TranslationUnit> print() {
    std::string body, functions;
    for (std::size_t s = 0; s < program_.launches.size(); ++s) {
      auto launches = StatementKernels(program_, s, file_, names_).launches(functions);
      if (!launches) return launches.diagnostics();
      body += "  " + comment(print_formula(kernel_.sample.statements[s], kernel_.sample.tensors), " ") + *launches;
    }
    file_.kernels = replaced(index_functions, "HOW", "__host__ __device__") + file_.kernels;
    TranslationUnit unit;
    unit.name = names_.entry;
    unit.run_as = names_.entry + "_emulated";
    unit.arguments = arguments();
    unit.text = about() + file_.text("#if defined(ISAMAP_HOST_PART)\n" + replaced(index_functions, "HOW ", "") +
                                     "#endif\n" + wrong_size + "\n" + functions + entry(unit.arguments, body));
    return unit;
  }

 private:
  std::vector<EntryArgument> arguments() const {
    std::vector<EntryArgument> out;
    for (std::size_t b = 0; b < program_.arguments.buffers.size(); ++b) {
      const Buffer& buffer = program_.arguments.buffers[b];
      out.push_back({make_id<BufferId>(b), element_type(file_.model, buffer.dtype),
                     names_.tensors[buffer.tensor.index()], role_of(kernel_.sample, buffer.tensor) != Role::input,
                     element_span(buffer) * bytes(buffer.dtype)});
    }
    return out;
  }

  std::string about() const {
    std::string out =
        comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it\n\nkernel, for {}:", names_.entry,
                            file_.model.name, isamap::print(kernel_.facts)),
                " ");
    for (const Computation& statement : kernel_.sample.statements)
      out += comment(print_formula(statement, kernel_.sample.tensors), "   ");
    return out + comment("\nassumptions:\narguments do not overlap", " ") +
           "// arrays are on the device and begin at multiples of 16 bytes\n\n";
  }

  /// Memory of the device for tensors between statements, and its end.
  std::pair<std::string, std::string> intermediates() const {
    std::string made, freed;
    for (std::size_t t = 0; t < kernel_.sample.tensors.size(); ++t) {
      if (role_of(kernel_.sample, make_id<TensorId>(t)) != Role::intermediate) continue;
      const Tensor& tensor = kernel_.sample.tensors[t];
      made += fmt::format(
          "  {0}* {1} = nullptr;\n  if (const cudaError_t e = cudaMallocAsync(reinterpret_cast<void**>(&{1}), {2} * "
          "({3}) + {2}, stream); e != cudaSuccess) return e;\n",
          element_type(file_.model, tensor.dtype), names_.tensors[t], bytes(tensor.dtype),
          count_text(kernel_.shapes[t], names_.sizes));
      freed += fmt::format("  cudaFreeAsync({}, stream);\n", names_.tensors[t]);
    }
    return {made, freed};
  }

  std::string entry(const std::vector<EntryArgument>& arguments, const std::string& body) const {
    std::string list, passed, sizes, values;
    for (const EntryArgument& a : arguments) {
      list += fmt::format("{}{}* {}, ", a.written ? "" : "const ", a.type, a.name);
      passed += a.name + ", ";
    }
    for (const SymbolicSize& size : kernel_.facts.sizes) {
      sizes += fmt::format("{}long {}", sizes.empty() ? "" : ", ", names_.sizes.at(size.name));
      values += (values.empty() ? "" : ", ") + names_.sizes.at(size.name);
    }
    const auto [made, freed] = intermediates();
    return fmt::format(
        "static int {0}_wrong_sizes({1}) {{\n{2}  return 0;\n}}\n\n"
        "extern \"C\" cudaError_t {0}({3}{1}, cudaStream_t stream) {{\n"
        "  if ({0}_wrong_sizes({4}) != 0) return cudaErrorInvalidValue;\n{5}{6}{7}  return cudaGetLastError();\n}}\n"
        "#if !defined(__CUDACC__)\nextern \"C\" int {0}_emulated({3}{1}) {{ return {0}({8}{4}, nullptr) == cudaSuccess "
        "? 0 "
        ": 1; }}\n#endif\n",
        names_.entry, sizes, size_checks(names_.entry, kernel_.facts, names_.sizes), list, values, made, body, freed,
        passed);
  }

  const SymbolicProgram& program_;
  const SymbolicKernel& kernel_;
  DeviceFile file_;
  SymbolicNames names_;
};

}  // namespace

Result<TranslationUnit> print_symbolic_cuda(const SymbolicProgram& program, const HardwareModel& model) {
  const auto grid = grid_unit(model);
  if (!grid)
    return error(fmt::format("no unit of '{}' has an index", model.name), "give the unit of blocks an `index`");
  return SymbolicCuda(program, model, *grid).print();
}

}  // namespace isamap
