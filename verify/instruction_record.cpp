// SPDX-License-Identifier: Apache-2.0
#include "verify/instruction_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace isamap {
namespace {

using RecordJson = nlohmann::ordered_json;

constexpr char digits_of_64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64, RFC 4648.
std::string text_of_bytes(const std::vector<std::uint8_t>& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t some = std::min<std::size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (std::size_t b = 0; b < 3; ++b) group = group << 8 | (b < some ? bytes[i + b] : 0U);
    for (std::size_t d = 0; d < 4; ++d) text += d <= some ? digits_of_64[group >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

bool bytes_of_text(const std::string& text, std::vector<std::uint8_t>& bytes) {
  static const std::string digits = digits_of_64;
  unsigned group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) return false;
    group = group << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(group >> bits));
  }
  return true;
}

RecordJson json_of(const TensorData& data) {
  return {{"dtype", std::string(name(data.dtype))}, {"shape", data.shape}, {"bytes", text_of_bytes(data.bytes)}};
}

/// Throws the JSON library's exceptions, and std::runtime_error.
TensorData data_of(const RecordJson& json) {
  TensorData data;
  const auto dtype = parse_dtype(json.at("dtype").get<std::string>());
  if (!dtype) throw std::runtime_error("names a dtype that does not exist");
  data.dtype = *dtype;
  data.shape = json.at("shape").get<std::vector<std::int64_t>>();
  if (!bytes_of_text(json.at("bytes"), data.bytes)) throw std::runtime_error("holds bytes that are not in base 64");
  std::int64_t count = 1;
  for (const std::int64_t extent : data.shape) count *= extent;
  if (count < 0 || static_cast<std::int64_t>(data.bytes.size()) != count * bytes(data.dtype))
    throw std::runtime_error("holds another number of bytes than its shape says");
  return data;
}

}  // namespace

const RecordedCase* Recording::find(const std::string& instruction, const std::string& what) const {
  for (const RecordedCase& one : cases)
    if (one.instruction == instruction && one.what == what) return &one;
  return nullptr;
}

std::string print_recording(const Recording& recording) {
  RecordJson head{{"schema_version", 1},
                  {"target", recording.target},
                  {"executed", recording.executed},
                  {"machine", recording.machine},
                  {"samples", recording.samples}};
  std::string text = head.dump() + "\n";
  for (const RecordedCase& one : recording.cases) {
    RecordJson line{{"instruction", one.instruction}, {"case", one.what}, {"operands", RecordJson::array()}};
    for (const TensorData& data : one.before) line["operands"].push_back(json_of(data));
    line["written"] = one.written;
    line["found"] = text_of_bytes(one.found.bytes);
    text += line.dump() + "\n";
  }
  return text;
}

Result<Recording> parse_recording(const std::string& text, const std::string& path) {
  Recording recording;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    const auto wrong = [&](const std::string& what) {
      return error(fmt::format("{}:{}: the line {}", path, number, what),
                   "such files are written by `isamap hw verify HW --record FILE`");
    };
    const RecordJson json = RecordJson::parse(line, nullptr, false);
    if (!json.is_object()) return wrong("is no JSON object");
    try {
      if (number == 1) {
        if (json.at("schema_version") != 1) return wrong("has another schema_version than 1");
        recording.target = json.at("target");
        recording.executed = json.at("executed");
        recording.machine = json.at("machine");
        recording.samples = json.at("samples");
        continue;
      }
      RecordedCase one;
      one.instruction = json.at("instruction");
      one.what = json.at("case");
      for (const RecordJson& operand : json.at("operands")) one.before.push_back(data_of(operand));
      one.written = json.at("written");
      if (one.written >= one.before.size()) return wrong("says that an operand is written that it does not hold");
      one.found = one.before[one.written];
      const std::size_t size = one.found.bytes.size();
      one.found.bytes.clear();
      if (!bytes_of_text(json.at("found"), one.found.bytes) || one.found.bytes.size() != size)
        return wrong("holds another number of bytes than its shape says");
      recording.cases.push_back(std::move(one));
    } catch (const nlohmann::json::exception& problem) {
      return wrong(std::string("is not of this form: ") + problem.what());
    } catch (const std::runtime_error& problem) {
      return wrong(problem.what());
    }
  }
  if (number == 0) return error(path + ": is empty", "such files are written by `isamap hw verify HW --record FILE`");
  return recording;
}

}  // namespace isamap
