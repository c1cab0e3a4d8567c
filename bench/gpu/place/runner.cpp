// SPDX-License-Identifier: Apache-2.0
// The program of every case; compiled once.

#include <memory>

#include "case.h"
#include "peers.h"
#include "reference.h"

namespace bench {
namespace {

std::string whole_file(const std::string& name) {
  std::string text;
  if (std::FILE* const file = std::fopen(name.c_str(), "rb")) {
    char part[65536];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
    std::fclose(file);
  }
  return text;
}

/// Writes a file atomically.
void put_file(const std::string& name, const std::string& bytes) {
  const std::string beside = name + ".part";
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fclose(file) != 0 ||
      std::rename(beside.c_str(), name.c_str()) != 0)
    device::stop(device::wrong, "cannot write %s", name.c_str());
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", x);
  return x - x == 0 ? text : "null";
}

/// One result: fields in the order of the columns of results.csv, which are the JSON keys.
class Row {
 public:
  void text(const char* key, const std::string& value) { add(key, quoted(value), value); }
  void value(const char* key, double x) { add(key, number(x), number(x)); }
  void none(const char* key) { add(key, "", ""); }
  void write(const std::string& file) const {
    put_file(file + ".csv", csv_ + "\n");
    put_file(file, "{" + json_ + "}\n");
  }

 private:
  void add(const char* key, const std::string& as_json, std::string as_csv) {
    if (!as_json.empty()) json_ += (json_.empty() ? "" : ", ") + quoted(key) + ": " + as_json;
    for (char& c : as_csv)
      if (c == ',' || c == '\n' || c == '"') c = ';';
    if (!first_) csv_ += ",";
    csv_ += as_csv;
    first_ = false;
  }
  std::string json_, csv_;
  bool first_ = true;
};

constexpr std::size_t guard = 512;

/// An array between guard zones, filled with poison until it is set.
class Buffer {
 public:
  Buffer(std::size_t bytes, unsigned char poison) : bytes_(bytes), poison_(poison) {
    at_ = device::allocate(bytes + 2 * guard);
    device::expect(device::driver.fill(at_, poison, bytes + 2 * guard), "filling memory of the GPU");
  }
  ~Buffer() { device::driver.release(at_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Pointer pointer() const { return {at_ + guard}; }
  void set(const std::string& bytes) const {
    if (!bytes.empty())
      device::expect(device::driver.to_device(at_ + guard, bytes.data(), bytes.size()), "copying to the GPU");
  }
  /// Its contents. `intact`: the guard zones are unchanged.
  std::string get(bool& intact) const {
    std::string all(bytes_ + 2 * guard, '\0');
    device::expect(device::driver.from_device(all.data(), at_, all.size()), "copying from the GPU");
    for (std::size_t i = 0; i < guard; ++i)
      intact = intact && static_cast<unsigned char>(all[i]) == poison_ &&
               static_cast<unsigned char>(all[all.size() - 1 - i]) == poison_;
    return all.substr(guard, bytes_);
  }

 private:
  std::size_t bytes_;
  unsigned char poison_;
  device::Address at_ = 0;
};

std::size_t bytes_of(const Array& a) { return static_cast<std::size_t>(a.count) * size_of(a.type); }

Row begin_row(const Case& c, const char* phase, const std::string& status) {
  Row row;
  for (const auto& [key, text] : {std::pair("phase", std::string(phase)),
                                  {"case", c.name},
                                  {"family", c.family},
                                  {"kernel", c.kernel},
                                  {"target", c.target},
                                  {"status", status}})
    row.text(key, text);
  return row;
}

// Is it right? -------------------------------------------------------------------------------------------------------

Verdict check_once(const Case& c, device::Handle stream, bool whole, std::string& broken) {
  const unsigned char poison = whole ? 0xff : 0x7b;  // NaN; a number that is no result
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Values> values;
  std::vector<Pointer> pointers;
  for (std::size_t a = 0; a < c.arrays.size(); ++a) {
    const Array& array = c.arrays[a];
    buffers.push_back(std::make_unique<Buffer>(bytes_of(array), poison));
    pointers.push_back(buffers.back()->pointer());
    values.push_back(array.output ? Values{}
                                  : random_values(array.type, static_cast<std::size_t>(array.count), whole, 17 + a));
    buffers.back()->set(values.back().bytes);
  }
  device::finish("copying to the GPU");
  c.entry(pointers, stream);
  device::finish("the kernel");
  Verdict verdict;
  for (std::size_t a = 0; a < c.arrays.size(); ++a) {
    const Array& array = c.arrays[a];
    bool intact = true;
    const std::string found = buffers[a]->get(intact);
    if (!intact) broken = std::string("it wrote outside ") + array.name;
    if (!array.output && found != values[a].bytes) broken = std::string("it changed its input ") + array.name;
    if (!array.output) continue;
    if (c.reference == nullptr) {
      verdict =
          check_product(c.product, values[0].numbers, values[1].numbers, c.arrays[0].type, array.type, found, whole);
      continue;
    }
    std::vector<const double*> inputs;
    for (std::size_t i = 0; i < c.arrays.size(); ++i)
      if (!c.arrays[i].output) inputs.push_back(values[i].numbers.data());
    std::vector<double> expected(static_cast<std::size_t>(array.count));
    c.reference(inputs, expected.data());
    verdict = check_values(expected, array.type, found);
  }
  return verdict;
}

void check(const Case& c, device::Handle stream, const std::string& file) {
  std::string broken;
  Verdict exact = check_once(c, stream, true, broken);
  const Verdict real = broken.empty() ? check_once(c, stream, false, broken) : Verdict{};
  const Verdict& shown = exact.wrong > 0 ? exact : real;
  const bool wrong = !broken.empty() || shown.wrong > 0;
  if (broken.empty() && shown.wrong > 0)
    broken = std::to_string(shown.wrong) + " of " + std::to_string(shown.compared) + " are wrong; " + shown.first;
  Row row = begin_row(c, "check", wrong ? "wrong" : "ok");
  row.value("max_error", real.largest_error);
  for (const char* key :
       {"seconds", "seconds_min", "seconds_p90", "gflops", "gbytes_per_s", "peer_default_seconds", "peer_best_seconds"})
    row.none(key);
  row.value("predicted_seconds", c.predicted_seconds);
  row.text("what", broken);
  row.write(file);
}

// How fast is it? ----------------------------------------------------------------------------------------------------

struct Candidate {
  std::string name;
  std::function<void(const std::vector<Pointer>&)> launch;
  std::unique_ptr<device::Timed> graph;
  std::vector<double> seconds;
  double at(double share) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  }
};

/// Enough sets of buffers that the inputs of a launch are evicted from the L2 before their reuse.
struct Sets {
  std::vector<std::unique_ptr<Buffer>> owned;
  std::vector<std::vector<Pointer>> sets;
  Sets(const Case& c, const device::Gpu& gpu) {
    std::size_t each = 0, left = 0, all = 0;
    for (const Array& a : c.arrays) each += bytes_of(a) + 2 * guard;
    device::driver.free_memory(&left, &all);
    const std::size_t wish = 3 * static_cast<std::size_t>(gpu.l2_bytes) / each + 2;
    const std::size_t count = std::max<std::size_t>(1, std::min({wish, left / 2 / each, std::size_t{64}}));
    std::vector<std::string> data;
    for (std::size_t a = 0; a < c.arrays.size(); ++a)
      data.push_back(
          c.arrays[a].output
              ? ""
              : random_values(c.arrays[a].type, static_cast<std::size_t>(c.arrays[a].count), false, a).bytes);
    for (std::size_t s = 0; s < count; ++s) {
      sets.emplace_back();
      for (std::size_t a = 0; a < c.arrays.size(); ++a) {
        owned.push_back(std::make_unique<Buffer>(bytes_of(c.arrays[a]), 0xff));
        owned.back()->set(data[a]);
        sets.back().push_back(owned.back()->pointer());
      }
    }
  }
};

/// Checks the library's result (output poisoned before) against the same reference.
Verdict check_peer(const Case& c, const Sets& buffers, const std::function<void(const std::vector<Pointer>&)>& run) {
  std::size_t out = 0;
  std::vector<std::vector<double>> inputs;
  for (std::size_t a = 0; a < c.arrays.size(); ++a) {
    const Array& array = c.arrays[a];
    if (array.output)
      out = a;
    else
      inputs.push_back(random_values(array.type, static_cast<std::size_t>(array.count), false, a).numbers);
  }
  const Buffer& result = *buffers.owned[out];
  result.set(std::string(bytes_of(c.arrays[out]), '\xff'));
  run(buffers.sets[0]);
  device::finish("the library");
  bool intact = true;
  return check_product(c.product, inputs[0], inputs[1], c.arrays[0].type, c.arrays[out].type, result.get(intact),
                       false);
}

void time(const Case& c, device::Handle stream, const device::Gpu& gpu, const std::string& file) {
  const Sets buffers(c, gpu);
  const char* const wish = std::getenv("BENCH_SECONDS");
  const double least = wish == nullptr ? 0.5 : std::atof(wish);
  std::vector<Candidate> candidates;
  candidates.push_back({"ours", [&](const std::vector<Pointer>& p) { c.entry(p, stream); }, nullptr, {}});
  std::string no_peer = "none for this kernel";
  const int ways =
      c.reference != nullptr
          ? 0
          : peer_ways({c.arrays[0].type_name, c.product.m, c.product.n, c.product.k, c.product.transposed}, no_peer);
  const auto peer = [&](int way) {
    return [&, way](const std::vector<Pointer>& p) {
      if (peer_run(way, p[0], p[1], p[2], stream) != 0)  // otherwise the graph would be empty
        device::stop(device::wrong, "the library refuses its way %d, which it took before", way);
    };
  };
  const auto graph_of = [&](const Candidate& candidate, long launches) {
    return std::make_unique<device::Timed>(stream, [&] {
      for (long i = 0; i < launches; ++i)
        candidate.launch(buffers.sets[static_cast<std::size_t>(i) % buffers.sets.size()]);
    });
  };
  // Tries all algorithms of the library before its default and its best take part.
  int best = -1;
  bool has_default = false;
  double best_seconds = 0;
  for (int way = 0; way < ways; ++way) {
    if (peer_run(way, buffers.sets[0][0], buffers.sets[0][1], buffers.sets[0][2], stream) != 0) continue;
    device::finish("the library");
    has_default = has_default || way == 0;
    const Candidate one{"", peer(way), nullptr, {}};
    const auto graph = graph_of(one, 8);
    graph->seconds();
    const double seconds = std::min({graph->seconds(), graph->seconds(), graph->seconds()});
    if (best < 0 || seconds < best_seconds) best = way, best_seconds = seconds;
  }
  // A library with wrong results is excluded.
  std::string peer_wrong;
  const auto right = [&](int way) {
    const Verdict verdict = check_peer(c, buffers, [&](const std::vector<Pointer>& p) { peer(way)(p); });
    if (verdict.wrong > 0) peer_wrong = "way " + std::to_string(way) + " of the library is wrong: " + verdict.first;
    return verdict.wrong == 0;
  };
  has_default = has_default && right(0);
  if (best > 0 && !right(best)) best = -1;
  if (best == 0 && !has_default) best = -1;
  int default_at = 0, best_at = 0;  // 0: excluded
  if (has_default)
    default_at = static_cast<int>(candidates.size()), candidates.push_back({"default", peer(0), nullptr, {}});
  if (best >= 0) best_at = static_cast<int>(candidates.size()), candidates.push_back({"best", peer(best), nullptr, {}});
  std::vector<double> launches;
  for (Candidate& candidate : candidates) {
    const auto turns = static_cast<long>(buffers.sets.size());
    candidate.launch(buffers.sets[0]);  // warm-up: lazy loading of code must not happen in a graph
    device::finish("the kernel");
    const double once = graph_of(candidate, turns)->seconds() / static_cast<double>(turns);
    const long wanted = static_cast<long>(2e-3 / std::max(once, 1e-7));  // graphs of two milliseconds
    const long count = std::max(1L, std::min(2000L, wanted) / turns) * turns;
    candidate.graph = graph_of(candidate, count);
    candidate.graph->seconds();
    launches.push_back(static_cast<double>(count));
  }
  double spent = 0;
  const double all = least * static_cast<double>(candidates.size());
  for (int round = 0; round < 5 || (spent < all && round < 10000); ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double seconds = candidates[i].graph->seconds();
      spent += seconds;
      candidates[i].seconds.push_back(seconds / launches[i]);
    }
  device::finish("the kernel");
  Candidate& ours = candidates[0];
  Row row = begin_row(c, "time", "ok");
  row.none("max_error");
  row.value("seconds", ours.at(0.5));
  row.value("seconds_min", ours.at(0));
  row.value("seconds_p90", ours.at(0.9));
  row.value("gflops", c.operations / ours.at(0.5) * 1e-9);
  row.value("gbytes_per_s", c.bytes / ours.at(0.5) * 1e-9);
  for (const auto& [key, at] : {std::pair("peer_default_seconds", default_at), {"peer_best_seconds", best_at}})
    at > 0 ? row.value(key, candidates[static_cast<std::size_t>(at)].at(0.5)) : row.none(key);
  row.value("predicted_seconds", c.predicted_seconds);
  row.text("what", !peer_wrong.empty() ? peer_wrong
                   : ways == 0         ? no_peer
                   : best < 0          ? "the library refuses all of its " + std::to_string(ways) + " ways"
                                       : "best is way " + std::to_string(best) + " of " + std::to_string(ways));
  row.write(file);
}

}  // namespace

int main_of(const Case& c, int argc, char** argv) {
  if (argc != 3) device::stop(device::wrong, "usage: case check|time RESULT");
  const std::string folder = std::string(argv[0]).substr(0, std::string(argv[0]).rfind('/') + 1), what = argv[1];
  device::Gpu gpu;
  device::begin(gpu);
  if (!device::is_arch(gpu.arch, c.arch))
    device::stop(device::missing, "%s is of %s, and %s is for %s", gpu.name.c_str(), gpu.arch.c_str(), c.target,
                 c.arch.c_str());
  std::string code = whole_file(folder + "kernel.cubin");
  if (code.empty()) {
    if (const std::string why = device::open_compiler(); !why.empty()) device::stop(device::missing, "%s", why.c_str());
    code = device::compile(whole_file(folder + "kernel.cu"), c.options);
    put_file(folder + "kernel.cubin", code);
  }
  device::load_kernels(code);
  device::Handle stream = nullptr;
  device::expect(device::driver.new_stream(&stream, 0),
                 "a stream");  // blocking: waits for copies on the default stream
  if (what == "check")
    check(c, stream, argv[2]);
  else if (what == "time")
    time(c, stream, gpu, argv[2]);
  else
    device::stop(device::wrong, "usage: case check|time RESULT");
  return 0;
}

}  // namespace bench
