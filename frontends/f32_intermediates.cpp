// SPDX-License-Identifier: Apache-2.0
#include "frontends/f32_intermediates.h"

#include <algorithm>
#include <set>

namespace isamap {
namespace {

bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

/// A node of the file that says nothing but to round to 16 bits.
bool is_stated_rounding(const Model& model, std::size_t s) {
  const ScalarExpr& body = model.kernel.statements[s].body;
  if (s >= model.origins.size() || (model.origins[s].op != "Cast" && model.origins[s].op != "CastLike")) return false;
  return is_half(body.type) && std::holds_alternative<Cast>(body.op) && !is_half(body.args[0].type);
}

/// What callers see, what a node rounds on purpose, or what a step in time leaves for the next one.
std::set<TensorId> fixed_tensors(const Model& model) {
  std::set<TensorId> fixed(model.inputs.begin(), model.inputs.end());
  fixed.insert(model.outputs.begin(), model.outputs.end());
  const Kernel& kernel = model.kernel;
  std::set<TensorId> written;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.statements[s];
    written.insert(statement.write.tensor);
    if (is_stated_rounding(model, s)) fixed.insert(statement.write.tensor);
    if (repeat_of(kernel, s) == nullptr) continue;
    fixed.insert(statement.write.tensor);
    for (const Access& read : statement.reads) fixed.insert(read.tensor);
  }
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const Tensor& tensor = kernel.tensors[t];
    const auto id = make_id<TensorId>(t);
    if (tensor.constant || tensor.inout || tensor.output || !written.contains(id)) fixed.insert(id);
  }
  return fixed;
}

/// The body of a statement whose reads have the types that the tensors have now.
class WithoutRoundings {
 public:
  WithoutRoundings(const Computation& statement, const std::vector<Tensor>& tensors)
      : statement_(statement), tensors_(tensors) {}

  /// In f32 where the expression is in 16 bits, else in its own type.
  ScalarExpr of(const ScalarExpr& e) const {
    if (const auto* one = std::get_if<Read>(&e.op)) return is_half(e.type) ? of_read(*one) : e;
    if (const auto* value = std::get_if<Constant>(&e.op))
      return is_half(e.type) ? constant(value->value, DType::f32) : e;
    ScalarExpr made = e;
    for (ScalarExpr& arg : made.args) arg = of(arg);
    if (is_half(e.type)) made.type = DType::f32;
    const auto* conversion = std::get_if<Cast>(&e.op);
    if (conversion == nullptr) return made;
    if (made.args[0].type == made.type) return made.args[0];
    return cast(made.type, made.args[0], conversion->saturate && !is_half(e.type));
  }

 private:
  ScalarExpr of_read(const Read& one) const {
    const DType type = tensors_[statement_.reads[static_cast<std::size_t>(one.access)].tensor.index()].dtype;
    return type == DType::f32 ? read(one.access, type) : cast(DType::f32, read(one.access, type));
  }

  const Computation& statement_;
  const std::vector<Tensor>& tensors_;
};

std::vector<TensorId> half_intermediates(const Model& model) {
  const std::set<TensorId> fixed = fixed_tensors(model);
  std::vector<TensorId> found;
  for (std::size_t t = 0; t < model.kernel.tensors.size(); ++t)
    if (const auto id = make_id<TensorId>(t); is_half(model.kernel.tensors[t].dtype) && !fixed.contains(id))
      found.push_back(id);
  return found;
}

}  // namespace

bool has_half_intermediates(const Model& model) { return !half_intermediates(model).empty(); }

Model f32_intermediates(Model model, const std::function<bool(const Tensor&)>& wider) {
  Kernel& kernel = model.kernel;
  for (const TensorId id : half_intermediates(model))
    if (Tensor& tensor = kernel.tensors[id.index()]; wider(tensor)) tensor.dtype = DType::f32;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    Computation& statement = kernel.statements[s];
    if (repeat_of(kernel, s) != nullptr || is_stated_rounding(model, s)) continue;
    const DType written = kernel.tensors[statement.write.tensor.index()].dtype;
    ScalarExpr body = WithoutRoundings(statement, kernel.tensors).of(statement.body);
    const bool moves = std::holds_alternative<Cast>(body.op) && body.args[0].type == written &&
                       std::holds_alternative<Read>(body.args[0].op);
    statement.body = body.type == written ? std::move(body) : moves ? body.args[0] : cast(written, std::move(body));
  }
  return model;
}

}  // namespace isamap
