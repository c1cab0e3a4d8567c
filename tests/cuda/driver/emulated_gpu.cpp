// SPDX-License-Identifier: Apache-2.0
// A driver and a runtime compiler for machines without a GPU, as one shared library: the compiler remembers the text,
// the driver compiles it as plain C++ beside the emulation and calls it. Memory of the "GPU" lies far from the host's,
// copies are real, graphs record launches and replay them, events are a clock. So everything that a program does
// through a driver is done, and only the kernels are emulated.
//
// ISAMAP_EMULATED_GPU plants faults, and says what GPU it is: words with commas between:
//   arch=90  no-device  init-fails  compile-fails  load-fails  memory=BYTES  launch-fails  kernel-fails old-driver-call

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cuda/header_texts.h"

namespace {

using Code = int;
using Address = unsigned long long;
constexpr Code invalid = 1, out_of_memory = 2, no_device = 100, no_binary = 209, not_found = 500, illegal_address = 700,
               too_many_resources = 701, launch_failed = 719;

/// The value of a word in ISAMAP_EMULATED_GPU: "" when it stands alone.
const std::string* planted(const std::string& word) {
  static const std::map<std::string, std::string> words = [] {
    std::map<std::string, std::string> found;
    const char* const all = std::getenv("ISAMAP_EMULATED_GPU");
    std::istringstream stream(all == nullptr ? "" : all);
    for (std::string one; std::getline(stream, one, ',');) {
      const std::size_t equal = one.find('=');
      found[one.substr(0, equal)] = equal == std::string::npos ? "" : one.substr(equal + 1);
    }
    return found;
  }();
  const auto found = words.find(word);
  return found == words.end() ? nullptr : &found->second;
}

long number(const std::string& word, long otherwise) {
  const std::string* text = planted(word);
  return text == nullptr ? otherwise : std::atol(text->c_str());
}

int most_shared() { return (number("arch", 80) >= 90 ? 227 : 163) << 10; }

// Memory: each allocation has its own pages, with one that nobody may touch behind it.
struct Allocation {
  char* block = nullptr;
  std::size_t mapped = 0, bytes = 0;
};
std::map<Address, Allocation> memory;
std::size_t in_use = 0;
std::size_t total() { return static_cast<std::size_t>(number("memory", 1L << 30)); }

Code allocate(Address* at, std::size_t bytes) {
  if (in_use + bytes > total()) return out_of_memory;
  const std::size_t page = 4096, padded = (bytes + 255) / 256 * 256, mapped = (padded + page - 1) / page * page + page;
  void* const block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return out_of_memory;
  mprotect(static_cast<char*>(block) + mapped - page, page, PROT_NONE);
  *at = reinterpret_cast<Address>(block) + mapped - page - padded;
  memory[*at] = {static_cast<char*>(block), mapped, bytes};
  in_use += bytes;
  return 0;
}
Code release(Address at) {
  const auto found = memory.find(at);
  if (found == memory.end()) return invalid;
  munmap(found->second.block, found->second.mapped);
  in_use -= found->second.bytes;
  memory.erase(found);
  return 0;
}
/// Do these bytes lie in one allocation?
bool ours(Address at, std::size_t bytes) {
  auto after = memory.upper_bound(at);
  if (after == memory.begin()) return false;
  const auto& [begin, allocation] = *--after;
  return at + bytes <= begin + std::max<std::size_t>(allocation.bytes, 1);
}

// Modules: the printed file as a library, whose kernels are reached by name.
using Packed = void (*)(void**, unsigned, int, std::size_t);
struct Function {
  std::string name;
  Packed call = nullptr;
  int shared = 0;
  std::vector<std::size_t> sizes;  ///< bytes of its parameters
};
struct Module {
  void* library = nullptr;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

const char* const trampolines = R"(
#include <tuple>
#include <utility>
template <class... T, std::size_t... i>
void packed(const char* name, void (*kernel)(T...), void** p, unsigned blocks, int threads, std::size_t bytes, std::index_sequence<i...>) {
  emulation::launch(name, {blocks, 1, 1}, threads, bytes, {}, [&] { kernel(*static_cast<T*>(p[i])...); });
}
template <class... T> void sizes_of(void (*)(T...), void (*each)(void*, std::size_t), void* to) { (each(to, sizeof(T)), ...); }
template <class... T> std::index_sequence_for<T...> sequence_of(void (*)(T...)) { return {}; }
)";

const std::string compiler = "c++ -std=c++20 -O1 -ffp-contract=off -fPIC ";

/// Tests that run side by side want the same files: one of them makes a file, while the others wait.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& of)
      : file_(open((of.string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

/// What libraries of kernels share is made once, in a folder of this text of the emulation; where it cannot be made,
/// each library does without. `text` becomes `made` by the compiler with these flags.
bool make_once(const std::filesystem::path& made, const std::string& text, const std::string& flags) {
  namespace fs = std::filesystem;
  const Lock lock(made);
  if (fs::exists(made)) return true;
  const fs::path own = made.parent_path() / ("made." + std::to_string(getpid()));
  fs::create_directories(own);
  std::ofstream(own / isamap::emulation_header_name) << isamap::emulation_header();
  std::ofstream(own / "shared.hpp") << text;
  const std::string command = compiler + flags + " -o '" + (own / "made").string() + "' '" +
                              (own / "shared.hpp").string() + "' > '" + (own / "log").string() + "' 2>&1";
  const bool ok = std::system(command.c_str()) == 0;
  if (ok) fs::rename(own / "made", made);
  fs::remove_all(own);
  return ok;
}

/// The inputs and flags by which a library has the emulation: its object, and its header parsed before.
std::string shared_parts(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path place = folder / std::to_string(std::hash<std::string>{}(isamap::emulation_header()));
  const std::string text = std::string("#include \"") + isamap::emulation_header_name + "\"\n";
  fs::create_directories(place);
  if (!make_once(place / "shared.o", text, "-DISAMAP_EMULATION_DEFINED -c -x c++")) return "";
  const std::string parts = " -DISAMAP_EMULATION_DECLARED '" + (place / "shared.o").string() + "'";
  const fs::path header = place / "shared.hpp";
  if (!make_once(header.string() + ".gch", text, "-DISAMAP_EMULATION_DECLARED -x c++-header")) return parts;
  return parts + " -include '" + header.string() + "'";
}

/// The library is kept by its text: a test that runs many programs of one kernel compiles it once.
std::filesystem::path library_of(const std::string& text, const std::vector<std::string>& kernels) {
  namespace fs = std::filesystem;
  const char* const chosen = std::getenv("ISAMAP_EMULATED_GPU_CACHE");
  const fs::path folder = chosen != nullptr ? fs::path(chosen) : fs::temp_directory_path() / "isamap-emulated-gpu";
  const std::string name = std::to_string(std::hash<std::string>{}(text + isamap::emulation_header()));
  const fs::path library = folder / (name + ".so"), own = folder / (name + "." + std::to_string(getpid()));
  fs::create_directories(own);
  const Lock lock(library);
  if (fs::exists(library)) {
    fs::remove_all(own);
    return library;
  }
  std::ofstream(own / isamap::emulation_header_name) << isamap::emulation_header();
  std::ofstream source(own / "kernel.cpp");
  source << text << trampolines;
  for (const std::string& k : kernels)
    source << "extern \"C\" void packed_" << k << "(void** p, unsigned b, int t, std::size_t s) { packed(\"" << k
           << "\", " << k << ", p, b, t, s, sequence_of(" << k << ")); }\nextern \"C\" void sizes_" << k
           << "(void (*each)(void*, std::size_t), void* to) { sizes_of(" << k << ", each, to); }\n";
  source.close();
  const std::string command = compiler + "-shared -o '" + (own / "made.so").string() + "' '" +
                              (own / "kernel.cpp").string() + "'" + shared_parts(folder) + " > '" +
                              (own / "log").string() + "' 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::ifstream log(own / "log");
    std::fprintf(stderr, "emulated GPU: %s\n",
                 std::string(std::istreambuf_iterator<char>(log), {}).substr(0, 2000).c_str());
    return {};
  }
  fs::rename(own / "made.so", library);
  fs::remove_all(own);
  return library;
}

std::vector<std::string> kernels_of(const std::string& text) {
  static const std::regex kernel("__global__ void (?:__launch_bounds__\\([0-9, ]*\\) )?([A-Za-z_][A-Za-z_0-9]*)\\(");
  std::vector<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), kernel), end; it != end; ++it) names.push_back((*it)[1]);
  return names;
}

// Streams and graphs: what is put on a stream is done at once, or remembered while it is captured.
struct Stream {
  bool capturing = false;
  std::vector<std::function<Code()>> recorded;
};
struct Event {
  double seconds = -1;
};
struct Graph {
  std::vector<std::function<Code()>> steps;
};
Code sticky = 0;  // what a kernel did wrong is found at the next synchronisation

Code put(Stream* stream, std::function<Code()> step) {
  if (stream == nullptr || !stream->capturing) return step();
  stream->recorded.push_back(std::move(step));
  return 0;
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Text {
  std::string source, log;
};
constexpr const char* mark = "EMULATED CUBIN\n";

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default"))) Code

EXPORTED cuInit(unsigned) { return planted("init-fails") ? 999 : 0; }
EXPORTED cuDriverGetVersion(int* version) { return *version = 13000, 0; }
EXPORTED cuGetErrorName(Code code, const char** name) {
  static const std::map<Code, const char*> names = {{0, "CUDA_SUCCESS"},
                                                    {invalid, "CUDA_ERROR_INVALID_VALUE"},
                                                    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {no_device, "CUDA_ERROR_NO_DEVICE"},
                                                    {no_binary, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                    {not_found, "CUDA_ERROR_NOT_FOUND"},
                                                    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                    {too_many_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                                                    {launch_failed, "CUDA_ERROR_LAUNCH_FAILED"},
                                                    {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(code);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? invalid : 0;
}
EXPORTED cuGetErrorString(Code, const char** text) { return *text = "planted", 0; }
EXPORTED cuDeviceGetCount(int* count) { return *count = planted("no-device") ? 0 : 1, 0; }
EXPORTED cuDeviceGet(int* device, int) { return *device = 0, 0; }
EXPORTED cuDeviceGetName(char* name, int size, int) {
  return std::snprintf(name, static_cast<std::size_t>(size), "emulated GPU"), 0;
}
EXPORTED cuDeviceGetAttribute(int* value, int which, int) {
  const int arch = static_cast<int>(number("arch", 80));
  switch (which) {
    case 13:
      *value = 1410000;
      return 0;  // kHz
    case 16:
      *value = 108;
      return 0;  // multiprocessors
    case 36:
      *value = 1215000;
      return 0;  // kHz
    case 38:
      *value = 1 << 14;
      return 0;  // bytes of L2
    case 75:
      *value = arch / 10;
      return 0;
    case 76:
      *value = arch % 10;
      return 0;
    case 97:
      *value = most_shared();
      return 0;
    default:
      return invalid;
  }
}
EXPORTED cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = total(), 0; }
EXPORTED cuDevicePrimaryCtxRetain(void** context, int) {
  static int one;
  return *context = &one, 0;
}
EXPORTED cuCtxSetCurrent(void*) { return 0; }
EXPORTED cuCtxSynchronize() { return sticky; }
EXPORTED cuMemGetInfo_v2(std::size_t* left, std::size_t* all) { return *all = total(), *left = total() - in_use, 0; }
EXPORTED cuMemAlloc_v2(Address* at, std::size_t bytes) { return allocate(at, bytes); }
EXPORTED cuMemFree_v2(Address at) { return release(at); }
EXPORTED cuMemAllocAsync(Address* at, std::size_t bytes, void*) {
  return allocate(at, bytes);
}  // nodes of a graph keep theirs
EXPORTED cuMemFreeAsync(Address at, void* stream) { return static_cast<Stream*>(stream)->capturing ? 0 : release(at); }
EXPORTED cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  if (!ours(to, bytes)) return invalid;
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
EXPORTED cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  if (!ours(from, bytes)) return invalid;
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
}
EXPORTED cuMemsetD8_v2(Address at, unsigned char value, std::size_t bytes) {
  if (!ours(at, bytes)) return invalid;
  return std::memset(reinterpret_cast<void*>(at), value, bytes), 0;
}

EXPORTED cuModuleLoadData(void** module, const void* image) {
  const char* const text = static_cast<const char*>(image);
  if (planted("load-fails") || std::strncmp(text, mark, std::strlen(mark)) != 0) return no_binary;
  const std::string source = text + std::strlen(mark);
  const auto kernels = kernels_of(source);
  const auto file = library_of(source, kernels);
  if (file.empty()) return no_binary;
  auto* made = new Module;
  made->library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (made->library == nullptr) return no_binary;
  for (const std::string& k : kernels) {
    auto function = std::make_unique<Function>();
    function->name = k;
    function->call = reinterpret_cast<Packed>(dlsym(made->library, ("packed_" + k).c_str()));
    using Sizes = void (*)(void (*)(void*, std::size_t), void*);
    reinterpret_cast<Sizes>(dlsym(made->library, ("sizes_" + k).c_str()))(
        [](void* to, std::size_t size) { static_cast<Function*>(to)->sizes.push_back(size); }, function.get());
    made->functions[k] = std::move(function);
  }
  return *module = made, 0;
}
EXPORTED cuModuleGetFunction(void** function, void* module, const char* name) {
  const auto& all = static_cast<Module*>(module)->functions;
  const auto found = all.find(name);
  if (found == all.end()) return not_found;
  return *function = found->second.get(), 0;
}
EXPORTED cuFuncSetAttribute(void* function, int which, int value) {
  if (which != 8) return invalid;
  if (value > most_shared()) return invalid;
  return static_cast<Function*>(function)->shared = value, 0;
}
EXPORTED cuFuncGetAttribute(int* value, int which, void*) { return *value = which == 4 ? 32 : 0, 0; }
EXPORTED cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                        unsigned bytes, void* stream, void** parameters, void**) {
  auto* const f = static_cast<Function*>(function);
  if (planted("launch-fails") || y != 1 || z != 1 || ty != 1 || tz != 1 || x == 0) return too_many_resources;
  if (threads == 0 || threads > 1024 || static_cast<int>(bytes) > std::max(f->shared, 48 << 10)) return invalid;
  // Copied now, as a driver does.
  std::vector<std::vector<char>> values;
  for (std::size_t p = 0; p < f->sizes.size(); ++p) {
    const char* const at = static_cast<char*>(parameters[p]);
    values.emplace_back(at, at + f->sizes[p]);
  }
  return put(static_cast<Stream*>(stream), [=]() mutable -> Code {
    if (planted("kernel-fails")) return sticky = illegal_address, 0;
    std::vector<void*> list;
    for (std::vector<char>& value : values) list.push_back(value.data());
    f->call(list.data(), x, static_cast<int>(threads), bytes);
    return 0;
  });
}

EXPORTED cuStreamCreate(void** stream, unsigned) { return *stream = new Stream, 0; }
EXPORTED cuStreamSynchronize(void*) { return sticky; }
EXPORTED cuStreamBeginCapture_v2(void* stream, int) {
  auto* const s = static_cast<Stream*>(stream);
  if (s == nullptr || s->capturing) return invalid;  // the default stream cannot be captured
  s->recorded.clear();
  return s->capturing = true, 0;
}
EXPORTED cuStreamEndCapture(void* stream, void** graph) {
  auto* const s = static_cast<Stream*>(stream);
  if (!s->capturing) return invalid;
  s->capturing = false;
  return *graph = new Graph{s->recorded}, 0;
}
EXPORTED cuGraphInstantiateWithFlags(void** made, void* graph, unsigned long long) {
  return *made = new Graph(*static_cast<Graph*>(graph)), 0;
}
EXPORTED cuGraphLaunch(void* graph, void*) {
  for (const auto& step : static_cast<Graph*>(graph)->steps)
    if (const Code code = step(); code != 0) return code;
  return 0;
}
EXPORTED cuGraphExecDestroy(void* graph) { return delete static_cast<Graph*>(graph), 0; }
EXPORTED cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), 0; }
EXPORTED cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
EXPORTED cuEventRecord(void* event, void*) { return static_cast<Event*>(event)->seconds = now(), 0; }
EXPORTED cuEventSynchronize(void*) { return sticky; }
EXPORTED cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const double from = static_cast<Event*>(begin)->seconds, to = static_cast<Event*>(end)->seconds;
  if (from < 0 || to < 0) return invalid;
  return *milliseconds = static_cast<float>((to - from) * 1e3), 0;
}

/// What the emulation's own function of this name makes, in as many bytes.
EXPORTED cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* base, const std::uint64_t* sizes,
                                const std::uint64_t* pitches, const std::uint32_t* box, const std::uint32_t* steps, int,
                                int swizzle, int, int) {
  struct Described {
    const void* base;
    int bytes, rank, swizzle;
    std::uint64_t sizes[5], pitches[5];
    std::uint32_t box[5];
  };
  static_assert(sizeof(Described) <= 128);
  if (rank == 0 || rank > 5 || type < 0 || type > 2) return invalid;
  Described made{base, 1 << type, static_cast<int>(rank), swizzle, {}, {}, {}};
  for (unsigned d = 0; d < rank; ++d) {
    made.sizes[d] = sizes[d];
    made.pitches[d] = d == 0 ? 1U << type : pitches[d - 1];
    made.box[d] = box[d];
    if (box[d] == 0 || box[d] > 256 || steps[d] != 1 || (d > 0 && pitches[d - 1] % 16 != 0)) return invalid;
  }
  const std::uint64_t row = box[0] << type, most[] = {~0ULL, 32, 64, 128};
  if (reinterpret_cast<std::uintptr_t>(base) % 16 != 0 || row % 16 != 0 || row > most[swizzle & 3]) return invalid;
  return std::memcpy(map, &made, sizeof made), 0;
}

EXPORTED nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
EXPORTED nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                            const char* const*) {
  return *program = new Text{source, ""}, 0;
}
EXPORTED nvrtcCompileProgram(void* program, int, const char* const*) {
  auto* const text = static_cast<Text*>(program);
  if (!planted("compile-fails")) return 0;
  text->log = "kernel.cu(7): error: identifier \"nonsense\" is undefined\n";
  return 6;
}
EXPORTED nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  return *size = static_cast<Text*>(program)->log.size() + 1, 0;
}
EXPORTED nvrtcGetProgramLog(void* program, char* log) {
  return std::strcpy(log, static_cast<Text*>(program)->log.c_str()), 0;
}
EXPORTED nvrtcGetCUBINSize(void* program, std::size_t* size) {
  return *size = static_cast<Text*>(program)->source.size() + std::strlen(mark) + 1, 0;
}
EXPORTED nvrtcGetCUBIN(void* program, char* code) {
  std::strcpy(code, mark);
  return std::strcat(code, static_cast<Text*>(program)->source.c_str()), 0;
}
EXPORTED nvrtcDestroyProgram(void** program) { return delete static_cast<Text*>(*program), *program = nullptr, 0; }
