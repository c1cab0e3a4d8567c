/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that runs an emitted model: it opens the weights once, then runs as often as it likes.

     isamap emit ../mobilenet_v1.onnx --target x86_avx512 --constant weights -o model
     g++ -std=c++17 -O3 -mavx512f -mfma -c model/mobilenet_v1.cpp -o model.o    (flags: first lines of the file)
     cc -Imodel classify.c model.o -lstdc++ -lm -o classify && ./classify model/mobilenet_v1.weights */
#include <stdio.h>
#include <stdlib.h>

#include "mobilenet_v1.h"

static int compare(mobilenet_v1* model, const float* picture, float* scores, float* again) {
  const void* inputs[] = {picture};
  void* outputs[] = {scores};
  int code = mobilenet_v1_run(model, NULL, inputs, outputs, NULL);
  if (code != mobilenet_v1_ok) return code;

  /* Calls that run at the same time bring arenas of their own. */
  const size_t bytes = mobilenet_v1_arena_bytes(model, NULL);
  void* arena = aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
  if (arena == NULL) return mobilenet_v1_no_memory;
  outputs[0] = again;
  code = mobilenet_v1_run(model, NULL, inputs, outputs, arena);
  free(arena);
  return code;
}

int main(int argc, char** argv) {
  mobilenet_v1* model = NULL;
  const int opened = mobilenet_v1_open(&model, argc > 1 ? argv[1] : "mobilenet_v1.weights");
  if (opened != mobilenet_v1_ok) {
    fprintf(stderr, "the weights cannot be opened: error %d\n", opened);
    return 1;
  }
  const size_t pixels = mobilenet_v1_INPUT_0_BYTES / sizeof(float);
  const size_t classes = mobilenet_v1_OUTPUT_0_BYTES / sizeof(float);
  float* picture = malloc(pixels * sizeof(float));
  float* scores = malloc(classes * sizeof(float));
  float* again = malloc(classes * sizeof(float));
  int code = picture == NULL || scores == NULL || again == NULL ? mobilenet_v1_no_memory : mobilenet_v1_ok;
  for (size_t i = 0; code == 0 && i < pixels; ++i) picture[i] = (float)(i % 17) / 17 - 0.5f;
  if (code == 0) code = compare(model, picture, scores, again);
  size_t best = 0;
  for (size_t i = 0; code == 0 && i < classes; ++i) {
    if (scores[i] != again[i]) code = 100;
    if (scores[i] > scores[best]) best = i;
  }
  if (code == 0) printf("class %zu of %zu: %.6g\n", best, classes, scores[best]);
  free(picture);
  free(scores);
  free(again);
  mobilenet_v1_close(model);
  return code;
}
