// SPDX-License-Identifier: Apache-2.0
// Requests to shared memory: in how many passes its banks serve what a warp asks for by one instruction. What the
// emulation counts is compared with what the description's own theory says of the same addresses.

#include "tests/cuda/passes.h"

#include "backends/cuda/emulation_semantics.h"
#include "hwdesc/layout/bank_conflict_passes.h"
#include "hwdesc/layout/bank_conflicts.h"
#include "tests/cuda/requests.h"
#include "tests/every.h"

namespace isamap {
namespace {

constexpr int lanes = 32;

Memory shared_memory(const HardwareModel& model) {
  for (const Memory& memory : model.memories())
    if (memory.banks > 0) return memory;
  ADD_FAILURE() << "no memory in banks";
  return {};
}

/// Passes by hwdesc: of lanes `at` which `bytes` are asked for, as many at a time as all banks can serve.
std::pair<long, long> in_theory(const Memory& memory, const std::map<int, std::int64_t>& at, std::int64_t bytes) {
  const std::int64_t together = std::min<std::int64_t>(lanes, memory.banks * memory.bank_width / bytes);
  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  for (const auto& [lane, address] : at)
    for (std::int64_t b = 0; b < bytes; ++b) groups[lane / together].push_back(address + b);
  long passes = 0;
  for (const auto& [group, touched] : groups) passes += conflict_degree(memory, {touched});
  return {passes, static_cast<long>(groups.size())};
}

/// One request of a warp: which lane asks where, as text of C++ and as a function.
struct LaneLoop {
  const char* text;  ///< of `lane`, in elements; negative: this lane does not ask
  long (*index)(long lane);
};
#define LOOP(expression)                                    \
  LaneLoop {                                                \
#expression, [](long lane) { return long(expression); } \
  }

const std::vector<LaneLoop> loops = {
    LOOP(lane),
    LOOP(2 * lane),
    LOOP(3 * lane),
    LOOP(4 * lane),
    LOOP(8 * lane),
    LOOP(32 * lane),
    LOOP(33 * lane),
    LOOP(0 * lane),                               // all the same
    LOOP(lane / 4),                               // four lanes each
    LOOP(lane % 4 * 32),                          // four words of one bank, each for eight lanes
    LOOP(lane % 8 * 16 + lane / 8),               // columns of rows of 16
    LOOP(lane % 8 * 20 + lane / 8),               // the same, rows apart
    LOOP(lane % 8 * 16 + (lane / 8 ^ lane % 4)),  // the same, permuted
    LOOP(lane % 2 == 1 ? 32 * lane : -1L),        // half of them have nothing to do
    LOOP(lane == 7 ? 5L : -1L),
    LOOP(lane < 16 ? 64 * lane : lane),
    LOOP((lane * 37 + 11) % 64),
    LOOP((lane * lane * 5 + 3) % 101),
};
const std::vector<std::pair<const char*, int>> elements = {
    {"std::uint8_t", 1}, {"std::uint16_t", 2}, {"float", 4}, {"double", 8}, {"Sixteen", 16}};

/// A kernel of its own for each case, by what its warp executes.
std::string program_of_cases(const std::vector<std::pair<std::string, std::string>>& cases,
                             const std::string& functions) {
  std::string text =
      "#include \"isamap_emulation.h\"\n"
      "struct Sixteen { double low, high; Sixteen& operator+=(int) { return *this; } };\n"
      "template <class T> void use(const T& value) { volatile char c = reinterpret_cast<const char&>(value); (void)c; "
      "}\n" +
      functions + "extern \"C\" void run() {\n";
  for (const auto& [name, body] : cases)
    text += "  emulation::launch(\"" + name +
            "\", {1, 1, 1}, 32, 32768, {32, 32, 4}, [] {\n    const long lane = threadIdx.x % 32;\n    (void)lane;\n" +
            body + "  });\n";
  return text + "}\n";
}
std::map<std::string, ToldPasses> passes_of_cases(const std::vector<std::pair<std::string, std::string>>& cases,
                                                  const std::string& how = "late", const std::string& functions = "") {
  const TemporaryDirectory folder;
  const auto made = compile(machine("nvidia_sm80"), program_of_cases(cases, functions),
                            "extern \"C\" void run();\nint main() { run(); }\n",
                            {{emulation_header_name, emulation_header()}}, folder.path() / "program", emulation_part());
  EXPECT_TRUE(made) << render(made.diagnostics());
  const auto ran =
      run_process({"env", "ISAMAP_EMULATION=" + how, "ISAMAP_EMULATION_COUNTS=1", (folder.path() / "program").string()},
                  {60, 0, 0}, folder.path() / "log");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  return passes_in(ran.output);
}
std::string array_of(const std::string& type) {
  return "    const emulation::SharedPointer<" + type + "> S(emulation::shared_bytes(), \"S\");\n";
}

void are_those_of_the_theory(Every every) {
  const Memory memory = shared_memory(machine("nvidia_sm80"));
  std::vector<std::pair<std::string, std::string>> cases;
  for (const auto& [type, bytes] : elements)
    for (std::size_t w = 0; w < loops.size(); ++w) {
      if (every.skips()) continue;
      const std::string index = "    const long at = " + std::string(loops[w].text) + ";\n", T = type;
      cases.emplace_back("read_" + std::to_string(bytes) + "_" + std::to_string(w),
                         array_of(T) + index + "    if (at >= 0) use(" + T + "(S[at]));\n");
    }
  const auto found = passes_of_cases(cases);
  for (const auto& [type, bytes] : elements)
    for (std::size_t w = 0; w < loops.size(); ++w) {
      const std::string kernel = "read_" + std::to_string(bytes) + "_" + std::to_string(w);
      if (std::none_of(cases.begin(), cases.end(), [&](const auto& one) { return one.first == kernel; })) continue;
      SCOPED_TRACE(std::string(type) + " at " + loops[w].text);
      std::map<int, std::int64_t> at;
      for (int lane = 0; lane < lanes; ++lane)
        if (const long index = loops[w].index(lane); index >= 0) at[lane] = index * bytes;
      const auto [wanted, least] = in_theory(memory, at, bytes);
      ASSERT_TRUE(found.contains(kernel + " S loads"));
      const ToldPasses told = found.at(kernel + " S loads");
      EXPECT_EQ(told.requests, 1);
      EXPECT_EQ(told.passes, wanted);
      EXPECT_EQ(told.least, least);
      EXPECT_EQ(told.worst, wanted);
      EXPECT_EQ(found.at(kernel).passes, wanted);
    }
}

TEST(Passes, AreThoseOfTheTheory) { are_those_of_the_theory(Every(5)); }  // each loop with one width
TEST(HeavyPasses, AreThoseOfTheTheoryForEveryWidthAndLoop) { are_those_of_the_theory(Every(1)); }

TEST(Passes, StatedOutright) {
  const auto found = passes_of_cases({
      {"ways_8", array_of("float") + "    use(float(S[8 * lane]));\n"},
      {"one_word", array_of("float") + "    use(float(S[77]));\n"},
      {"bytes_of_a_word", array_of("std::uint8_t") + "    use(std::uint8_t(S[lane % 4]));\n"},
      {"halves", array_of("double") + "    use(double(S[lane]));\n"},
      {"half", array_of("double") + "    if (lane < 16) use(double(S[lane]));\n"},
      {"one_of_each_half", array_of("double") + "    if (lane % 16 == 0) use(double(S[lane]));\n"},
      {"quarters", array_of("Sixteen") + "    use(Sixteen(S[lane]));\n"},
      {"quarters_in_a_column", array_of("Sixteen") + "    use(Sixteen(S[lane * 8]));\n"},
      {"nobody", array_of("float") + "    if (lane > 32) use(float(S[lane]));\n"},
  });
  const auto told = [&](const std::string& name) {
    const ToldPasses t = found.at(name + " S loads");
    return std::tuple(t.requests, t.passes, t.least);
  };
  EXPECT_EQ(told("ways_8"), std::tuple(1, 8, 1));
  EXPECT_EQ(told("one_word"), std::tuple(1, 1, 1));
  EXPECT_EQ(told("bytes_of_a_word"), std::tuple(1, 1, 1));
  EXPECT_EQ(told("halves"), std::tuple(1, 2, 2));
  EXPECT_EQ(told("half"), std::tuple(1, 1, 1));
  EXPECT_EQ(told("one_of_each_half"), std::tuple(1, 2, 2));
  EXPECT_EQ(told("quarters"), std::tuple(1, 4, 4));
  EXPECT_EQ(told("quarters_in_a_column"), std::tuple(1, 32, 4));
  EXPECT_FALSE(found.contains("nobody"));
}

// Which lanes belong together is found out: lanes that skip an iteration do not join those of the next, an addition is
// a load and a store, and what is asked twice is two requests.
TEST(Passes, OfWhatBelongsTogether) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"added", array_of("float") + "    S[lane] += 1;\n"},
      {"twice", array_of("float") + "    for (int i = 0; i < 2; ++i) use(float(S[32 * lane]));\n"},
      {"skipped", array_of("float") + "    for (emulation::LoopNumber i = 0; i < 4; ++i)\n"
                                      "      if ((lane + i) % 4 != 0) use(float(S[lane + 32 * i]));\n"},
      {"called",
       array_of("float") +  // lanes skip different elements of a function that is called again
           "    const auto take = [&](long base) {\n"
           "      for (emulation::LoopNumber e = 0; e < 4; ++e)\n"
           "        if (base > 0 || lane % 4 < e) use(float(S[base + e * 32 + (base > 0 ? 31 - lane : lane)]));\n"
           "    };\n    take(0);\n    take(128);\n"},
      {"met", array_of("float") +  // the same by barriers
                  "    for (int i = 0; i < 3; ++i) {\n      if (lane % 3 >= 2 - i) use(float(S[32 * i + lane]));\n"
                  "      __syncthreads();\n    }\n"},
  };
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const auto found = passes_of_cases(cases, how);
    const auto told = [&](const std::string& name) {
      const ToldPasses t = found.at(name);
      return std::tuple(t.requests, t.passes, t.least);
    };
    EXPECT_EQ(told("added"), std::tuple(2, 2, 2));
    EXPECT_EQ(found.at("added S stores").requests, 1);
    EXPECT_EQ(told("twice"), std::tuple(2, 64, 2));
    EXPECT_EQ(told("skipped"), std::tuple(4, 4, 4));
    EXPECT_EQ(told("called"), std::tuple(7, 7, 7));  // nobody asks for the first element of the first call
    EXPECT_EQ(told("met"), std::tuple(3, 3, 3));
  }
}

// The inverse of a matrix load: each lane gives the address of a row that is written.
TEST(Passes, OfMatrixStores) {
  const auto model = machine("nvidia_sm90a");
  const auto id = model.find_instruction("stmatrix_x4");
  ASSERT_TRUE(id);
  const Instruction& store = model.instruction(*id);
  WrapperOperand to, from;
  to.name = "D", to.type = "std::uint32_t", to.shared = to.written = true;
  from.name = "S", from.type = "std::uint32_t", from.registers = 4;
  std::vector<std::int64_t> extents;
  for (const Dim& dim : store.statement().domain.dims) extents.push_back(dim.extent);
  ElementText texts(model, true);
  const auto body = meaning(store, {to, from}, extents, Start::keep, model, texts);
  ASSERT_TRUE(body) << render(body.diagnostics());
  const std::string function =
      "inline void store_rows(std::uint32_t D, const std::uint32_t (&S)[4], emulation::SourcePlace here = "
      "emulation::SourcePlace::current()) {\n" +
      *body + "}\n";
  const auto rows_apart = [](const std::string& step) {
    return array_of("std::uint16_t") +
           "    const std::uint32_t part[4] = {};\n    store_rows(emulation::to_shared(S + " + step +
           " * lane), part);\n";
  };
  const auto found = passes_of_cases(
      {{"dense", rows_apart("8")}, {"rows_of_64", rows_apart("32")}, {"padded", rows_apart("40")}}, "late", function);
  const auto told = [&](const std::string& name) {
    const ToldPasses t = found.at(name + " S stores");
    return std::tuple(t.requests, t.passes, t.least);
  };
  EXPECT_EQ(told("dense"), std::tuple(1, 4, 4));
  EXPECT_EQ(told("rows_of_64"), std::tuple(1, 16, 4));
  EXPECT_EQ(told("padded"), std::tuple(1, 4, 4));
}

// Rows of ever more bytes, as they come: what the matrix loads meet is what `hw check` says of such rows.
void of_matrix_loads_are_what_the_description_says_of_rows(Every every) {
  const auto model = machine("nvidia_sm80");
  const auto found_by_name = [&](const std::string& name) -> const Instruction& {
    for (const Instruction& i : model.instructions())
      if (i.name == name) return i;
    ADD_FAILURE() << name;
    return model.instructions()[0];
  };
  const Instruction &load = found_by_name("ldmatrix_x4"), &mma = found_by_name("mma_bf16");
  const auto table = move_table(model, load, 2);
  ASSERT_TRUE(table);
  const auto rows = row_conflicts(model, load, *table, fillings(model, load, *table, mma, 1)[0], 2);
  ASSERT_EQ(rows.size(), 3u);
  const std::string plain = changed(changed(ring_schedule, " pad 8", ""), " x3", "");
  for (const RowConflicts& row : rows) {
    if (every.skips()) continue;
    const std::string depth = std::to_string(row.row_bytes / 2);
    SCOPED_TRACE(depth);
    const std::string schedule = changed(plain, "for k by 32", "for k by " + depth);
    const Kernel kernel = product("bf16", "f32", 70, 72, 136, true);
    const auto found = passes(lowered(kernel, schedule, model), model);
    ASSERT_TRUE(row.swizzle);
    const auto text = " xor " + std::to_string(row.swizzle->bits) + " from " + std::to_string(row.swizzle->from) +
                      " to " + std::to_string(row.swizzle->to);
    const auto permuted =
        passes(lowered(kernel, changed(changed(schedule, "[i, k]", "[i, k]" + text), "[j, k]", "[j, k]" + text), model),
               model);
    for (const std::string what : {"product_1 A_shared loads", "product_1 B_shared loads"}) {
      SCOPED_TRACE(what);
      ASSERT_TRUE(found.contains(what) && permuted.contains(what));
      EXPECT_EQ(found.at(what).passes, found.at(what).least * row.degree);
      EXPECT_EQ(found.at(what).worst, found.at(what).worst_least * row.degree);
      EXPECT_EQ(permuted.at(what).passes, permuted.at(what).least);
      EXPECT_EQ(permuted.at(what).least, found.at(what).least);
    }
    EXPECT_EQ(found.at("product_1 A_shared copies").passes, found.at("product_1 A_shared copies").least);
  }
}

TEST(Passes, OfMatrixLoadsAreWhatTheDescriptionSaysOfRows) {
  of_matrix_loads_are_what_the_description_says_of_rows(Every(3));
}
TEST(HeavyPasses, OfMatrixLoadsAreWhatTheDescriptionSaysOfRows) {
  of_matrix_loads_are_what_the_description_says_of_rows(Every(1));
}

/// What is known of a program's calls before it runs is what is counted when it does. By "array access", how many times
/// as many passes as necessary.
std::map<std::string, std::int64_t> expect_as_known(const Program& program, const HardwareModel& model) {
  const auto found = passes(program, model);
  std::map<std::string, CallPasses> known;  // the worst of an array's calls
  for (const CallPasses& call : call_passes(program, model)) {
    const std::string what = program.buffers[call.buffer.index()].name + (call.written ? " stores" : " loads");
    const auto [at, fresh] = known.try_emplace(what, call);
    if (!fresh && call.passes - call.least > at->second.passes - at->second.least) at->second = call;
  }
  std::map<std::string, std::int64_t> degrees;
  for (const auto& [what, call] : known) {
    SCOPED_TRACE(what);
    degrees[what] = call.passes / call.least;
    EXPECT_TRUE(found.contains("product_1 " + what));
    if (!found.contains("product_1 " + what)) continue;
    const ToldPasses told = found.at("product_1 " + what);
    EXPECT_EQ(told.worst - told.worst_least, call.passes - call.least);
    EXPECT_EQ(told.passes, told.least * degrees[what]);
  }
  return degrees;
}

void are_known_of_schedules_before_they_run(Every every) {
  const auto model = machine("nvidia_sm80");
  const std::string in_rows = ring_schedule, deep = changed(in_rows, "for k by 32", "for k by 64"),
                    in_columns = changed(changed(in_rows, "[j, k pad 8]", "[k, j pad 8]"), "_x2", "_x2_trans");
  struct Case {
    std::string schedule;
    const char* rows;
    std::int64_t a, b;
  };
  for (const Case& c : {Case{in_rows, "]", 4, 4},
                        {in_rows, " pad 16]", 2, 2},
                        {in_rows, "] xor 1 from 7 to 4", 2, 2},
                        {deep, "] xor 2 from 7 to 4", 2, 2},
                        {in_columns, "]", 4, 8}}) {
    if (every.skips()) continue;
    const std::string schedule = changed(c.schedule, " pad 8]", c.rows);
    SCOPED_TRACE(schedule);
    const Program program = lowered(product("bf16", "f32", 70, 72, 200, c.schedule != in_columns), schedule, model);
    EXPECT_EQ(expect_as_known(program, model),
              (std::map<std::string, std::int64_t>{{"A_shared loads", c.a}, {"B_shared loads", c.b}}));
  }
}

TEST(Passes, AreKnownOfSchedulesBeforeTheyRun) { are_known_of_schedules_before_they_run(Every(4)); }
TEST(HeavyPasses, AreKnownOfSchedulesBeforeTheyRun) { are_known_of_schedules_before_they_run(Every(1)); }

void are_the_fewest_for_what_the_search_makes(Every every) {
  for (const auto& [name, type, sum] :
       {std::tuple("nvidia_sm80", "bf16", "f32"), {"nvidia_sm80", "s8", "s32"}, {"nvidia_sm90a", "tf32", "f32"}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(std::string(name) + " " + type);
    const auto model = machine(name);
    for (const auto& [what, degree] : expect_as_known(searched(product(type, sum, 256, 256, 256, true), model), model))
      EXPECT_EQ(degree, 1) << what;
  }
}

TEST(Passes, AreTheFewestForWhatTheSearchMakes) { are_the_fewest_for_what_the_search_makes(Every(3)); }
TEST(HeavyPasses, AreTheFewestForWhatTheSearchMakes) { are_the_fewest_for_what_the_search_makes(Every(1)); }

// Eight copies of 16 bytes at a time: four of each row of 64 bytes. Where rows lie 80 bytes apart, the end of the
// second row meets the beginning of the first.
TEST(Passes, OfCopiesIntoTiles) {
  const auto model = machine("nvidia_sm80");
  const Memory memory = shared_memory(model);
  const auto found = passes(lowered(product("bf16", "f32", 64, 64, 64, true), ring_schedule, model), model);
  for (const char* rows : {"product_1 A_shared loads", "product_1 B_shared loads"}) {  // what the space is for
    ASSERT_TRUE(found.contains(rows));
    EXPECT_EQ(found.at(rows).passes, found.at(rows).least) << rows;
  }
  const ToldPasses copies = found.at("product_1 A_shared copies");
  std::map<int, std::int64_t> at;
  for (int lane = 0; lane < lanes; ++lane) at[lane] = lane / 4 * 80 + lane % 4 * 16;
  const auto [wanted, least] = in_theory(memory, at, 16);
  EXPECT_EQ(wanted, 8);
  EXPECT_EQ(copies.requests, 64 * 64 * 2 / 16 / lanes);
  EXPECT_EQ(copies.passes, copies.requests * wanted);
  EXPECT_EQ(copies.least, copies.requests * least);
}

TEST(Passes, SayWhereMostIsLost) {
  const auto model = machine("nvidia_sm80");
  const Program program =
      lowered(product("bf16", "f32", 64, 64, 64, true), changed(ring_schedule, "[i, k pad 8]", "[i, k]"), model);
  const auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit);
  const auto found = passes(program, model);
  const ToldPasses worst = found.at("product_1 A_shared loads");
  EXPECT_EQ(worst.worst, 16);
  EXPECT_EQ(worst.worst_least, 4);
  std::istringstream text(unit->text);
  std::string line;
  for (long l = 0; l < worst.line; ++l) std::getline(text, line);
  EXPECT_NE(line.find("ldmatrix_x4(A_reg"), std::string::npos) << line;
  ToldPasses sum;
  for (const auto& [what, told] : found)
    if (what.find(' ') != std::string::npos) {
      sum.requests += told.requests;
      sum.passes += told.passes;
      sum.least += told.least;
    }
  EXPECT_EQ(found.at("product_1"), sum);
}

// Arrays that take turns in the same bytes are told apart, and elements of all lanes are counted.
TEST(Passes, OfWhatFollowsAProduct) {
  const auto model = machine("nvidia_sm80");
  const Kernel kernel = kernel_from(
      "kernel: biased\ntensors:\n  A: {shape: [64, 64], dtype: bf16}\n  B: {shape: [64, 64], dtype: bf16}\n"
      "  b: {shape: [64], dtype: f32}\n  T: {shape: [64, 64], dtype: f32}\n  C: {shape: [64, 64], dtype: f32}\n"
      "compute:\n  - T[i,j] += f32(A[i,k]) * f32(B[j,k])\n  - C[i,j] = T[i,j] + b[j]\n");
  const Program made = searched(kernel, model, 100);
  ASSERT_NE(made.schedule_text.find("then s1"), std::string::npos) << made.schedule_text;
  const auto found = passes(made, model);
  bool stored = false, loaded = false;
  for (const auto& [what, told] : found) {
    EXPECT_EQ(what.find('?'), std::string::npos) << what;
    stored = stored || what.find(" T_shared stores") != std::string::npos;
    loaded = loaded || what.find(" T_shared loads") != std::string::npos;
  }
  EXPECT_TRUE(stored);
  EXPECT_TRUE(loaded);
}

// Boxes of a copy engine and products that read by a descriptor are no requests of lanes.
TEST(Passes, OfNoLaneAreNotCounted) {
  const auto model = machine("nvidia_sm90a");
  const Kernel kernel = product("bf16", "f32", 128, 96, 128, true);
  const auto found = passes(lowered(kernel, wide_schedule, model), model);
  EXPECT_EQ(found.size(), 3u);
  ASSERT_TRUE(found.contains("product_1 A_shared copies"));
  EXPECT_EQ(found.at("product_1 A_shared copies").passes, 128 * 128 * 2 / 128);
  EXPECT_TRUE(
      passes(lowered(kernel, changed(wide_schedule, "cp_async_16_b16", "tma_load_b16_sw128"), model), model).empty());
}

TEST(Passes, WithoutBanksNothingIsSaid) {
  const auto model = machine("nvidia_sm80");
  const Program program = lowered(product("bf16", "f32", 64, 64, 64, true), ring_schedule, model);
  auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit);
  setenv("ISAMAP_EMULATION_COUNTS", "1", 1);
  const Emulated found = emulate(changed(unit->text, "{32, 32, 4}", "{32, 0, 0}"), *unit, program, model);
  unsetenv("ISAMAP_EMULATION_COUNTS");
  EXPECT_TRUE(found.right) << found.output;
  EXPECT_TRUE(passes_in(found.output).empty()) << found.output;
  EXPECT_NE(found.output.find("requests of product_1"), std::string::npos) << found.output;
}

TEST(Passes, TheProgramTellsThem) {
  const TemporaryDirectory folder;
  const std::string kernel =
                        "kernel: product\ndims: {M: 64, N: 64, K: 64}\ntensors:\n  A: {shape: [M, K], dtype: bf16}\n"
                        "  B: {shape: [N, K], dtype: bf16}\n  C: {shape: [M, N], dtype: f32}\n"
                        "compute:\n  - C[i,j] += f32(A[i,k]) * f32(B[j,k])\n",
                    schedule = changed(ring_schedule, " pad 8", "");
  const std::string kernel_file = (folder.path() / "k.yaml").string(),
                    schedule_file = (folder.path() / "s.yaml").string();
  write_file(kernel_file, kernel.data(), kernel.size());
  write_file(schedule_file, schedule.data(), schedule.size());
  const auto said = [&](const std::string& format) {
    const auto ran = run_process({"env", "ISAMAP_EMULATION=late", "ISAMAP_EMULATION_COUNTS=1", ISAMAP_PROGRAM, "run",
                                  kernel_file, "--target", "nvidia_sm80", "--schedule", schedule_file, format},
                                 {120, 0, 0}, folder.path() / "log");
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
    return ran.output;
  };
  const std::string json = said("--json"), text = said("--seed=1");
  EXPECT_NE(json.find("\"bank_requests\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"least_passes\": 384"), std::string::npos) << json;
  EXPECT_NE(json.find("\"bank_totals\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"bank_conflicts\""), std::string::npos) << json;
  EXPECT_NE(text.find("\nldmatrix_x4 loads from A_shared in 16 passes of the banks of shared, where 4 would do\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("product_1: A_shared: 32 loads in 512 passes of 32 banks, 16.00 each, at least 128 (4.00 times "
                      "as many); worst 16 where 4 would do: line "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("product_1: 128 requests in 1152 passes of 32 banks, at least 384 (3.00 times as many)"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace isamap
