#include "bench/cpu/peers.h"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>

#include "bench/cpu/blas.h"
#include "bench/cpu/onednn3.h"
#include "bench/cpu/xsmm.h"

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

  /// The weights as the primitive wants them: reordered once, which is not timed.
  memory ready(memory plain, const memory::desc& wanted) {
    if (plain.get_desc() == wanted) return plain;
    memory result(wanted, engine);
    dnnl::reorder(plain, result).execute(stream, plain, result);
    stream.wait();
    return result;
  }

  Peer peer(const dnnl::primitive& primitive, const Arguments& arguments) {
    return {"oneDNN", [primitive, arguments, this] {
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
  Peer convolve(bool depthwise, std::int64_t c, std::int64_t h, std::int64_t n, std::int64_t out, std::int64_t r,
                std::int64_t stride, std::int64_t pad, void* image, void* weights, void* result) {
    using dnnl::convolution_forward;
    const memory::dims shape = depthwise ? memory::dims{c, 1, 1, r, r} : memory::dims{n, c, r, r};
    const memory::desc source({1, c, h, h}, Type::f32, Tag::nhwc), target({1, n, out, out}, Type::f32, Tag::nhwc),
        plain(shape, Type::f32, depthwise ? Tag::hwigo : Tag::hwio), any(shape, Type::f32, Tag::any);
    const convolution_forward::primitive_desc plan({dnnl::prop_kind::forward_inference,
                                                    dnnl::algorithm::convolution_auto,
                                                    source,
                                                    any,
                                                    target,
                                                    {stride, stride},
                                                    {pad, pad},
                                                    {pad, pad}},
                                                   engine);
    return peer(convolution_forward(plan),
                {{DNNL_ARG_SRC, memory(source, engine, image)},
                 {DNNL_ARG_WEIGHTS, ready(memory(plain, engine, weights), plan.weights_desc())},
                 {DNNL_ARG_DST, memory(target, engine, result)}});
  }
};

void add_onednn(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found) {
  static OneDnn library;
  const auto [in, result] = arrays();
  try {
    const std::int64_t out = c.out();
    switch (c.kind) {
      case CpuCase::Kind::gemm:
        found.push_back(library.multiply(c, in[0], in[1], result));
        break;
      case CpuCase::Kind::convolution:
      case CpuCase::Kind::depthwise:
        found.push_back(library.convolve(c.kind == CpuCase::Kind::depthwise, c.c, c.h, c.n, out, c.r, c.stride, c.pad,
                                         in[0], in[1], result));
        break;
      case CpuCase::Kind::block: {
        const auto between = std::make_shared<std::vector<float>>(static_cast<std::size_t>(out * out * c.c));
        const Peer first =
            library.convolve(true, c.c, c.h, c.c, out, c.r, c.stride, c.pad, in[0], in[1], between->data());
        const Peer second = library.convolve(false, c.c, out, c.n, out, 1, 1, 0, between->data(), in[2], result);
        found.push_back({"oneDNN", [first, second, between] {
                           first.run();
                           second.run();
                         }});
      }
    }
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
