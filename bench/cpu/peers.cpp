// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/cpu/blas.h"
#include "bench/cpu/onednn3.h"
#include "bench/cpu/xsmm.h"
#include "support/allocate.h"

#ifdef ISAMAP_BENCH_ONEDNN
#include <dnnl.hpp>
#endif

namespace isamap::bench {

namespace {

#ifdef ISAMAP_BENCH_ONEDNN

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;
using Arguments = std::unordered_map<int, memory>;

struct OneDnn {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  std::vector<std::shared_ptr<void>> kept;  ///< reordered weights of the next peer

  /// The weights in the primitive's layout: reordered once, not timed.
  memory ready(memory plain, const memory::desc& wanted) {
    if (plain.get_desc() == wanted) return plain;
    kept.emplace_back(allocate_array(static_cast<std::int64_t>(wanted.get_size())));
    memory result(wanted, engine, kept.back().get());
    dnnl::reorder(plain, result).execute(stream, plain, result);
    stream.wait();
    return result;
  }

  Peer peer(const dnnl::primitive& primitive, const Arguments& arguments) {
    return {"oneDNN", [primitive, arguments, weights = std::exchange(kept, {}), this] {
              primitive.execute(stream, arguments);
              stream.wait();
            }};
  }

  Peer multiply(const CpuCase& c, void* a, void* b, void* out) {
    const Type left = c.types == "f32" ? Type::f32 : c.types == "bf16" ? Type::bf16 : Type::u8;
    const Type right = c.types == "u8s8" ? Type::s8 : left, result = c.types == "u8s8" ? Type::s32 : Type::f32;
    const auto described = [&](const MatrixPlace& p, Type type) {
      memory::dims sizes{p.rows, p.columns}, steps{p.step, 1};
      if (p.transposed) std::swap(sizes[0], sizes[1]), std::swap(steps[0], steps[1]);
      if (c.batch > 1) sizes.insert(sizes.begin(), c.batch), steps.insert(steps.begin(), p.rows * p.step);
      return memory::desc(sizes, type, steps);
    };
    const memory::desc plain_a = described(place_a(c), left), plain_b = described(place_b(c), right),
                       plain_c = described(place_c(c), result);
    const dnnl::matmul::primitive_desc plan(
        {plain_a, c.packed ? memory::desc({c.k, c.n}, right, Tag::any) : plain_b, plain_c}, engine);
    return peer(dnnl::matmul(plan), {{DNNL_ARG_SRC, memory(plain_a, engine, a)},
                                     {DNNL_ARG_WEIGHTS, ready(memory(plain_b, engine, b), plan.weights_desc())},
                                     {DNNL_ARG_DST, memory(plain_c, engine, out)}});
  }

  /// Data in the order [n, h, w, c], as ours.
  Peer convolve(const Filter& f, void* image, void* weights, void* result) {
    using dnnl::convolution_forward;
    const Axis &down = f.down, &across = f.across;
    const memory::dims shape = f.depthwise ? memory::dims{f.in, 1, 1, down.window, across.window}
                                           : memory::dims{f.out, f.in, down.window, across.window};
    const memory::desc source({f.images, f.in, down.size, across.size}, Type::f32, Tag::nhwc),
        target({f.images, f.out, down.out(), across.out()}, Type::f32, Tag::nhwc),
        plain(shape, Type::f32, f.depthwise ? Tag::hwigo : Tag::hwio), any(shape, Type::f32, Tag::any);
    const memory::dims padding{down.pad, across.pad};
    const convolution_forward::primitive_desc plan({dnnl::prop_kind::forward_inference,
                                                    dnnl::algorithm::convolution_auto,
                                                    source,
                                                    any,
                                                    target,
                                                    {down.stride, across.stride},
                                                    padding,
                                                    padding},
                                                   engine);
    return peer(convolution_forward(plan),
                {{DNNL_ARG_SRC, memory(source, engine, image)},
                 {DNNL_ARG_WEIGHTS, ready(memory(plain, engine, weights), plan.weights_desc())},
                 {DNNL_ARG_DST, memory(target, engine, result)}});
  }

  /// Weights [gate, output, input] as [input, gate, output], the gates in the library's order.
  memory gates(const std::vector<std::size_t>& order, std::size_t n, const void* weights, const memory::desc& wanted) {
    const auto* from = static_cast<const float*>(weights);
    const std::size_t count = order.size();
    std::vector<float> turned(count * n * n);
    for (std::size_t g = 0; g < count; ++g)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < n; ++k) turned[(k * count + g) * n + j] = from[(order[g] * n + j) * n + k];
    const auto size = static_cast<memory::dim>(n);
    memory plain({{1, 1, size, static_cast<memory::dim>(count), size}, Type::f32, Tag::ldigo}, engine, turned.data());
    memory result(wanted, engine);
    dnnl::reorder(plain, result).execute(stream, plain, result);
    stream.wait();
    return result;
  }

  /// Arrays: X, W, U, C and for an LSTM the initial cell state; the states, the first one given.
  Peer recur(const CpuCase& c, const std::vector<void*>& in, void* states) {
    const bool lstm = c.kind == CpuCase::Kind::lstm;
    const std::vector<std::size_t> order =
        lstm ? std::vector<std::size_t>{0, 1, 2, 3} : std::vector<std::size_t>{1, 0, 2};
    const auto n = static_cast<std::size_t>(c.n), count = order.size();
    auto* state = static_cast<float*>(states);
    const auto wide = static_cast<memory::dim>(count);
    const memory::desc layer({c.k, c.m, c.n}, Type::f32, Tag::tnc), iter({1, 1, c.m, c.n}, Type::f32, Tag::ldnc),
        any({1, 1, c.n, wide, c.n}, Type::f32, Tag::any), bias({1, 1, 4, c.n}, Type::f32, Tag::ldgo), none;
    // The fourth of a GRU, inside the reset, is 0.
    const auto biases = std::make_shared<std::vector<float>>(4 * n);
    for (std::size_t g = 0; g < count; ++g)
      std::copy_n(static_cast<const float*>(in[3]) + order[g] * n, n, biases->data() + g * n);
    constexpr auto inference = dnnl::prop_kind::forward_inference;
    constexpr auto forward = dnnl::rnn_direction::unidirectional_left2right;
    Arguments arguments{{DNNL_ARG_SRC_LAYER, memory(layer, engine, in[0])},
                        {DNNL_ARG_SRC_ITER, memory(iter, engine, state)},
                        {DNNL_ARG_BIAS, memory(bias, engine, biases->data())},
                        {DNNL_ARG_DST_LAYER, memory(layer, engine, state + c.m * c.n)}};
    const auto made = [&](const auto& plan, const dnnl::primitive& primitive) {
      arguments.emplace(DNNL_ARG_WEIGHTS_LAYER, gates(order, n, in[1], plan.weights_layer_desc()));
      arguments.emplace(DNNL_ARG_WEIGHTS_ITER, gates(order, n, in[2], plan.weights_iter_desc()));
      const Peer one = peer(primitive, arguments);
      return Peer{one.name, [one, biases] { one.run(); }};
    };
    if (!lstm) {
      const dnnl::lbr_gru_forward::primitive_desc plan({inference, forward, layer, iter, any, any, bias, layer, none},
                                                       engine);
      return made(plan, dnnl::lbr_gru_forward(plan));
    }
    arguments.emplace(DNNL_ARG_SRC_ITER_C, memory(iter, engine, in[4]));
    const dnnl::lstm_forward::primitive_desc plan(
        {inference, forward, layer, iter, iter, any, any, bias, layer, none, none}, engine);
    return made(plan, dnnl::lstm_forward(plan));
  }
};

void add_onednn(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found) {
  static OneDnn library;
  const auto [in, result] = arrays();
  try {
    switch (c.kind) {
      case CpuCase::Kind::gemm:
        found.push_back(library.multiply(c, in[0], in[1], result));
        break;
      case CpuCase::Kind::convolution:
      case CpuCase::Kind::depthwise:
        found.push_back(library.convolve(c.filter, in[0], in[1], result));
        break;
      case CpuCase::Kind::gru:
      case CpuCase::Kind::lstm:
        found.push_back(library.recur(c, in, result));
        break;
      case CpuCase::Kind::block: {
        const auto between = std::make_shared<std::vector<float>>(elements_between(c));
        const Peer first = library.convolve(c.filter, in[0], in[1], between->data());
        const Peer second = library.convolve(pointwise_of(c), between->data(), in[2], result);
        found.push_back({"oneDNN", [first, second, between] {
                           first.run();
                           second.run();
                         }});
      }
    }
    found.back().output = result;
  } catch (const dnnl::error& problem) {
    fmt::print(stderr, "oneDNN does not know {} {}: {}\n", c.family, c.name, problem.message);
  }
}
#else
void add_onednn(const CpuCase&, const std::function<Arrays()>&, std::vector<Peer>&) {}
#endif

}  // namespace

std::vector<Peer> peers(const CpuCase& what, const std::function<Arrays()>& arrays) {
  std::vector<Peer> found;
  if (!add_onednn3(what, arrays, found)) add_onednn(what, arrays, found);
  add_blas(what, arrays, found);
  add_xsmm(what, arrays, found);
  return found;
}

std::vector<std::string> peer_versions() {
  std::vector<std::string> texts{onednn3_version()};
  if (texts[0].empty()) {
#ifdef ISAMAP_BENCH_ONEDNN
    const dnnl_version_t* v = dnnl_version();
    texts[0] = fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
#else
    texts[0] = "no oneDNN";
#endif
  }
  for (std::string& text : blas_versions()) texts.push_back(std::move(text));
  texts.push_back(xsmm_version());
  return texts;
}

}  // namespace isamap::bench
