// SPDX-License-Identifier: Apache-2.0
// From the protocol buffer to plain values. The library's generated reader is all that is used of the ONNX library.

#include "frontends/model.h"
#include "frontends/onnx/graph.h"

#ifdef ISAMAP_WITH_ONNX

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "frontends/onnx/check.h"
#include "frontends/onnx/order.h"
#include "support/yaml.h"

namespace isamap::importing {
namespace {

constexpr std::uintmax_t max_bytes = std::uintmax_t{1} << 30;
constexpr std::int64_t newest_opset = 28;
constexpr int max_depth = 16;  ///< of graphs in attributes of nodes of graphs

/// The numbers of TensorProto.DataType, in order from 0; later versions of the format add at the end.
constexpr const char* type_names[] = {
    "undefined", "float32",    "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "float64",        "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};

std::string type_name(int type) {
  return type >= 0 && type < static_cast<int>(std::size(type_names)) ? type_names[type]
                                                                     : "type " + std::to_string(type);
}

/// Integers of 4 and 2 bits become bytes.
struct SmallInteger {
  int type = 0;  ///< ONNX's number
  DType dtype = DType::s8;
  int bits = 8;
};
constexpr SmallInteger small_integers[] = {
    {21, DType::u8, 4}, {22, DType::s8, 4}, {25, DType::u8, 2}, {26, DType::s8, 2}};

std::optional<SmallInteger> small_integer(int type) {
  for (const SmallInteger& one : small_integers)
    if (one.type == type) return one;
  return std::nullopt;
}

std::optional<DType> dtype_of_element(int type) {
  if (const auto small = small_integer(type)) return small->dtype;
  return dtype_of_onnx(type);
}

/// Several in a byte, the first one in its low bits. The bytes that hold `data` must be there.
void unpack(const SmallInteger& small, const std::string& packed, TensorData& data) {
  const std::int64_t in_byte = 8 / small.bits;
  const int unused = 8 - small.bits;
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const auto byte = static_cast<std::uint8_t>(packed[static_cast<std::size_t>(i / in_byte)]);
    const auto high = static_cast<std::uint8_t>((byte >> (i % in_byte * small.bits)) << unused);
    data.bytes[static_cast<std::size_t>(i)] = small.dtype == DType::u8
                                                  ? static_cast<std::uint8_t>(high >> unused)
                                                  : static_cast<std::uint8_t>(static_cast<std::int8_t>(high) >> unused);
  }
}

/// Packed in the raw bytes, or in the low bytes of the integers.
std::optional<Diagnostic> read_small(const SmallInteger& small, const onnx::TensorProto& tensor,
                                     const std::string& what, TensorData& data) {
  std::string packed = tensor.raw_data();
  for (int i = 0; i < tensor.int32_data_size() && !tensor.has_raw_data(); ++i)
    packed += static_cast<char>(tensor.int32_data(i) & 0xff);
  const std::int64_t needed = (data.count() * small.bits + 7) / 8;
  if (static_cast<std::int64_t>(packed.size()) != needed)
    return error(what + " has " + std::to_string(packed.size()) + " bytes; its shape " + sizes_text(data.shape) +
                 " needs " + std::to_string(needed));
  unpack(small, packed, data);
  return std::nullopt;
}

/// The bytes of a tensor whose values stand in one of the typed fields; the fields repeat a few types for many.
template <class Field>
void encode_all(const Field& field, TensorData& data) {
  const int count = static_cast<int>(std::min<std::int64_t>(field.size(), data.count()));
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(field[i])>>)
      data.set(i, {static_cast<double>(field[i]), 0});
    else
      data.set(i, {0, static_cast<std::int64_t>(field[i])});
  }
}

void decode_sixteen_bits(const onnx::TensorProto& tensor, TensorData& data) {
  for (int i = 0; i < tensor.int32_data_size() && i < data.count(); ++i)
    data.set(i, decode(data.dtype, static_cast<std::uint32_t>(tensor.int32_data(i)) & 0xffff));
}

bool has_values(const onnx::TensorProto& tensor) {
  return !tensor.raw_data().empty() || tensor.float_data_size() + tensor.int32_data_size() + tensor.int64_data_size() +
                                               tensor.double_data_size() + tensor.uint64_data_size() >
                                           0;
}

/// Fields of fewer values than the shape has elements are damage.
std::optional<Diagnostic> read_values(const onnx::TensorProto& tensor, const std::string& what, TensorData& data) {
  if (const auto small = small_integer(tensor.data_type())) return read_small(*small, tensor, what, data);
  const std::int64_t count = data.count();
  std::int64_t found = tensor.float_data_size() + tensor.int32_data_size() + tensor.int64_data_size() +
                       tensor.double_data_size() + tensor.uint64_data_size();
  if (tensor.has_raw_data()) {
    found = static_cast<std::int64_t>(tensor.raw_data().size()) / bytes(data.dtype);
    if (found == count) std::copy(tensor.raw_data().begin(), tensor.raw_data().end(), data.bytes.begin());
  } else if (is_float(data.dtype) && bytes(data.dtype) <= 2) {
    decode_sixteen_bits(tensor, data);
  } else {
    encode_all(tensor.float_data(), data);
    encode_all(tensor.int32_data(), data);
    encode_all(tensor.int64_data(), data);
    encode_all(tensor.double_data(), data);
    encode_all(tensor.uint64_data(), data);
  }
  if (found == count) return std::nullopt;
  return error(what + " has " + std::to_string(found) + " values; its shape " + sizes_text(data.shape) + " needs " +
               std::to_string(count));
}

/// The version of the standard operators; nothing: none is stated.
template <class Imports>
std::optional<std::int64_t> standard_set(const Imports& imports) {
  std::optional<std::int64_t> set;
  for (const auto& one : imports)
    if (one.domain().empty() || one.domain() == "ai.onnx") set = one.version();
  return set;
}

std::optional<Diagnostic> unread_set(const std::string& what, std::int64_t set) {
  if (set >= 1 && set <= newest_opset) return std::nullopt;
  return error(what + " uses operator set " + std::to_string(set) + "; sets from 1 to " + std::to_string(newest_opset) +
                   " are read",
               set > newest_opset ? "export it with an older operator set"
                                  : "state the set that its operators are of (opset_import)");
}

class Reader {
 public:
  Reader(std::string path, Diagnostics& problems) : path_(std::move(path)), problems_(problems) {}
  std::set<std::string> missing;  ///< files with values

  Graph graph(const onnx::GraphProto& proto, int depth) {
    Graph result;
    for (const int i : execution_order(proto.node()).nodes) result.nodes.push_back(node(proto.node(i), i, depth));
    for (const auto& tensor : proto.initializer()) result.constants.push_back(constant(tensor, tensor.name()));
    for (const auto& tensor : proto.sparse_initializer())
      result.constants.push_back({tensor.values().name(), std::nullopt, "sparse tensor", {}, nullptr, ""});
    for (const auto& info : proto.input()) result.inputs.push_back(declared(info));
    for (const auto& info : proto.output()) result.outputs.push_back(declared(info));
    for (const auto& info : proto.value_info()) result.values.push_back(declared(info));
    return result;
  }

  /// Its operators are of the set that it states, whatever the file's is.
  Function function(const onnx::FunctionProto& proto) {
    Function result;
    opset_ = standard_set(proto.opset_import()).value_or(0);
    if (opset_ != 0)
      if (auto problem = unread_set("function '" + printable(proto.name()) + "'", opset_))
        problems_.push_back(std::move(*problem));
    result.inputs.assign(proto.input().begin(), proto.input().end());
    result.outputs.assign(proto.output().begin(), proto.output().end());
    for (const int i : execution_order(proto.node()).nodes) result.nodes.push_back(node(proto.node(i), i, 0));
    for (const onnx::AttributeProto& a : default_attributes(proto)) result.defaults[a.name()] = attribute(a, 0);
    opset_ = 0;
    return result;
  }

  /// `attribute_proto`, field 11 of onnx.proto since version 1.13; the library's format may be older.
  static std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& proto) {
    constexpr int number = 11;
    google::protobuf::UnknownFieldSet fields;
    std::vector<onnx::AttributeProto> found;
    if (!fields.ParseFromString(proto.SerializeAsString())) return found;
    for (int i = 0; i < fields.field_count(); ++i) {
      const google::protobuf::UnknownField& field = fields.field(i);
      if (field.number() != number || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
      if (onnx::AttributeProto one; one.ParseFromString(field.length_delimited())) found.push_back(std::move(one));
    }
    return found;
  }

  Constant constant(const onnx::TensorProto& tensor, const std::string& name) {
    Constant result{name, dtype_of_element(tensor.data_type()), type_name(tensor.data_type()), {}, nullptr, ""};
    result.shape.assign(tensor.dims().begin(), tensor.dims().end());
    if (!result.dtype) return result;
    if (const auto small = small_integer(tensor.data_type())) result.narrow = small->bits;
    const std::string what = "constant '" + printable(name) + "'";
    if (!countable(result.shape)) {
      problems_.push_back(error(what + " of " + sizes_text(result.shape) + " is larger than any memory"));
      return result;
    }
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      if (small_integer(tensor.data_type())) {
        result.dtype.reset();  // packed values in a file of their own
        return result;
      }
      external(tensor, what, result);
      return result;
    }
    Tensor empty{"", result.shape, *result.dtype};
    const std::int64_t needed = byte_count(empty);
    if (!has_values(tensor) && needed > 0) return result;  // weights that were taken out of the file
    if (static_cast<std::uintmax_t>(needed) > 8 * tensor.ByteSizeLong() + 64) {  // before anything is allocated
      problems_.push_back(error(what + " of " + sizes_text(result.shape) + " has fewer values than its shape"));
      return result;
    }
    auto data = std::make_shared<TensorData>(make_data(empty));
    if (const auto problem = read_values(tensor, what, *data))
      problems_.push_back(*problem);
    else
      result.values = std::move(data);
    return result;
  }

 private:
  /// Bytes of a constant in a file of its own: shapes, axes and bounds are needed while importing, weights are not.
  static constexpr std::int64_t most_read_at_once = 1 << 16;

  static bool read_offset(const std::string& text, std::int64_t& offset) {
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, offset);
    return problem == std::errc() && stop == end;
  }

  /// The file lies in the model's folder or below it.
  void external(const onnx::TensorProto& tensor, const std::string& what, Constant& result) {
    std::string location;
    Tensor empty{"", result.shape, *result.dtype};
    result.bytes = byte_count(empty);
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset" && !read_offset(entry.value(), result.offset)) {
        problems_.push_back(error(what + " is stored at the offset '" + printable(entry.value()) + "', no number"));
        return;
      }
    }
    const std::filesystem::path relative = std::filesystem::path(location).lexically_normal();
    if (location.empty() || relative.is_absolute() || *relative.begin() == "..") {
      problems_.push_back(error(what + " is stored in '" + printable(location) + "', outside the model's folder"));
      return;
    }
    const std::filesystem::path file = std::filesystem::path(path_).parent_path() / relative;
    std::error_code problem;
    const std::uintmax_t size = std::filesystem::file_size(file, problem);
    if (problem) {  // the weights are elsewhere: their values are drawn
      missing.insert(printable(location));
      return;
    }
    if (result.offset < 0 || static_cast<std::uintmax_t>(result.offset) > size ||
        size - static_cast<std::uintmax_t>(result.offset) < static_cast<std::uintmax_t>(result.bytes))
      problems_.push_back(error(what + " needs " + std::to_string(result.bytes) + " bytes at " +
                                std::to_string(result.offset) + " of '" + printable(location) + "', which has " +
                                std::to_string(size)));
    else if (result.bytes > most_read_at_once)
      result.file = file.string();
    else if (result.values = values_in(file, result.offset, empty); !result.values)
      problems_.push_back(error(what + " cannot be read from '" + printable(location) + "'"));
  }

  /// Null: they cannot be read.
  static std::shared_ptr<const TensorData> values_in(const std::filesystem::path& path, std::int64_t offset,
                                                     const Tensor& tensor) {
    auto data = std::make_shared<TensorData>(make_data(tensor));
    std::ifstream file(path, std::ios::binary);
    file.seekg(offset);
    file.read(reinterpret_cast<char*>(data->bytes.data()), static_cast<std::streamsize>(data->bytes.size()));
    return file ? data : nullptr;
  }

  static Declared declared(const onnx::ValueInfoProto& info) {
    Declared result{info.name(), std::nullopt, "", std::nullopt, {}};
    if (!info.type().has_tensor_type()) {
      result.type = info.has_type() ? "no tensor" : "";
      return result;
    }
    const auto& type = info.type().tensor_type();
    result.dtype = dtype_of_element(type.elem_type());
    result.type = type_name(type.elem_type());
    if (const auto small = small_integer(type.elem_type())) result.narrow = small->bits;
    if (!type.has_shape()) return result;
    result.shape.emplace();
    for (const auto& dim : type.shape().dim()) {
      const bool known = dim.has_dim_value() && dim.dim_value() >= 0;  // -1 is some exporters' unknown size
      result.shape->push_back(known ? dim.dim_value() : -1);
      const bool named = dim.has_dim_param() && dim.dim_param() != "?";  // some exporters' unknown size
      result.symbols.push_back(named ? dim.dim_param() : "");
    }
    return result;
  }

  Attribute attribute(const onnx::AttributeProto& proto, int depth) {
    Attribute result;
    if (proto.type() == onnx::AttributeProto::INT) result.ints = {proto.i()};
    if (proto.type() == onnx::AttributeProto::FLOAT) result.reals = {proto.f()};
    if (proto.type() == onnx::AttributeProto::STRING) result.texts = {proto.s()};
    if (proto.ints_size() > 0) result.ints.assign(proto.ints().begin(), proto.ints().end());
    if (proto.floats_size() > 0) result.reals.assign(proto.floats().begin(), proto.floats().end());
    if (proto.strings_size() > 0) result.texts.assign(proto.strings().begin(), proto.strings().end());
    if (proto.has_t()) result.tensor = std::make_shared<Constant>(constant(proto.t(), proto.name()));
    if (proto.has_g() && depth < max_depth) result.graph = std::make_shared<Graph>(graph(proto.g(), depth + 1));
    return result;
  }

  Node node(const onnx::NodeProto& proto, int position, int depth) {
    Node result{
        node_title(proto, position), printable(proto.name()), proto.op_type(), proto.domain(), {}, {}, {}, opset_};
    if (result.domain == "ai.onnx") result.domain.clear();
    result.inputs.assign(proto.input().begin(), proto.input().end());
    result.outputs.assign(proto.output().begin(), proto.output().end());
    for (const auto& a : proto.attribute()) {
      result.attributes[a.name()] = attribute(a, depth);
      if (!a.ref_attr_name().empty()) result.attributes[a.name()].texts = {"@" + a.ref_attr_name()};
    }
    return result;
  }

  std::string path_;
  Diagnostics& problems_;
  std::int64_t opset_ = 0;  ///< of the nodes that are read; 0: the file's
};

/// The model of a file, or diagnostics.
Result<onnx::ModelProto> read_proto(const std::string& path) {
  const SourceLocation where{path, 0, 0};
  std::error_code problem;
  const auto kind = std::filesystem::status(path, problem).type();
  if (kind == std::filesystem::file_type::not_found)
    return error_at(where, "the file does not exist", yaml::nearest_file(path));
  if (kind != std::filesystem::file_type::regular) return error_at(where, "is not a file");
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  std::ifstream stream(path, std::ios::binary);
  if (problem || !stream) return error_at(where, "the file cannot be read");
  if (size > max_bytes)
    return error_at(where, "the file has " + std::to_string(size) + " bytes; at most 1 GiB is read",
                    "store the weights as external data");
  const google::protobuf::LogSilencer silent;
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&stream))
    return error_at(where, "is not an ONNX model: the protocol buffer is damaged or cut off",
                    "download or export it again; a file of Git LFS is text until `git lfs pull`");
  if (!model.has_graph() || model.graph().node_size() == 0)
    return error_at(where, "is not an ONNX model: it holds no graph with nodes", "is it another kind of file?");
  if (model.opset_import_size() == 0)
    return error_at(where, "the model does not say which operator set it uses (opset_import)");
  return model;
}

}  // namespace

Result<ModelFile> read_model_file(const std::string& path) {
  const Result<onnx::ModelProto> proto = read_proto(path);
  if (!proto) return proto.diagnostics();
  Diagnostics problems = check_graph(proto->graph());
  ModelFile result;
  result.opset = standard_set(proto->opset_import()).value_or(newest_opset);  // where none is stated as ONNX Runtime
  if (auto problem = unread_set("the model", result.opset)) problems.push_back(std::move(*problem));
  if (problems.empty()) {
    Reader reader(path, problems);
    result.graph = reader.graph(proto->graph(), 0);
    for (const auto& function : proto->functions())
      result.functions[{function.domain(), function.name()}] = reader.function(function);
    result.missing_files = std::move(reader.missing);
  }
  for (Diagnostic& problem : problems) problem.where = {path, 0, 0};
  if (problems.size() > 20) problems.resize(20);
  if (!problems.empty()) return problems;
  return result;
}

}  // namespace isamap::importing

namespace isamap {

Result<NamedData> load_tensor(const std::string& path) {
  const google::protobuf::LogSilencer silent;
  std::ifstream stream(path, std::ios::binary);
  onnx::TensorProto proto;
  if (!stream || !proto.ParseFromIstream(&stream)) return error_at({path, 0, 0}, "is not a TensorProto");
  Diagnostics problems;
  const importing::Constant found = importing::Reader(path, problems).constant(proto, proto.name());
  for (Diagnostic& problem : problems) problem.where = {path, 0, 0};
  if (!problems.empty()) return problems;
  if (!found.values) return error_at({path, 0, 0}, "holds values of the type " + found.type);
  return NamedData{found.name, *found.values};
}

}  // namespace isamap

#endif
