// SPDX-License-Identifier: Apache-2.0
#include "frontends/layers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace isamap {
namespace {

bool reduces(const Computation& statement) {
  return std::any_of(statement.domain.dims.begin(), statement.domain.dims.end(),
                     [](const Dim& dim) { return dim.kind == DimKind::reduction; });
}

bool multiplies_reads(const ScalarExpr& e) {
  const auto* op = std::get_if<Binary>(&e.op);
  if (op != nullptr && op->op == BinaryOp::mul && !reads_of(e.args[0]).empty() && !reads_of(e.args[1]).empty())
    return reads_of(e.args[0]) != reads_of(e.args[1]);
  return std::any_of(e.args.begin(), e.args.end(), multiplies_reads);
}

/// A sum of products of two operands.
bool is_product(const Computation& statement) {
  return statement.reduction == Reduction::add && statement.reads.size() >= 2 && multiplies_reads(statement.body) &&
         !statement.domain.dims.empty() && (reduces(statement) || !statement.write.index.empty());
}

std::string why_no_product(const std::vector<Computation>& statements) {
  const auto copies = [](const Computation& s) {
    return s.reduction == Reduction::assign && (std::holds_alternative<Read>(s.body.op) || s.reads.empty());
  };
  if (std::all_of(statements.begin(), statements.end(), copies)) return "moves or renames data: no arithmetic";
  if (std::none_of(statements.begin(), statements.end(), reduces)) return "element-wise: no reduction to map";
  if (statements.size() <= 2) return "reduction of one operand: no product to map";
  return "several passes over its input, none of them a sum of products";
}

/// How the accesses of one dimension of a tensor let it be seen.
struct View {
  bool dropped = true;  ///< always 0, of size 1
  bool split = true;    ///< always outer*inner_size + inner
  std::string outer, inner;
  std::int64_t outer_size = 0, inner_size = 0;
};

/// `4*g + k` with g and k as wide as the dimension.
bool is_pair(const AffineExpr& e, const Computation& statement, std::int64_t size, View& view) {
  if (!e.is_linear() || e.constant() != 0 || e.terms().size() != 2) return false;
  const auto extent = [&](const AffineTerm& term) {
    return statement.domain.dims[static_cast<std::size_t>(statement.domain.find(std::get<std::string>(term.atom)))]
        .extent;
  };
  AffineTerm outer = e.terms()[0], inner = e.terms()[1];
  if (outer.coefficient == 1) std::swap(outer, inner);
  if (inner.coefficient != 1 || outer.coefficient != extent(inner) || extent(outer) * extent(inner) != size)
    return false;
  const bool same = view.outer_size == 0 || (view.outer_size == extent(outer) && view.inner_size == extent(inner));
  view.outer_size = extent(outer);
  view.inner_size = extent(inner);
  return same;
}

View view_of(const Kernel& kernel, std::size_t tensor, std::size_t d) {
  View view;
  const std::int64_t size = kernel.tensors[tensor].shape[d];
  for (const Computation& statement : kernel.statements)
    for (int a = 0; a < access_count(statement); ++a) {
      const Access& access = access_of(statement, a);
      if (access.tensor.index() != tensor) continue;
      const bool computed = access.computed && access.computed->axis == static_cast<int>(d);
      view.dropped = view.dropped && !computed && size == 1 && access.index[d] == AffineExpr(0);
      view.split = view.split && !computed && is_pair(access.index[d], statement, size, view);
    }
  return view;
}

/// The two parts of `outer*n + inner`.
std::pair<AffineExpr, AffineExpr> parts_of(const AffineExpr& e) {
  AffineTerm outer = e.terms()[0], inner = e.terms()[1];
  if (outer.coefficient == 1) std::swap(outer, inner);
  outer.coefficient = 1;
  return {AffineExpr::of(outer), AffineExpr::of(inner)};
}

/// The access of a tensor that is seen so.
void see(Access& access, const std::vector<View>& views) {
  std::vector<AffineExpr> index;
  std::optional<int> computed_axis;
  for (std::size_t d = 0; d < access.index.size(); ++d) {
    if (views[d].dropped) continue;
    if (access.computed && access.computed->axis == static_cast<int>(d)) computed_axis = static_cast<int>(index.size());
    if (!views[d].split) {
      index.push_back(access.index[d]);
      continue;
    }
    const auto [outer, inner] = parts_of(access.index[d]);
    index.push_back(outer);
    index.push_back(inner);
  }
  access.index = std::move(index);
  if (computed_axis) access.computed->axis = *computed_axis;
}

void simplify_views(Kernel& kernel) {
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    std::vector<View> views;
    for (std::size_t d = 0; d < kernel.tensors[t].shape.size(); ++d) views.push_back(view_of(kernel, t, d));
    const Tensor before = kernel.tensors[t];
    Tensor& tensor = kernel.tensors[t];
    tensor.shape.clear();
    tensor.strides.clear();
    for (std::size_t d = 0; d < views.size(); ++d) {
      const View& view = views[d];
      if (view.dropped) continue;
      if (view.split) tensor.shape.push_back(view.outer_size);
      tensor.shape.push_back(view.split ? view.inner_size : before.shape[d]);
      if (before.strides.empty()) continue;
      if (view.split) tensor.strides.push_back(view.inner_size * before.strides[d]);
      tensor.strides.push_back(before.strides[d]);
    }
    for (Computation& statement : kernel.statements) {
      if (statement.write.tensor.index() == t) see(statement.write, views);
      for (Access& read : statement.reads)
        if (read.tensor.index() == t) see(read, views);
    }
  }
}

/// A value outside that all reads of a tensor share is the tensor's.
void outside_of_tensors(Kernel& kernel) {
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    std::set<std::optional<double>> found;
    for (const Computation& statement : kernel.statements)
      for (const Access& read : statement.reads)
        if (read.tensor.index() == t) found.insert(read.outside);
    if (found.size() != 1 || !*found.begin()) continue;
    kernel.tensors[t].outside = *found.begin();
    for (Computation& statement : kernel.statements)
      for (Access& read : statement.reads)
        if (read.tensor.index() == t) read.outside.reset();
  }
}

/// Tensors of products have the names of the field: equal layers are then equal kernels.
void rename_tensors(Kernel& kernel, const std::string& kind) {
  const bool convolution = kind.find("conv") != std::string::npos || kind == "depthwise";
  const Computation& first = kernel.statements.front();
  std::map<std::size_t, std::string> names;
  names[kernel.statements.back().write.tensor.index()] = convolution ? "O" : "C";
  if (!first.reads.empty()) names.emplace(first.reads[0].tensor.index(), convolution ? "I" : "A");
  if (first.reads.size() > 1) names.emplace(first.reads[1].tensor.index(), convolution ? "F" : "B");
  if (kernel.statements.size() > 1) names.emplace(first.write.tensor.index(), "T");
  int others = 0;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const auto found = names.find(t);
    kernel.tensors[t].name = found == names.end() ? "X" + std::to_string(others++) : found->second;
  }
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) kernel.statements[s].name = "s" + std::to_string(s);
}

/// Statements of one node.
struct Group {
  std::size_t first = 0, count = 0;
};

/// A kernel for each sum of products of a node that begins with other statements, as recurrent layers do.
std::vector<Layer> products_within(const Model& model, const Group& group) {
  std::vector<Layer> layers;
  const Origin& origin = model.origins[group.first];
  for (std::size_t s = group.first; s < group.first + group.count; ++s) {
    if (!is_product(model.kernel.statements[s])) continue;
    Layer layer;
    layer.op = origin.kind;
    layer.onnx_op = origin.op;
    layer.node = origin.name;
    layer.kernel = cut(model.kernel, s, 1, origin.kind);
    layer.kernel->tensors[layer.kernel->statements[0].write.tensor.index()].inout = false;
    layer.kernel->repeats.clear();
    rename_tensors(*layer.kernel, origin.kind);
    layers.push_back(std::move(layer));
  }
  return layers;
}

Layer layer_of(const Model& model, const Group& group) {
  const Origin& origin = model.origins[group.first];
  Layer layer;
  layer.op = origin.kind;
  layer.onnx_op = origin.op;
  layer.node = origin.name;
  const auto begin = model.kernel.statements.begin() + static_cast<std::ptrdiff_t>(group.first);
  const std::vector<Computation> statements(begin, begin + static_cast<std::ptrdiff_t>(group.count));
  if (!is_product(statements.front())) {
    layer.reason = why_no_product(statements);
    return layer;
  }
  layer.kernel = cut(model.kernel, group.first, group.count, origin.kind);
  rename_tensors(*layer.kernel, origin.kind);
  if (origin.kind.starts_with("grouped")) {
    const Computation& sum = layer.kernel->statements.front();
    const int g = sum.domain.find("g");
    if (g >= 0)
      layer.notes.push_back("channels are seen as " +
                            std::to_string(sum.domain.dims[static_cast<std::size_t>(g)].extent) + " groups");
  }
  return layer;
}

}  // namespace

Kernel cut_as_it_is(const Kernel& kernel, const std::vector<std::size_t>& statements, const std::string& name) {
  Kernel part;
  part.name = name;
  part.where = kernel.where;
  std::map<TensorId, TensorId> renumbered;
  std::set<TensorId> written;
  const auto take = [&](Access& access) {
    const auto [place, is_new] = renumbered.emplace(access.tensor, make_id<TensorId>(part.tensors.size()));
    if (is_new) part.tensors.push_back(kernel.tensors[access.tensor.index()]);
    access.tensor = place->second;
  };
  for (const std::size_t s : statements) {
    Computation statement = kernel.statements[s];
    written.insert(statement.write.tensor);
    for (Access& access : statement.reads) take(access);
    take(statement.write);
    part.statements.push_back(std::move(statement));
  }
  const std::set<std::size_t> inside(statements.begin(), statements.end());
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    if (inside.contains(s)) continue;
    const Computation& other = kernel.statements[s];
    for (const Access& read : other.reads)
      if (written.contains(read.tensor))  // not only of intermediates: such outputs should stay in the caches
        part.tensors[renumbered.at(read.tensor).index()].output = true;
    // What others write too starts with what they left there.
    if (written.contains(other.write.tensor)) part.tensors[renumbered.at(other.write.tensor).index()].inout = true;
  }
  for (Repeat repeat : kernel.repeats) {
    const auto first = std::lower_bound(statements.begin(), statements.end(), repeat.first);
    const auto end = std::lower_bound(first, statements.end(), repeat.first + repeat.count);
    if (static_cast<std::size_t>(end - first) != repeat.count) continue;
    repeat.first = static_cast<std::size_t>(first - statements.begin());
    part.repeats.push_back(repeat);
  }
  outside_of_tensors(part);
  return part;
}

Kernel cut(const Kernel& kernel, const std::vector<std::size_t>& statements, const std::string& name) {
  Kernel part = cut_as_it_is(kernel, statements, name);
  simplify_views(part);
  return part;
}

Kernel cut(const Kernel& kernel, std::size_t first, std::size_t count, const std::string& name) {
  std::vector<std::size_t> statements(count);
  std::iota(statements.begin(), statements.end(), first);
  Kernel layer = cut(kernel, statements, name);
  for (std::size_t t = 0; t < layer.tensors.size(); ++t)  // by itself, it has no part that reads its outputs
    layer.tensors[t].output =
        layer.tensors[t].output && std::any_of(layer.statements.begin(), layer.statements.end(), [&](const auto& s) {
          return std::any_of(s.reads.begin(), s.reads.end(),
                             [&](const Access& read) { return read.tensor.index() == t; });
        });
  return layer;
}

LayerList layers_of(const Model& model) {
  LayerList list;
  list.name = model.kernel.name;
  list.notes = model.notes;
  std::vector<std::pair<std::size_t, Layer>> layers;
  for (std::size_t s = 0; s < model.origins.size();) {
    Group group{s, 0};
    while (s < model.origins.size() && model.origins[s].order == model.origins[group.first].order) ++s, ++group.count;
    if (model.origins[group.first].nodes.front().starts_with("output ")) continue;
    const std::size_t order = model.origins[group.first].order;
    std::vector<Layer> made;
    if (!is_product(model.kernel.statements[group.first])) made = products_within(model, group);
    if (made.empty()) made.push_back(layer_of(model, group));
    for (std::size_t part = 0; part < made.size(); ++part) {
      if (made.size() > 1) made[part].name = "." + std::to_string(part);  // after the node's own name
      layers.emplace_back(order, std::move(made[part]));
    }
  }
  for (std::size_t r = 0; r < model.refused.size(); ++r) {
    const RefusedNode& refusal = model.refused[r];
    if (refusal.op == "input") {
      list.notes.push_back(refusal.node + ": " + refusal.reason + (refusal.help.empty() ? "" : "; " + refusal.help));
      continue;
    }
    Layer layer;
    layer.op = operator_in_words(refusal.op);
    layer.onnx_op = refusal.op;
    layer.node = refusal.name;
    layer.reason = refusal.reason;
    layers.emplace_back(model.refused_order[r], std::move(layer));
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<std::string, int> used;
  for (auto& [order, layer] : layers) {
    const std::string name = operator_in_words(layer.onnx_op);
    const std::string part = layer.name;
    if (part.empty() || part == ".0") ++used[name];
    layer.name = name + "_" + std::to_string(used[name] - 1) + part;
    if (layer.kernel) layer.kernel->name = layer.name;
    list.layers.push_back(std::move(layer));
  }
  return list;
}

Result<LayerList> load_onnx(const std::string& path) {
  const auto model = import_model(path);
  if (!model) return model.diagnostics();
  return layers_of(*model);
}

}  // namespace isamap
