// SPDX-License-Identifier: Apache-2.0
// The two tables of languages: facts (hwdesc/model/program_language.h) and backends (backends/registry.cpp).
#include "backends/language_backend.h"
#include "hwdesc/model/program_language.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

TEST(Registry, EveryLanguageHasABackend) {
  HardwareModel model = machine("npu16");
  for (const ProgramLanguage& language : program_languages) {
    model.program.language = language.name;
    EXPECT_EQ(backend_of(model).name, language.name);
    EXPECT_EQ(is_host_code(model) + has_thread_blocks(model) + is_command_stream(model), 1) << language.name;
  }
  EXPECT_EQ(find_language(default_language)->form, ProgramForm::command_stream);
  EXPECT_EQ(find_language("fortran"), nullptr);
}

}  // namespace
}  // namespace isamap
