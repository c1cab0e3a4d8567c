// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/onednn3.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>

#include "bench/cpu/libraries.h"
#include "support/allocate.h"

namespace isamap::bench {
namespace {

using Handle = void*;
using Dims = std::int64_t[12];
struct Argument {
  int which;
  Handle memory;
};
struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

// Constants of the C API.
constexpr int cpu = 1, in_order = 1, any_layout = 1, inference = 96, automatic = 3, weights_query = 131;
constexpr int source = 1, target = 17, weights = 33;
constexpr int bf16 = 2, f32 = 3, s32 = 4, s8 = 5, u8 = 6;
constexpr unsigned runs_in_this_thread = 1u | 2u;  // runtimes: sequential, or OpenMP with one thread

/// A memory layout: sizes and strides; no strides: chosen by the library.
struct Layout {
  int type = f32;
  std::vector<std::int64_t> sizes, steps;
};

struct Library {
  void* file = nullptr;
  Version version{};
  Handle engine = nullptr, stream = nullptr;

  template <class... Args>
  bool call(const char* name, Args... args) const {
    const auto function = symbol<int (*)(Args...)>(file, name);
    return function != nullptr && function(args...) == 0;
  }

  Handle describe(const Layout& layout) const {
    Dims sizes{}, steps{};
    std::copy(layout.sizes.begin(), layout.sizes.end(), sizes);
    std::copy(layout.steps.begin(), layout.steps.end(), steps);
    Handle made = nullptr;
    const int rank = static_cast<int>(layout.sizes.size());
    const auto *size = static_cast<const std::int64_t*>(sizes), *step = static_cast<const std::int64_t*>(steps);
    const bool done = layout.steps.empty()
                          ? call("dnnl_memory_desc_create_with_tag", &made, rank, size, layout.type, any_layout)
                          : call("dnnl_memory_desc_create_with_strides", &made, rank, size, layout.type, step);
    return done ? made : nullptr;
  }

  Handle memory(Handle description, void* data) const {
    Handle made = nullptr;
    return call("dnnl_memory_create", &made, description, engine, data) ? made : nullptr;
  }

  bool execute(Handle primitive, const std::vector<Argument>& arguments) const {
    return call("dnnl_primitive_execute", primitive, stream, static_cast<int>(arguments.size()), arguments.data()) &&
           call("dnnl_stream_wait", stream);
  }

  /// The weights in the primitive's layout, reordered once, not timed. `kept` owns them.
  Handle ready(Handle plan, const Layout& plain, void* data, std::shared_ptr<void>& kept) const {
    const auto query = symbol<Handle (*)(Handle, int, int)>(file, "dnnl_primitive_desc_query_md");
    const auto size = symbol<std::size_t (*)(Handle)>(file, "dnnl_memory_desc_get_size");
    const Handle own = describe(plain);
    if (query == nullptr || size == nullptr || own == nullptr) return nullptr;
    const Handle wanted = query(plan, weights_query, 0);
    const auto equal = symbol<int (*)(Handle, Handle)>(file, "dnnl_memory_desc_equal");
    if (equal != nullptr && equal(own, wanted) != 0) return memory(own, data);
    kept = allocate_array(static_cast<std::int64_t>(size(wanted)));
    const Handle from = memory(own, data), to = memory(wanted, kept.get());
    Handle reorder_plan = nullptr, reorder = nullptr;
    const Handle no_attributes = nullptr;
    if (!call("dnnl_reorder_primitive_desc_create", &reorder_plan, own, engine, wanted, engine, no_attributes) ||
        !call("dnnl_primitive_create", &reorder, reorder_plan) || !execute(reorder, {{source, from}, {target, to}}))
      return nullptr;
    return to;
  }

  std::function<void()> runs(Handle plan, const Layout& in, void* image, const Layout& plain, void* data,
                             const Layout& out, void* result) const {
    Handle primitive = nullptr;
    std::shared_ptr<void> kept;
    const Handle filter = plan == nullptr ? nullptr : ready(plan, plain, data, kept);
    if (filter == nullptr || !call("dnnl_primitive_create", &primitive, plan)) return nullptr;
    const std::vector<Argument> arguments{
        {source, memory(describe(in), image)}, {weights, filter}, {target, memory(describe(out), result)}};
    return [=, this] {
      (void)kept;
      if (!execute(primitive, arguments)) std::fputs("oneDNN: a primitive failed\n", stderr);
    };
  }

  std::function<void()> multiply(const CpuCase& c, const Arrays& at) const {
    const auto layout = [&](const MatrixPlace& p, int type) {
      const std::int64_t rows = p.transposed ? p.columns : p.rows, columns = p.transposed ? p.rows : p.columns;
      Layout made{type, {rows, columns}, {p.transposed ? 1 : p.step, p.transposed ? p.step : 1}};
      if (c.batch > 1)
        made.sizes.insert(made.sizes.begin(), c.batch), made.steps.insert(made.steps.begin(), p.rows * p.step);
      return made;
    };
    const int left = c.types == "f32" ? f32 : c.types == "bf16" ? bf16 : u8;
    const Layout a = layout(place_a(c), left), b = layout(place_b(c), c.types == "u8s8" ? s8 : left),
                 out = layout(place_c(c), c.types == "u8s8" ? s32 : f32);
    Layout wanted = b;
    if (c.packed) wanted.steps.clear();
    Handle plan = nullptr;
    const Handle none = nullptr;
    if (!call("dnnl_matmul_primitive_desc_create", &plan, engine, describe(a), describe(wanted), none, describe(out),
              none))
      return nullptr;
    return runs(plan, a, at.inputs[0], b, at.inputs[1], out, at.output);
  }

  /// Data lie as [n, h, w, channels] and weights as [r, s, c, k] or [r, s, c], as ours.
  std::function<void()> convolve(const Filter& f, void* image, void* filter, void* result) const {
    const auto pictures = [&](std::int64_t channels, std::int64_t high, std::int64_t wide) {
      return Layout{f32, {f.images, channels, high, wide}, {high * wide * channels, 1, wide * channels, channels}};
    };
    const Layout in = pictures(f.in, f.down.size, f.across.size), to = pictures(f.out, f.down.out(), f.across.out());
    const std::int64_t r = f.down.window, s = f.across.window;
    const Layout plain = f.depthwise ? Layout{f32, {f.in, 1, 1, r, s}, {1, f.in, f.in, s * f.in, f.in}}
                                     : Layout{f32, {f.out, f.in, r, s}, {1, f.out, s * f.in * f.out, f.in * f.out}};
    Layout wanted = plain;
    wanted.steps.clear();
    const Dims strides{f.down.stride, f.across.stride}, dilations{}, padding{f.down.pad, f.across.pad};
    const auto *step = static_cast<const std::int64_t*>(strides), *apart = static_cast<const std::int64_t*>(dilations),
               *beside = static_cast<const std::int64_t*>(padding);
    Handle plan = nullptr;
    const Handle none = nullptr;
    if (!call("dnnl_convolution_forward_primitive_desc_create", &plan, engine, inference, automatic, describe(in),
              describe(wanted), none, describe(to), step, apart, beside, beside, none))
      return nullptr;
    return runs(plan, in, image, plain, filter, to, result);
  }
};

const Library& library() {
  static const Library found = [] {
    Library l;
    l.file = open_library({"libdnnl.so.3"});
    const auto version = symbol<const Version* (*)()>(l.file, "dnnl_version");
    if (version == nullptr) return Library{};
    l.version = *version();
    if ((l.version.cpu_runtime & ~runs_in_this_thread) != 0) {
      fmt::print(stderr, "oneDNN {}.{} uses its own threads, which the thread clock does not measure: left out\n",
                 l.version.major, l.version.minor);
      return Library{};
    }
    if (!l.call("dnnl_engine_create", &l.engine, cpu, std::size_t{0}) ||
        !l.call("dnnl_stream_create", &l.stream, l.engine, in_order))
      return Library{};
    return l;
  }();
  return found;
}

}  // namespace

bool add_onednn3(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found) {
  const Library& l = library();
  if (l.engine == nullptr) return false;
  using Kind = CpuCase::Kind;
  if (c.kind != Kind::gemm && c.kind != Kind::convolution && c.kind != Kind::depthwise && c.kind != Kind::block)
    return false;
  std::function<void()> run;
  const Arrays at = arrays();
  if (c.kind == Kind::gemm) {
    run = l.multiply(c, at);
  } else if (c.kind != Kind::block) {
    run = l.convolve(c.filter, at.inputs[0], at.inputs[1], at.output);
  } else {
    const auto between = std::make_shared<std::vector<float>>(elements_between(c));
    const auto first = l.convolve(c.filter, at.inputs[0], at.inputs[1], between->data());
    const auto second = l.convolve(pointwise_of(c), between->data(), at.inputs[2], at.output);
    if (first && second)
      run = [first, second, between] {
        first();
        second();
      };
  }
  if (!run) return false;
  found.push_back({"oneDNN", std::move(run), at.output});
  return true;
}

std::string onednn3_version() {
  const Library& l = library();
  if (l.engine == nullptr) return "";
  return fmt::format("oneDNN {}.{}.{}", l.version.major, l.version.minor, l.version.patch);
}

}  // namespace isamap::bench
