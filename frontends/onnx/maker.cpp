// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/text/parse.h"

namespace isamap::importing {
namespace {

constexpr std::size_t max_name = 56;

/// A name that every target language accepts.
std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  if (name.size() > max_name) name = name.substr(name.size() - max_name);
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "t" + name;
  return name;
}

/// A statement that the language does not take: types that do not fit, or a defect of the import.
Refused defect(const Diagnostics& problems, const std::string& statement) {
  return {fmt::format("{} in `{}`", problems.empty() ? "" : problems.front().message, statement), ""};
}

/// Why an import that needs these values fails.
Refused unknown(const Value& value, const std::string& what) {
  if (value.drawn)
    return {what + " is a constant whose values the file does not have", "bring the file of its weights"};
  return {what + " depends on values that are known only when the model runs", "fix it when exporting, or with --fix"};
}

}  // namespace

Refused contradiction(std::string what, std::string help) { return {std::move(what), std::move(help), true}; }

std::string sizes_text(const Sizes& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

int Draft::ask(const std::string& name) {
  asked.push_back(name);
  return used[name]++;
}

std::string Draft::unique(const std::string& wanted) {
  const std::string plain = plain_name(wanted);
  const int before = ask(plain);
  return before == 0 ? plain : unique(plain + "_" + std::to_string(before));
}

TensorId Draft::tensor_of(Value& value, const std::string& name) {
  if (value.tensor.valid()) return value.tensor;
  Tensor tensor{unique(name), value.shape, value.dtype};
  tensor.constant = value.constant();
  value.tensor = make_id<TensorId>(kernel.tensors.size());
  if (value.constant())
    weights.push_back({value.tensor, value.file, value.offset, byte_count(tensor), value.values, value.drawn});
  kernel.tensors.push_back(std::move(tensor));
  return value.tensor;
}

Maker::Maker(const Node& of, std::int64_t set, Draft& draft)
    : node(of), opset(set), kind(operator_in_words(of.op)), draft_(draft) {
  stem_ = kind + "_" + std::to_string(draft.ask("node " + kind));
}

void Maker::add_input(Value value, const std::string& name) {
  const std::string local_name = "X" + std::to_string(inputs_.size());
  locals_[local_name] = std::move(value);
  tensor_names_[local_name] = name;
  inputs_.emplace_back(local_name);
}

void Maker::skip_input() { inputs_.emplace_back(std::nullopt); }

const Value& Maker::in(std::size_t i) const {
  if (!has(i)) throw contradiction(fmt::format("input {} is missing", i), "the node needs it");
  return locals_.at(*inputs_[i]);
}

std::vector<std::int64_t> Maker::integers(std::size_t i, const std::string& what) const {
  const Value& value = in(i);
  if (!value.values) throw unknown(value, what);
  if (is_float(value.dtype))
    throw contradiction(fmt::format("{} must be integers; they are {}", what, name(value.dtype)));
  std::vector<std::int64_t> result;
  for (std::int64_t at = 0; at < value.values->count(); ++at) result.push_back(value.values->get(at).integer);
  return result;
}

std::vector<double> Maker::reals(std::size_t i, const std::string& what) const {
  const Value& value = in(i);
  if (!value.values) throw unknown(value, what);
  std::vector<double> result;
  for (std::int64_t at = 0; at < value.values->count(); ++at) {
    const Scalar number = value.values->get(at);
    result.push_back(as_double(value.dtype, number));
    if (!is_float(value.dtype) && convert({result.back(), 0}, DType::f64, value.dtype, false) != number)
      throw Refused{fmt::format("{} is {:.0f} rounded to 53 bits, as numbers in statements are", what, result.back()),
                    "give a number up to 2^53"};
  }
  return result;
}

namespace {

/// An attribute that is given, of the type that the operator has it in; null: it is not given, or an empty list.
/// `field`: where the reader puts values of that type.
template <class List>
const List* values_of(const Node& node, const std::string& name, List Attribute::*field, const char* needed) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return nullptr;
  const Attribute& given = found->second;
  const List& values = given.*field;
  if (!values.empty()) return &values;
  if (given.texts.size() == 1 && given.texts[0].starts_with("@"))
    throw Refused{fmt::format("attribute {} refers to one of a function from a graph inside it", name),
                  "expand the functions when exporting"};
  const char* is = !given.ints.empty()    ? "an integer"
                   : !given.reals.empty() ? "a float"
                   : !given.texts.empty() ? "a string"
                   : given.tensor         ? "a tensor"
                   : given.graph          ? "a graph"
                                          : nullptr;
  if (is) throw contradiction(fmt::format("attribute {} is {}; {} is needed", name, is, needed));
  return nullptr;
}

}  // namespace

std::int64_t Maker::integer(const std::string& name, std::int64_t otherwise) const {
  if (const auto given = node.attributes.find(name);  // `p` of the first set's LpPool is a float
      opset < 2 && given != node.attributes.end() && given->second.reals.size() == 1 &&
      given->second.reals[0] == std::floor(given->second.reals[0]))
    return static_cast<std::int64_t>(given->second.reals[0]);
  const auto* values = values_of(node, name, &Attribute::ints, "an integer");
  return values ? values->front() : otherwise;
}

std::vector<std::int64_t> Maker::integers(const std::string& name, std::vector<std::int64_t> otherwise) const {
  if (const auto* values = values_of(node, name, &Attribute::ints, "a list of integers")) return *values;
  return states(name) ? std::vector<std::int64_t>{} : std::move(otherwise);
}

double Maker::real(const std::string& name, double otherwise) const {
  const auto* values = values_of(node, name, &Attribute::reals, "a float");
  return values ? values->front() : otherwise;
}

std::string Maker::text(const std::string& name, const std::string& otherwise) const {
  const auto* values = values_of(node, name, &Attribute::texts, "a string");
  return values ? values->front() : otherwise;
}

std::size_t Maker::axis(std::int64_t given, std::size_t rank) const {
  const auto all = static_cast<std::int64_t>(rank);
  if (given < -all || given >= all)
    throw contradiction(fmt::format("axis {} of a tensor of {} dimensions", given, rank), "");
  return static_cast<std::size_t>(given < 0 ? given + all : given);
}

void Maker::result(const std::string& name, std::size_t k, DType dtype, const Sizes& shape) {
  locals_[name] = {dtype, shape, {}, nullptr, ""};
  tensor_names_[name] = k < node.outputs.size() && !node.outputs[k].empty() ? node.outputs[k] : stem_ + "_unused";
  results_[k] = name;
  local(name);
}

void Maker::temporary(const std::string& name, DType dtype, const Sizes& shape) {
  locals_[name] = {dtype, shape, {}, nullptr, ""};
  tensor_names_[name] = stem_ + "_" + name;
}

void Maker::constant(const std::string& name, TensorData values) {
  Value value{values.dtype, values.shape, {}, nullptr, ""};
  value.values = std::make_shared<TensorData>(std::move(values));
  locals_[name] = std::move(value);
  tensor_names_[name] = stem_ + "_" + name;
}

std::string Maker::scalar(const std::string& name, DType dtype, const Scalar& value) {
  if (is_in_text(dtype, value)) return is_float(dtype) ? number(value.real) : integer_text(dtype, value);
  TensorData data = zeros(dtype, {});
  data.set(0, value);
  constant(name, std::move(data));
  return access(name, {});
}

void Maker::padded(const std::string& name, const std::string& of, double outside) {
  locals_[name] = local(of);
  outside_[name] = outside;
}

Value& Maker::local(const std::string& name) {
  const auto found = locals_.find(name);
  if (found == locals_.end()) throw Refused{"internal: no tensor is named " + name, "report this as a defect"};
  draft_.tensor_of(found->second, tensor_names_[name]);
  return found->second;
}

const Sizes& Maker::shape_of(const std::string& name) const { return locals_.at(name).shape; }
DType Maker::dtype_of(const std::string& name) const { return locals_.at(name).dtype; }

void Maker::say(const std::string& statement, const Extents& extents) {
  auto parsed = parse_statement(statement);
  if (!parsed) throw defect(parsed.diagnostics(), statement);
  std::vector<Tensor> tensors;
  std::vector<TensorId> ids;
  const auto bring = [&](std::string& name) {  // two inputs may be one tensor
    const TensorId id = local(name).tensor;
    const auto same = std::find(ids.begin(), ids.end(), id);
    if (same != ids.end()) {
      name = tensors[static_cast<std::size_t>(same - ids.begin())].name;
      return;
    }
    tensors.push_back(draft_.kernel.tensors[id.index()]);
    tensors.back().name = name;
    ids.push_back(id);
  };
  for (ParsedAccess& read : parsed->reads)
    if (const auto found = outside_.find(read.tensor); found != outside_.end()) read.outside = found->second;
  bring(parsed->write.tensor);
  for (ParsedAccess& read : parsed->reads) bring(read.tensor);
  auto bound = bind(*parsed, tensors, extents, {}, {});
  if (!bound) throw defect(bound.diagnostics(), statement);
  bound->write.tensor = ids[bound->write.tensor.index()];
  for (Access& read : bound->reads) read.tensor = ids[read.tensor.index()];
  bound->name = said_ == 0 ? stem_ : stem_ + "_s" + std::to_string(said_);
  ++said_;
  draft_.kernel.statements.push_back(std::move(*bound));
  draft_.origins.push_back({{node.title}, node.name, node.op, kind, draft_.order});
}

void Maker::repeat_next(const std::string& dim, std::int64_t steps, std::size_t count, bool backward) {
  Repeat repeat{dim, steps, draft_.kernel.statements.size(), count};
  repeat.backward = backward;
  draft_.kernel.repeats.push_back(repeat);
}

std::optional<Value> Maker::output(std::size_t k) const {
  if (const auto passed = outputs_.find(k); passed != outputs_.end()) return passed->second;
  if (const auto made = results_.find(k); made != results_.end()) return locals_.at(made->second);
  return std::nullopt;
}

Names iterators(std::size_t rank, const std::string& letters) {
  Names names;
  for (std::size_t d = 0; d < rank; ++d)
    names.push_back(d < letters.size() ? std::string(1, letters[d]) : "i" + std::to_string(d));
  return names;
}

std::string joined(const Names& names) { return fmt::format("{}", fmt::join(names, ",")); }

std::string access(const std::string& tensor, const Names& index) { return tensor + "[" + joined(index) + "]"; }

Names broadcast_index(const Sizes& part, const Sizes& whole, const Names& names) {
  if (part.size() > whole.size())
    throw contradiction(sizes_text(part) + " has more dimensions than " + sizes_text(whole), "");
  Names index;
  const std::size_t missing = whole.size() - part.size();
  for (std::size_t d = 0; d < part.size(); ++d) {
    const std::int64_t of_whole = whole[missing + d];
    if (part[d] != 1 && part[d] != of_whole)
      throw contradiction("the shapes " + sizes_text(part) + " and " + sizes_text(whole) + " contradict each other",
                          "");
    index.push_back(part[d] == of_whole ? names[missing + d] : "0");
  }
  return index;
}

Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::size_t back = result.size() - d;
    const std::int64_t of_a = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t of_b = back <= b.size() ? b[b.size() - back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1)
      throw contradiction("the shapes " + sizes_text(a) + " and " + sizes_text(b) + " contradict each other", "");
    result[d] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

Extents extents_of(const Names& names, const Sizes& sizes) {
  Extents result;
  for (std::size_t d = 0; d < names.size(); ++d) result[names[d]] = sizes[d];
  return result;
}

std::string number(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

bool is_in_text(DType dtype, const Scalar& value) {
  if (is_float(dtype)) return !std::isnan(value.real);
  constexpr std::int64_t most = std::int64_t{1} << 53;
  return value.integer <= most && value.integer >= (is_wide_unsigned(dtype) ? 0 : -most);
}

std::int64_t product_of(const Sizes& sizes, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t d = first; d < std::min(last, sizes.size()); ++d) product *= sizes[d];
  return product;
}

TensorData zeros(DType dtype, const Sizes& shape) {
  Tensor tensor;
  tensor.shape = shape;
  tensor.dtype = dtype;
  return make_data(tensor);
}

std::string say_bounds(Maker& m, const std::string& extremes, const std::string& index, const Extents& rows,
                       bool largest) {
  const DType type = m.dtype_of(extremes);
  const std::string extreme = fmt::format("{}[{}]", extremes, index), bound = fmt::format("B[{}]", index);
  if (!is_float(type)) return extreme;
  m.temporary("B", type, m.shape_of(extremes));
  m.say(fmt::format("{0} = select({1} == {1}, {1}, {2})", bound, extreme, largest ? "inf" : "-inf"), rows);
  return bound;
}

Attribute integer_attribute(std::int64_t value) {
  Attribute attribute;
  attribute.ints = {value};
  return attribute;
}

TensorData integers_data(const Sizes& values) {
  TensorData data = zeros(DType::s64, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) data.set(static_cast<std::int64_t>(i), {0, values[i]});
  return data;
}

TensorData scalar_data(DType dtype, double value) {
  TensorData data = zeros(dtype, {});
  data.set(0, is_float(dtype) ? Scalar{value, 0} : Scalar{0, static_cast<std::int64_t>(value)});
  return data;
}

const std::vector<const Makers*>& all_makers() {
  static const std::vector<const Makers*> all = {
      &elementwise_makers(), &movement_makers(),  &row_makers(),      &window_makers(),   &product_makers(),
      &sequence_makers(),    &quantised_makers(), &shape_makers(),    &indexing_makers(), &resize_makers(),
      &loss_makers(),        &attention_makers(), &sampling_makers(), &state_makers(),    &region_makers()};
  return all;
}

Make find_maker(const std::string& op) {
  for (const Makers* makers : all_makers())
    if (const auto found = makers->find(op); found != makers->end()) return found->second;
  return nullptr;
}

}  // namespace isamap::importing
