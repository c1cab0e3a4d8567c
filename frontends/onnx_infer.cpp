// SPDX-License-Identifier: Apache-2.0
// Shape inference by the ONNX library, in a child process.
//
// The library's inference trusts its input: a damaged model makes version 1.12 read beyond its buffers (one mutated
// model in two hundred crashes). So a child with limits on time and memory infers and sends the model back; a crash
// loses only the shapes.

#ifdef ISAMAP_WITH_ONNX

#include <fcntl.h>
#include <onnx/shape_inference/implementation.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "frontends/onnx_graph_internal.h"

namespace isamap {

namespace {

constexpr rlim_t max_seconds = 20;
constexpr rlim_t max_memory = rlim_t{4} << 30;
constexpr std::size_t max_answer = std::size_t{512} << 20;

bool is_instrumented() {
#if defined(__SANITIZE_ADDRESS__)
  return true;  // reserves more address space than any limit
#else
  return false;
#endif
}

void limit(int resource, rlim_t most) {
  const rlimit value{most, most};
  setrlimit(static_cast<decltype(RLIMIT_CPU)>(resource), &value);
}

bool write_all(int file, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

std::string read_all(int file) {
  std::string bytes;
  char part[1 << 16];
  while (bytes.size() <= max_answer) {
    const ssize_t found = ::read(file, part, sizeof part);
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) break;
    bytes.append(part, static_cast<std::size_t>(found));
  }
  return bytes;
}

/// The child's work; it does not return.
[[noreturn]] void infer_and_send(onnx::ModelProto& model, bool propagate_data, int to_parent) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, max_seconds);
  if (!is_instrumented()) limit(RLIMIT_AS, max_memory);
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  try {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(false, 0, propagate_data));
    _exit(write_all(to_parent, model.SerializeAsString()) ? 0 : 1);
  } catch (...) {
    _exit(2);
  }
}

bool attempt(onnx::ModelProto& model, bool propagate_data) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    infer_and_send(model, propagate_data, ends[1]);
  }
  close(ends[1]);
  const std::string bytes = child > 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  onnx::ModelProto inferred;
  if (child < 0 || status != 0 || !inferred.ParseFromString(bytes)) return false;
  model.Swap(&inferred);
  return true;
}

}  // namespace

bool infer_shapes(onnx::ModelProto& model) {
  // Data propagation through shape computations finds more shapes, and fails more often.
  return attempt(model, true) || attempt(model, false);
}

}  // namespace isamap

#endif
