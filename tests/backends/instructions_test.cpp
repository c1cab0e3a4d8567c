// SPDX-License-Identifier: Apache-2.0
// Every instruction of every C++ model in hardware_models, printed once with dummy operands and compiled.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/translation_unit.h"
#include "ir/operand_use.h"
#include "tests/backends/support.h"
#include "tests/every.h"

namespace isamap {
namespace {

DType some_type(const HardwareModel& model, const Instruction& instruction, int access) {
  for (int a = access; a <= access_count(instruction.statement()); ++a)
    if (a < access_count(instruction.statement()) && operand_of(instruction, a).dtype)
      return *operand_of(instruction, a).dtype;
  const auto& types = model.program.types;
  return types.empty() ? DType::f32 : parse_dtype(types.begin()->first).value_or(DType::f32);
}

/// A local buffer of its own for an operand, indexed by the instruction's subscripts.
Ref dummy(Program& program, const HardwareModel& model, const Instruction& instruction, int access,
          const std::string& name) {
  const Operand& operand = operand_of(instruction, access);
  if (!operand.memory.valid()) return {{}, {AffineExpr(operand.immediate.empty() ? 0 : operand.immediate[0])}};
  Buffer buffer;
  buffer.name = name;
  buffer.memory = operand.memory;
  buffer.dtype = operand.dtype.value_or(some_type(model, instruction, 0));
  buffer.extents = operand_box(instruction, access);
  buffer.strides.assign(buffer.extents.size(), 1);
  for (std::size_t a = buffer.extents.size(); a-- > 1;) buffer.strides[a - 1] = buffer.strides[a] * buffer.extents[a];
  if (model.memory(operand.memory).is_register()) buffer.slots = 0, buffer.strides.clear();
  buffer.registers_per_slot = operand.group;
  buffer.address = access;  // another register for each operand
  std::map<std::string, AffineExpr> points;
  for (const Dim& dim : instruction.statement().domain.dims)
    points.emplace(dim.name, AffineExpr::dim(point_name(dim.name)));
  Ref ref{make_id<BufferId>(program.buffers.size()), {}};
  for (const AffineExpr& e : access_of(instruction.statement(), access).index)
    ref.index.push_back(substitute(e, points));
  program.buffers.push_back(buffer);
  return ref;
}

Node use(Program& program, const HardwareModel& model, std::size_t number) {
  const Instruction& instruction = model.instructions()[number];
  Call call;
  call.instruction = make_id<InstructionId>(number);
  for (const DimRange& range : instruction.ranges) call.extents.push_back(range.max);
  for (int a = 0; a < access_count(instruction.statement()); ++a)
    call.operands.push_back(
        dummy(program, model, instruction, a, "x" + std::to_string(number) + "_" + std::to_string(a)));
  for (const auto& [dim, memory] : instruction.masks) {
    Buffer mask;
    mask.name = "m" + std::to_string(number) + dim;
    mask.memory = memory;
    mask.dtype = DType::b1;
    mask.slots = 0;
    mask.extents = {call.extents[static_cast<std::size_t>(instruction.statement().domain.find(dim))]};
    call.masks.push_back({make_id<BufferId>(program.buffers.size()), {AffineExpr::dim(point_name(dim))}});
    program.buffers.push_back(mask);
  }
  return {call};
}

Program all_instructions(const HardwareModel& model) {
  Program program;
  program.name = "every_instruction";
  program.kernel.name = program.name;
  for (std::size_t i = 0; i < model.instructions().size(); ++i)
    if (!is_setter(model.instructions()[i])) program.body.push_back(use(program, model, i));
  return program;
}

void every_one_of_every_cpp_model_compiles(Every every) {
  int models = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(ISAMAP_SOURCE_DIR) + "/hardware_models")) {
    if (file.path().extension() != ".yaml") continue;
    const auto model = machine(file.path().stem().string());
    if (model.program.language != "c++") continue;
    if (compiler_for(model).command.empty()) continue;  // Emulated.CompilersForOtherMachinesAreHere tells
    ++models;
    if (every.skips()) continue;
    const auto unit = print_cpp(all_instructions(model), model);
    ASSERT_TRUE(unit) << model.name << "\n" << render(unit.diagnostics());
    const TemporaryDirectory folder;
    ASSERT_TRUE(write_file(folder.path() / "kernel.cpp", unit->text.data(), unit->text.size()));
    auto command =
        compile_command(model, {(folder.path() / "kernel.cpp").string()}, (folder.path() / "kernel.o").string());
    command.insert(command.end(),
                   {"-c", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-warning-option", "-Wno-uninitialized",
                    "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-maybe-uninitialized"});
    const auto result = run_process(command, {100, 0, 0}, folder.path() / "log");
    if (!result.started) GTEST_SKIP() << command[0] << " is missing (Debian: apt-get install g++)";
    EXPECT_EQ(result.exit_code, 0) << model.name << "\n" << result.output << unit->text;
  }
  EXPECT_GE(models, 4);
}

TEST(Instructions, EveryOneOfEveryCppModelCompiles) { every_one_of_every_cpp_model_compiles(Every(5)); }
TEST(HeavyInstructions, EveryOneOfEveryCppModelCompiles) { every_one_of_every_cpp_model_compiles(Every(1)); }

}  // namespace
}  // namespace isamap
