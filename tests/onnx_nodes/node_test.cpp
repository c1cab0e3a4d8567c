// SPDX-License-Identifier: Apache-2.0
// The ONNX library's own node tests, which write_node_tests.py writes as files: run by the interpreter, as imported and
// without copies. Each test is a child process, so that a crash is one result of many.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "frontends/model.h"
#include "frontends/onnx/composition.h"
#include "frontends/onnx/maker.h"
#include "isamap/frontends.h"
#include "support/zip.h"

namespace {

namespace fs = std::filesystem;
using namespace isamap;

struct Outcome {
  char kind = 'c';  ///< right, wrong, refused, error, crash
  std::string text;
};

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

double real_of(const TensorData& data, std::int64_t at) { return as_double(data.dtype, data.get(at)); }

std::string difference(const TensorData& expected, const TensorData& found, const Tolerance& tolerance) {
  if (expected.dtype != found.dtype) return "another type: " + std::string(name(found.dtype));
  if (expected.shape != found.shape) return "another shape";
  const double coarse = expected.dtype == DType::bf16 ? 2e-2 : expected.dtype == DType::f16 ? 4e-3 : 0;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    const double a = real_of(expected, i), b = real_of(found, i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (!(std::fabs(a - b) <= tolerance.absolute + std::max(tolerance.relative, coarse) * std::fabs(a)))
      return "element " + std::to_string(i) + " is " + std::to_string(b) + ", not " + std::to_string(a);
  }
  return "";
}

Tolerance tolerance_of(const fs::path& folder) {
  Tolerance result;
  std::ifstream file(folder / "tolerance");
  file >> result.relative >> result.absolute;
  // Outputs of transforms were computed in f32: what should be 0 is 2e-7 beside 15, and 1e-16 here.
  if (folder.filename().string().starts_with("test_dft")) result.absolute = 4e-6;
  return result;
}

/// Which inputs are constants of the import: the tests pass shapes, axes and sizes as inputs.
enum class Known { none, short_integers, short_ones, integers };

bool is_known(const TensorData& data, Known known) {
  const bool is_short = data.shape.size() <= 1;
  return known == Known::short_ones       ? is_short
         : known == Known::short_integers ? is_short && !is_float(data.dtype)
                                          : known == Known::integers && !is_float(data.dtype);
}

Result<Model> import_with(const fs::path& folder, const std::vector<NamedData>& inputs, Known known) {
  ModelOptions options;
  for (const NamedData& input : inputs)
    if (is_known(input.data, known) && !input.name.empty())
      options.values[input.name] = std::make_shared<TensorData>(input.data);
  return import_model((folder / "model.onnx").string(), options);
}

/// Without copies between statements the outputs are the same.
std::string composed_differs(const Model& model, const std::vector<TensorData>& inputs,
                             const std::vector<TensorData>& expected) {
  const Model less = composed(model);
  if (const Diagnostics problems = verify(less.kernel); !problems.empty()) return problems.front().message;
  auto data = data_of(less, inputs);
  if (!data) return data.diagnostics().front().message;
  interpret(less.kernel, *data);
  for (std::size_t o = 0; o < model.outputs.size(); ++o) {
    const std::string why = difference(expected[model.outputs[o].index()], (*data)[less.outputs[o].index()], {1e-6, 0});
    if (!why.empty()) return "output " + std::to_string(o) + ": " + why;
  }
  return "";
}

Outcome run_test(const fs::path& folder) {
  std::vector<NamedData> inputs;
  for (int i = 0; fs::exists(folder / ("input_" + std::to_string(i) + ".pb")); ++i) {
    auto data = load_tensor((folder / ("input_" + std::to_string(i) + ".pb")).string());
    if (!data) return {'r', "input: " + data.diagnostics().front().message};
    inputs.push_back(std::move(*data));
  }
  auto model = import_with(folder, inputs, Known::none);
  bool constants = false;
  for (const Known known : {Known::short_integers, Known::short_ones, Known::integers})
    if (model && !model->refused.empty()) {
      model = import_with(folder, inputs, known);
      constants = true;
    }
  if (!model) return {'e', model.diagnostics().front().message};
  if (!model->refused.empty()) return {'r', model->refused.front().op + ": " + model->refused.front().reason};
  if (const Diagnostics problems = verify(model->kernel); !problems.empty()) return {'e', problems.front().message};
  std::vector<TensorData> values;
  for (const TensorId id : model->inputs) {
    const auto named = [&](const NamedData& input) { return input.name == model->file_names.at(id); };
    const auto found = std::find_if(inputs.begin(), inputs.end(), named);
    if (found == inputs.end()) return {'e', "no file has the input " + model->file_names.at(id)};
    values.push_back(found->data);
  }
  auto data = data_of(*model, values);
  if (!data) return {'e', data.diagnostics().front().message};
  interpret(model->kernel, *data);
  if (const std::string why = composed_differs(*model, values, *data); !why.empty()) return {'w', "composed: " + why};
  for (std::size_t o = 0; o < model->outputs.size(); ++o) {
    const auto expected = load_tensor((folder / ("output_" + std::to_string(o) + ".pb")).string());
    if (!expected) return {'r', "output: " + expected.diagnostics().front().message};
    const std::string wrong = difference(expected->data, (*data)[model->outputs[o].index()], tolerance_of(folder));
    if (!wrong.empty()) return {'w', "output " + std::to_string(o) + ": " + wrong};
  }
  return {constants ? 'k' : 'o', ""};
}

Outcome in_child(const fs::path& folder) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    Outcome outcome;
    try {
      outcome = run_test(folder);
    } catch (const std::exception& problem) {
      outcome = {'c', problem.what()};
    }
    const std::string text = std::string(1, outcome.kind) + outcome.text;
    _exit(write(ends[1], text.data(), std::min<std::size_t>(text.size(), 4000)) > 0 ? 0 : 1);
  }
  close(ends[1]);
  char buffer[4096];
  const ssize_t length = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (length <= 0) return {'c', "signal " + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0)};
  return {buffer[0], std::string(buffer + 1, buffer + length)};
}

/// tests/data/operators.zip, of write_operators.py: a model for every operator, with outputs computed by numpy.
class OnnxOperators : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
    folder_ = fs::temp_directory_path() / ("isamap_operators_" + std::to_string(getpid()));
    std::ostringstream text;
    text << std::ifstream(ISAMAP_SOURCE_DIR "/tests/data/operators.zip", std::ios::binary).rdbuf();
    const auto archive = read_zip(text.str(), "operators.zip");
    ASSERT_TRUE(archive) << render(archive.diagnostics());
    for (const ZipEntry& entry : *archive) {
      const fs::path file = folder_ / entry.name;
      fs::create_directories(file.parent_path());
      std::ofstream(file, std::ios::binary) << entry.bytes;
      names_.insert(file.parent_path().filename().string());
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::set<std::string> names_;
};

TEST_F(OnnxOperators, AreRight) {
  for (const std::string& name : names_) {
    const Outcome outcome = run_test(folder_ / name);
    EXPECT_TRUE(outcome.kind == 'o' || outcome.kind == 'k') << name << ": " << outcome.text;
  }
}

/// None is imported without a model here.
TEST_F(OnnxOperators, AreAllHere) {
  using namespace importing;
  for (const Makers* makers : all_makers())
    for (const auto& [name, make] : *makers) {
      const std::string op = name.substr(name.rfind('.') + 1);  // without its domain
      const auto found = names_.lower_bound(op);
      EXPECT_TRUE(found != names_.end() && (*found == op || found->starts_with(op + "-"))) << name;
    }
}

/// Files may give any operator inputs of any rank.
TEST(ComposedOperators, RefuseWhatDoesNotFit) {
  using namespace importing;
  Attribute one;
  one.ints = {1};
  for (const Compositions* all : {&compositions(), &attention_compositions()})
    for (const auto& [op, make] : *all)
      for (std::size_t count = 0; count < 19; ++count)
        for (std::size_t rank = 0; rank < 6; ++rank) {
          importing::Node node{"", "n", op, "com.microsoft", std::vector<std::string>(count, "x"), {"a", "b", "c"}, {}};
          for (const char* name :
               {"num_heads", "kv_num_heads", "channels_last", "unidirectional", "do_rotary", "transA"})
            node.attributes[name] = one;
          const Value value{DType::f32, Sizes(rank, 2), {}, nullptr, ""};
          try {
            composed_operator(node, [&](const std::string&) -> const Value& { return value; });
          } catch (const Refused& why) {
            EXPECT_FALSE(why.reason.empty()) << op;
          }
        }
}

/// A node that contradicts itself, or the wrong answer, is seen.
TEST_F(OnnxOperators, AWrongAnswerIsSeen) {
  fs::copy_file(folder_ / "Neg/output_0.pb", folder_ / "Abs/output_0.pb", fs::copy_options::overwrite_existing);
  EXPECT_EQ(run_test(folder_ / "Abs").kind, 'w');
}

/// Where the tests stand: ISAMAP_ONNX_NODES, or a folder written now where Python has the wheel. Empty: neither.
fs::path folder_of_tests() {
  if (const char* given = std::getenv("ISAMAP_ONNX_NODES"); given != nullptr && *given != '\0') return given;
  const fs::path folder = fs::path(ISAMAP_BINARY_DIR) / "onnx_node_tests";
  const std::string script = std::string(ISAMAP_SOURCE_DIR) + "/tests/onnx_nodes/write_node_tests.py";
  if (std::system("python3 -c 'import onnx' 2>/dev/null") != 0) return {};
  return std::system(("python3 '" + script + "' '" + folder.string() + "' >/dev/null 2>&1").c_str()) == 0 ? folder : "";
}

/// None is wrong, none crashes; what is refused is counted by reason. ISAMAP_ONNX_NODES_PART: only names with this
/// part.
TEST(HeavyOnnxNodes, RightOrRefused) {
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  const fs::path tests = folder_of_tests();
  if (tests.empty()) GTEST_SKIP() << "the tests are in the wheel onnx of PyPI (pip install onnx)";
  const char* const part = std::getenv("ISAMAP_ONNX_NODES_PART");
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(tests)) folders.insert(entry.path());
  std::map<char, int> counts;
  std::map<std::string, int> reasons;
  for (const fs::path& folder : folders) {
    if (part != nullptr && folder.filename().string().find(part) == std::string::npos) continue;
    const Outcome outcome = in_child(folder);
    counts[outcome.kind] += 1;
    if (outcome.kind == 'r') reasons[outcome.text] += 1;
    if (outcome.kind != 'o' && outcome.kind != 'k' && outcome.kind != 'r')
      ADD_FAILURE() << folder.filename().string() << ": " << outcome.text;
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(-count, reason);
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [count, reason] : sorted) std::printf("%5d refused: %s\n", -count, reason.c_str());
  std::printf("right %d (%d of them with inputs as constants), wrong %d, refused %d, errors %d, crashes %d\n",
              counts['o'] + counts['k'], counts['k'], counts['w'], counts['r'], counts['e'], counts['c']);
  EXPECT_GE(part != nullptr ? 1715 : counts['o'] + counts['k'], 1715) << "of the 1884 tests of version 1.23";
}

}  // namespace
