// SPDX-License-Identifier: Apache-2.0
// The only list of the keys of the hardware language. A new key is a row here, a field of the model and the line of
// hwdesc/load that reads it; schema.json and the tables of README.md follow (ISAMAP_UPDATE_GOLDEN=1,
// docs/contributing.md).
//
// A section is a map of the language. Sections stand in the order of the page, a section inside another one behind it.
// `meaning` is a cell of a Markdown table and the text that editors show.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hwdesc/keys/key.h"
#include "isamap/result.h"
#include "isamap/timing.h"

namespace isamap::keys {
namespace {

constexpr Need required = Need::required, complete = Need::complete;

// Limits with a margin: products of a few of them stay within 64 bits, sums of costs within a double.
constexpr double count_most = 1 << 20, instances_most = 0x1p40, size_most = 0x1p60, part_most = 0x1p40;
constexpr double rate_least = 1e-6, rate_most = 1e12, time_most = 1e12, energy_most = 1e15;

constexpr Range rates{rate_least, rate_most, "", "leave it out for no limit"};
constexpr Range energies{0, energy_most, "costs nothing", ""};
constexpr Range delays{0, time_most, "at once", ""};

// --- the file ---

constexpr Key file_keys[] = {
    {.name = "hardware", .type = "name", .need = required, .example = "v8", .meaning = "the target's name"},
    {.name = "extends",
     .type = "texts",
     .example = "base.yaml",
     .meaning = "base files, in the same folder or in the folder of models; plain file names only"},
    {.name = "without",
     .type = "list of text",
     .example = "[prefetch, store_f16]",
     .meaning =
         "entries of the base files to drop: units, memories, links, instructions, ... by name. Of an entry with "
         "`variants` the name as written (`store_${t}`) drops all of its rows, the name of one instruction "
         "(`store_f16`) that row"},
    {.name = "params",
     .type = "map of (text | nothing) | nothing",
     .example = "{dim: 16}",
     .meaning = "numbers and texts for `${...}`; `--set dim=8` overrides"},
    {.name = "tables",
     .type = "map of list of row",
     .example = "{types: [{t: f32}, {t: f64}]}",
     .meaning = "lists of rows shared by the `variants` of several instructions"},
    {.name = "symbols",
     .type = "map of symbol",
     .example = "{VB: {min: 16, max: 256}}",
     .meaning = "sizes known at run or compile time only"},
    {.name = "clock",
     .type = "frequency",
     .fallback = "`1GHz`",
     .range = {1, 1e15, "", "write 1GHz"},
     .example = "2.9GHz",
     .meaning = "converts `GB/s` and `ns` to bytes and cycles"},
    {.name = "requires",
     .type = "features",
     .example = "{machine: [v8], cpu: [wide]}",
     .meaning = "the machine that the programs need. Decides availability only"},
    {.name = "verified",
     .type = "list of evidence | nothing",
     .example = "[{against: emulator 7.2, what: every instruction, how: isamap hw verify v8}]",
     .meaning = "what the description was compared with; not inherited"},
    {.name = "program", .type = "program", .meaning = "how a whole program is printed, compiled and run (section 5)"},
    {.name = "units",
     .type = "list of unit",
     .need = complete,
     .example = "[{name: host}]",
     .meaning = "what executes instructions (section 4)"},
    {.name = "memories",
     .type = "list of memory",
     .need = complete,
     .example = "[{name: ram, per: UNIT, kind: dram, capacity: 1GiB}]",
     .meaning = "where data lives; one is of `kind: dram` (section 4)"},
    {.name = "links", .type = "list of link", .meaning = "how data moves (section 4)"},
    {.name = "instructions",
     .type = "list of instruction",
     .meaning = "moves, fills, setters and computations alike (section 6)"},
    {.name = "states",
     .type = "list of state",
     .meaning = "named fields that setters set and instructions need (section 9)"},
    {.name = "formats",
     .type = "map of format",
     .meaning = "named bit fields, used by `encoding` and `pack` (section 9)"},
    {.name = "layouts",
     .type = "map of layout",
     .example = "{c32: {i: 16, j: 1}}",
     .meaning = "named layouts (section 7)"},
    {.name = "barriers", .type = "list of barrier", .meaning = "where all instances of a unit wait (section 9)"},
    {.name = "async",
     .type = "list of completion",
     .meaning = "completion objects of asynchronous instructions (section 9)"},
    {.name = "timing",
     .type = "machine timing",
     .example = "{usable: 0.6}",
     .meaning = "numbers of the cost model that differ from hwdesc/defaults/timing.yaml (docs/cost.md)"},
    {.name = "objects", .type = "list of object", .meaning = "what the host builds and passes to programs (section 9)"},
};

constexpr Key features_keys[] = {
    {.name = "machine",
     .type = "texts",
     .fallback = "any",
     .example = "[v8]",
     .meaning = "the machine of the programs, as `uname -m` prints it"},
    {.name = "cpu", .type = "texts", .example = "[wide, dot]", .meaning = "features the processor must report"},
    {.name = "arch",
     .type = "texts",
     .example = "g80",
     .meaning = "architecture of a GPU; the newest one counts where files extend others"},
};

constexpr Key evidence_keys[] = {
    {.name = "against",
     .type = "line",
     .need = required,
     .example = "\"emulator 7.2 (-cpu max)\"",
     .meaning = "the machine, emulator or simulator, with its version"},
    {.name = "what",
     .type = "line",
     .need = required,
     .example = "\"every instruction by itself, bit for bit\"",
     .meaning = "the scope: instructions, kernels, times"},
    {.name = "how",
     .type = "line",
     .need = required,
     .example = "\"isamap hw verify v8\"",
     .meaning = "a command or test that repeats it"},
};

constexpr Key symbol_keys[] = {
    {.name = "min",
     .type = "number",
     .fallback = "1",
     .range = {0, 0x1p32, "the size may be 0", ""},
     .example = "16",
     .meaning = "the smallest value it may have"},
    {.name = "max",
     .type = "number",
     .need = complete,
     .range = {1, 0x1p32, "", "write the largest size"},
     .example = "256",
     .meaning = "the largest value it may have"},
    {.name = "multiple_of",
     .type = "number",
     .fallback = "1",
     .range = {1, 0x1p32, "", "leave it out for 1"},
     .example = "16",
     .meaning = "every value is a multiple of it"},
    {.name = "power_of_two",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "every value is a power of two"},
    {.name = "likely",
     .type = "number",
     .fallback = "the largest of `versions`, else `max`",
     .range = {1, 0x1p32, "", "leave it out"},
     .example = "32",
     .meaning = "the value of the loaded machine. `--set VB=64` overrides it"},
    {.name = "versions",
     .type = "list of integer",
     .fallback = "all values if they are at most 16, else the likely one",
     .example = "[16, 32, 64]",
     .meaning =
         "sizes with specialized versions in emitted programs (multi-versioning). The combinations of all symbols "
         "are at most 16"},
    {.name = "known",
     .type = "when known",
     .fallback = "`run`",
     .example = "compile",
     .meaning = "known at run time or at compile time"},
    {.name = "emit",
     .type = "text",
     .example = "\"v8_bytes()\"",
     .meaning = "the expression that yields it in a program. Required for `run` in C++ and CUDA; for `compile` it is "
                "checked by a `static_assert`"},
};

// --- the program ---

constexpr Key program_keys[] = {
    {.name = "language",
     .type = "language",
     .fallback = "`asm`",
     .meaning = "`asm` is a straight-line command stream "
                "with numeric addresses, for accelerators"},
    {.name = "include", .type = "texts", .example = "[v8.h]", .meaning = "headers"},
    {.name = "types",
     .type = "map of text",
     .example = "{f32: float, s8: int8_t}",
     .meaning = "element types of tensors by dtype; every dtype that an operand in memory has needs one"},
    {.name = "flags",
     .type = "flags",
     .example = "{any: [-mv8]}",
     .meaning = "compiler flags by compiler. They may contain expressions of symbols: `v{VB*8}=on`"},
    {.name = "compiler",
     .type = "texts",
     .fallback = "`$CXX`, else `g++`",
     .example = "[v8-g++, g++]",
     .meaning = "commands to try, in this order"},
    {.name = "packages",
     .type = "texts",
     .example = "[g++-v8, v8-emulator]",
     .meaning = "Debian packages of compilers and emulator; named where one is missing"},
    {.name = "helpers",
     .type = "text | list of (text | helper)",
     .appended = true,
     .meaning = "printed once before the code, without unused functions; those of base files first"},
    {.name = "launch_helpers",
     .type = "texts",
     .appended = true,
     .meaning = "printed before the host functions that launch kernels: functions called by `build` of an object"},
    {.name = "function", .type = "text", .example = "\"launch_limit({threads})\"", .meaning = "attribute of the entry"},
    {.name = "begin", .type = "text", .example = "open", .meaning = "the first lines of an assembly program"},
    {.name = "end", .type = "text", .example = "fence", .meaning = "its last lines"},
    {.name = "comment", .type = "text", .fallback = "`#`", .example = "\"//\"", .meaning = "its comment sign"},
    {.name = "window",
     .type = "number",
     .fallback = "32",
     .range = {1, 4096, "", "write 1 for the order of the program"},
     .example = "8",
     .meaning = "for `asm`: window of the list scheduler, in commands (docs/cost.md, *Command streams*); 1: program "
                "order, as with `--no-reorder`. Not under `order: tokens`, whose queues are independent"},
    {.name = "run",
     .type = "run",
     .example = "{emulated: \"v8-emulator {exe}\"}",
     .meaning = "commands that execute programs where this machine cannot"},
    {.name = "shim",
     .type = "shim",
     .example = "{include: v8_shim.h, cpu: [wide]}",
     .meaning = "plain C++ for the names used by `emit`; see below"},
    {.name = "inline", .type = "boolean", .reserved = true, .meaning = "print `asm` lines though `value` is given"},
};

constexpr Key flags_keys[] = {
    {.name = "any", .type = "texts", .example = "[-mv8]", .meaning = "for every compiler"},
    {.name = "gcc", .type = "texts", .meaning = "for GCC"},
    {.name = "clang", .type = "texts", .meaning = "for commands that contain that word"},
    {.name = "nvcc", .type = "texts", .meaning = "for the CUDA compiler"},
    {.name = "nvrtc",
     .type = "texts",
     .meaning = "for the GPU's runtime compiler; without them programs do not run on a GPU"},
    {.name = "emulated",
     .type = "texts",
     .meaning = "added under an emulator, to switch off features that it does not implement correctly"},
};

constexpr Key helper_keys[] = {
    {.name = "name",
     .type = "text",
     .need = required,
     .example = "widen",
     .meaning = "the text is printed only if the code, or a later printed helper, mentions this name"},
    {.name = "text", .type = "text", .need = required, .meaning = "what is printed"},
};

constexpr Key run_keys[] = {
    {.name = "emulated",
     .type = "text",
     .example = "\"v8-emulator {exe}\"",
     .meaning = "runs a program under an emulator; programs are then linked statically. It may contain expressions of "
                "symbols"},
    {.name = "simulator",
     .type = "text",
     .example = "\"./mysim {program} {folder}\"",
     .meaning = "for `asm`: an external simulator executes the commands instead of the built-in one; see below. The "
                "command, or, beside `command`, its name"},
    {.name = "command",
     .type = "text",
     .example = "\"./mysim {program} {folder}\"",
     .meaning = "executes `{program}`; `{folder}` holds its files"},
    {.name = "seconds",
     .type = "number",
     .fallback = "60",
     .range = {1, 604800, "", "leave it out for 60"},
     .example = "600",
     .meaning = "time limit of one run of the simulator"},
};

constexpr Key shim_keys[] = {
    {.name = "include",
     .type = "text",
     .need = required,
     .example = "v8_shim.h",
     .meaning = "a header in the same folder that implements the names used by `emit` in plain C++"},
    {.name = "cpu",
     .type = "texts",
     .fallback = "all required ones",
     .example = "[wide, dot]",
     .meaning = "processor features that it stands for"},
    {.name = "flags", .type = "flags", .example = "{any: [-mno-dot]}", .meaning = "follow the `flags` of the program"},
};

// --- the machine ---

constexpr Key unit_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "core", .meaning = "its name"},
    {.name = "count",
     .type = "number | at most | mesh",
     .fallback = "1",
     .range = {1, instances_most, "", "a unit that is not there is left out"},
     .example = "4",
     .meaning = "instances inside one parent; `{max: 32}`: so many at most; `{x: 16, y: 16}`: a mesh with named axes, "
                "used as `mac.x`"},
    {.name = "inside", .type = "unit name", .fallback = "the unit before", .example = "host", .meaning = "its parent"},
    {.name = "index",
     .type = "text",
     .example = "lane_id()",
     .meaning =
         "expression of the instance's index: instances run in parallel. The outermost unit with one is the "
         "thread block of a CUDA program, those inside it are its threads (docs/gpu.md). Without it instances are "
         "executed sequentially"},
    {.name = "queued",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "more instances than `count` may be used; they execute in waves"},
    {.name = "scalar",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "executes any statement element by element in the program's language: packing, edges, what no "
                "instruction does"},
    {.name = "threads",
     .type = "threads",
     .example = "{loop: \"#pragma omp parallel for\", flags: [-fopenmp]}",
     .meaning = "parallel loops in C++ programs; without it they are sequential. Instances that share a memory get "
                "private tiles there. Not together with `states`"},
    {.name = "ports",
     .type = "map of number",
     .range = {1, count_most, "", "leave the port out"},
     .example = "{fma: 2, load: 2}",
     .meaning = "issue ports used by `timing.port`, and their number"},
    {.name = "loop_end",
     .type = "time",
     .fallback = "0",
     .range = {0, time_most, "nothing is lost", ""},
     .example = "20cycles",
     .meaning = "branch misprediction penalty at the end of a loop of eight steps or more"},
    {.name = "order",
     .type = "order",
     .fallback = "`program`",
     .example = "tokens",
     .meaning = "in-order semantics; or decoupled queues, one per port, ordered by tokens only (section 9)"},
};

constexpr Key at_most_keys[] = {
    {.name = "max",
     .type = "number",
     .need = required,
     .range = {1, instances_most, "", "a unit that is not there is left out"},
     .example = "32",
     .meaning = "so many instances at most"},
};

constexpr Key mesh_keys[] = {
    {.name = "*",
     .type = "number",
     .range = {1, count_most, "", "leave the axis out"},
     .example = "16",
     .meaning = "extent of the axis of this name"},
};

constexpr Key threads_keys[] = {
    {.name = "loop",
     .type = "text",
     .need = required,
     .example = "\"#pragma omp parallel for schedule(static)\"",
     .meaning = "the pragma before a loop over instances"},
    {.name = "flags", .type = "texts", .example = "[-fopenmp]", .meaning = "compiler flags that it needs"},
    {.name = "param",
     .type = "text",
     .example = "cores",
     .meaning = "the parameter of this file that is the number of threads: `--threads N` of a model sets it"},
    {.name = "most",
     .type = "number",
     .range = {1, instances_most, "", "leave the key out"},
     .example = "32",
     .meaning = "so many threads at most"},
    {.name = "start",
     .type = "time",
     .fallback = "0",
     .range = {0, time_most, "nothing is lost", ""},
     .example = "3000cycles",
     .meaning = "to begin a parallel loop and to join its threads: shorter loops run faster on one"},
    {.name = "wait",
     .type = "text",
     .example = "\"cpu_relax();\"",
     .meaning = "statement in a loop that waits for another thread"},
};

constexpr Key memory_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "vec", .meaning = "its name"},
    {.name = "per",
     .type = "unit name",
     .need = complete,
     .example = "core",
     .meaning = "the unit that owns an instance"},
    {.name = "kind",
     .type = "memory kind",
     .need = complete,
     .meaning = "`dram`: tensors live here (one is required) · `scratchpad`, `accumulator`: addressed, managed by the "
                "program · `cache`: never addressed; a move into one is a prefetch · `register`"},
    {.name = "capacity",
     .type = "size",
     .range = {1, size_most, "", "leave the memory out"},
     .example = "64KiB",
     .meaning = "bytes of one instance; required, and not for registers"},
    {.name = "count",
     .type = "number",
     .range = {1, count_most, "", "leave the register file out"},
     .example = "32",
     .meaning = "of registers, and required there: how many"},
    {.name = "size",
     .type = "size",
     .range = {1, part_most, "", "write the bytes of one register, as 32B"},
     .example = "64B",
     .meaning = "of registers, and required there: the size of each"},
    {.name = "granularity",
     .type = "size",
     .fallback = "`1B`",
     .range = {1, part_most, "", "leave it out for 1B"},
     .example = "16B",
     .meaning = "bytes per unit of a printed address, which is `base + offset/granularity`"},
    {.name = "base",
     .type = "number",
     .fallback = "0",
     .range = {0, 0x1p62, "addresses start at 0", ""},
     .example = "0x80000000",
     .meaning = "the first address. In a `dram` memory tensors start there: state a base where address 0 has a special "
                "meaning (no tensor, zeros)"},
    {.name = "banks",
     .type = "number",
     .range = {1, count_most, "", "leave it out: no conflicts are counted"},
     .example = "32",
     .meaning = "for bank conflicts; without it none are counted"},
    {.name = "bank_width",
     .type = "size",
     .range = {1, part_most, "", "leave it out: no conflicts are counted"},
     .example = "4B",
     .meaning = "bytes of a bank that one access touches"},
    {.name = "line",
     .type = "size",
     .range = {1, part_most, "", "leave it out"},
     .example = "64B",
     .meaning = "bytes that move together, for traffic"},
    {.name = "transaction",
     .type = "size",
     .range = {1, 0x1p30, "", "leave it out: nothing is counted"},
     .example = "32B",
     .meaning = "transaction size (sector): aligned pieces that the memory transfers whole, a power of two from 1B to "
                "1GiB; not of caches and registers. A request of several instances costs the transactions that its "
                "addresses touch (coalescing). The emulation counts them (docs/gpu.md); without it nothing is counted"},
    {.name = "misses",
     .type = "number",
     .range = {1, count_most, "", "leave it out: not known"},
     .example = "16",
     .meaning = "of a cache: outstanding misses (fill buffers). Tiles that store more lines at once stall"},
    {.name = "ways",
     .type = "number",
     .fallback = "8",
     .range = {1, count_most, "", "leave it out for 8"},
     .example = "12",
     .meaning = "of a cache: associativity. Rows of a tile at a power-of-two stride share few sets"},
    {.name = "streams",
     .type = "number",
     .fallback = "32",
     .range = {1, count_most, "", "leave it out for 32"},
     .example = "8",
     .meaning = "of a cache: concurrent streams of its hardware prefetcher. With more rows, every segment is a stream "
                "start"},
    {.name = "pages",
     .type = "number",
     .fallback = "64",
     .range = {1, count_most, "", "leave it out for 64"},
     .example = "4096",
     .meaning = "of a cache: TLB entries, pages of 4 KiB without a miss penalty"},
    {.name = "fetch",
     .type = "size",
     .fallback = "a line",
     .range = {1, part_most, "", "leave it out for a line"},
     .example = "128B",
     .meaning =
         "of a cache: bytes fetched together, a line and adjacent lines. Short segments of rows fetch unused bytes"},
    {.name = "usable",
     .type = "size",
     .fallback = "3/4 of the capacity",
     .range = {1, size_most, "", "leave it out for 3/4 of the capacity"},
     .example = "640KiB",
     .meaning = "of a cache: effective capacity for a working set besides streaming data"},
    {.name = "value",
     .type = "text | map of text",
     .example = "{f32: v8_float, any: v8_bits}",
     .meaning = "registers: type by dtype; allocated by the target's compiler. An operand with `group: 4` is one "
                "variable, not an array of four: `{group}` in the type prints its group, so `vec{group}_t` is `vec4_t` "
                "there and `vec1_t` for operands without a group"},
    {.name = "print", .type = "text", .example = "\"v{index}\"", .meaning = "name of a register allocated by isamap"},
    {.name = "constraint",
     .type = "text | map of text",
     .example = "{f32: f, any: r}",
     .meaning = "inline-assembly constraint, also by dtype"},
    {.name = "pool",
     .type = "register pool",
     .example = "{unit: block, total: 65536, kept: 44}",
     .meaning = "registers that the instances inside one unit have together"},
    {.name = "pointer",
     .type = "pointer",
     .fallback = "a typed pointer",
     .example = "{type: uint32_t, constraint: r}",
     .meaning = "how addresses are passed"},
    {.name = "views",
     .type = "map of view",
     .example = "{engine: {fence: {asm: fence}}}",
     .meaning = "other access paths (proxies) to the same bytes, used by an operand's `view`"},
    {.name = "fields",
     .type = "map of field",
     .example = "{rows: {max: 16}, bytes: {max: 64}}",
     .meaning =
         "state of every register of this file, used as `C.rows`; written like the fields of a state (section 9)"},
    {.name = "bandwidth",
     .type = "bandwidth",
     .fallback = "unlimited",
     .example = "{read: 64B/cycle, write: 32B/cycle}",
     .meaning =
         "of an instance, in addition to the limits of links; in a command stream no command is faster, and moves "
         "wait for each other. `words/cycle` counts in `word`s"},
    {.name = "word",
     .type = "size",
     .fallback = "`1B`",
     .range = {1, part_most, "", "leave it out for 1B"},
     .example = "2B",
     .meaning = "the unit of access counts"},
    {.name = "energy", .type = "access energy", .example = "{read: 6pJ, write: 6pJ}", .meaning = "energy per word"},
    {.name = "first", .type = "integer", .reserved = true, .meaning = "the lowest usable number of a register"},
};

constexpr Key register_pool_keys[] = {
    {.name = "unit",
     .type = "unit name",
     .need = required,
     .example = "block",
     .meaning = "whose instances share them"},
    {.name = "total",
     .type = "number",
     .need = required,
     .range = {1, instances_most, "", "leave 'pool' out: each instance has its own"},
     .example = "65536",
     .meaning = "registers of all instances inside one such unit"},
    {.name = "kept",
     .type = "number",
     .fallback = "0",
     .range = {0, instances_most, "the compiler keeps none", ""},
     .example = "44",
     .meaning = "reserved per instance by the compiler for addresses"},
};

constexpr Key pointer_keys[] = {
    {.name = "type", .type = "text", .example = "uint32_t", .meaning = "type of an address"},
    {.name = "constraint",
     .type = "text",
     .example = "r",
     .meaning = "inline-assembly constraint; `m` passes the element itself"},
};

constexpr Key view_keys[] = {
    {.name = "fence",
     .type = "emitted",
     .need = required,
     .example = "{asm: fence}",
     .meaning = "inserted between accesses by different paths"},
};

constexpr Key bandwidth_keys[] = {
    {.name = "read", .type = "rate", .range = rates, .example = "64B/cycle", .meaning = "of a port for reads"},
    {.name = "write", .type = "rate", .range = rates, .example = "32B/cycle", .meaning = "of a port for writes"},
    {.name = "shared",
     .type = "rate",
     .range = rates,
     .example = "64B/cycle",
     .meaning = "of one port for reads and writes, in place of the two"},
};

constexpr Key access_energy_keys[] = {
    {.name = "read",
     .type = "energy",
     .fallback = "0",
     .range = energies,
     .example = "6pJ",
     .meaning = "of reading a word"},
    {.name = "write",
     .type = "energy",
     .fallback = "0",
     .range = energies,
     .example = "6pJ",
     .meaning = "of writing one"},
};

constexpr Key link_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "ld", .meaning = "its name"},
    {.name = "from", .type = "memory name", .need = complete, .example = "ram", .meaning = "where it begins"},
    {.name = "to",
     .type = "memory name",
     .need = complete,
     .example = "vec",
     .meaning = "where it ends: one direction"},
    {.name = "via", .type = "list of memory name", .example = "[l2, l1]", .meaning = "caches on the path"},
    {.name = "bandwidth",
     .type = "rate",
     .fallback = "unlimited",
     .range = rates,
     .example = "16B/cycle",
     .meaning = "also in bytes per second: `35GB/s`"},
    {.name = "latency",
     .type = "time",
     .fallback = "0",
     .range = delays,
     .example = "100cycles",
     .meaning = "of one transfer. A command of a stream that states no latency of its own has its interval and this"},
    {.name = "begin",
     .type = "time",
     .fallback = "the time of two lines into the cache at the end of `via`, of eight into others",
     .range = {0, time_most, "the first line takes no longer than others", ""},
     .example = "2cycles",
     .meaning = "into a cache: cost of a stream start, the additional time of the first line of a row (hardware "
                "prefetchers do not cross pages)"},
    {.name = "energy",
     .type = "energy per byte",
     .fallback = "0",
     .range = energies,
     .example = "4pJ/B",
     .meaning = "of moving a byte"},
    {.name = "port",
     .type = "text",
     .example = "bus",
     .meaning = "links with the same port share it: moves over them wait for each other"},
};

// --- instructions ---

constexpr Key instruction_keys[] = {
    {.name = "name",
     .type = "name",
     .need = required,
     .example = "fma_${t}",
     .meaning = "for people and reports; unique after expansion"},
    {.name = "unit",
     .type = "unit name",
     .fallback = "of a link, the inner of the two owners",
     .example = "core",
     .meaning = "the executing unit. One of `unit` and `link` is required"},
    {.name = "link",
     .type = "link name",
     .example = "ld",
     .meaning = "of a move: the written operand is at its end and the others at its start, so `memory` may be omitted"},
    {.name = "variants",
     .type = "table name | list of (table name | row | list of row)",
     .example = "types",
     .meaning = "a table, rows, or a list of those: all combinations (section 3)"},
    {.name = "compute",
     .type = "texts",
     .example = "\"C[i,j] += s32(A[i,k]) * s32(B[k,j])\"",
     .meaning = "its semantics. In a list of statements, tensors written by an earlier and read by a later one are "
                "temporaries. Without it: a setter"},
    {.name = "dims",
     .type = "map of dim",
     .range = {1, 0x1p32, "", "an instruction does at least one point"},
     .example = "{i: 16, j: {max: 16}, k: \"${g}\"}",
     .meaning = "extent of every iterator: a number, an expression of symbols, or a range"},
    {.name = "operands",
     .type = "map of operand",
     .example = "{C: {memory: vec, dtype: f32}}",
     .meaning = "one entry for each tensor of the statement (section 7)"},
    {.name = "mask",
     .type = "map of memory name",
     .example = "{j: mask}",
     .meaning =
         "the extent of `j` is passed as a mask register of that file, printed `{mask[j]}`; made by a fill with 1 "
         "and `inactive: zero`"},
    {.name = "inactive",
     .type = "inactive",
     .fallback = "of a fill: `undefined`",
     .example = "zero",
     .meaning = "contents of positions from the extent to the maximum afterwards; required when a ranged dim indexes a "
                "written register"},
    {.name = "start",
     .type = "map of (start | list of start)",
     .fallback = "`keep`",
     .example = "{C: [zero, keep]}",
     .meaning =
         "initial value of an updated operand: its old content (`keep`) or the identity (`zero`). A list is a "
         "choice at each use, printed by `{start[C]}` as 0 for the first, 1 for the second. With `zero` alone "
         "every call overwrites its output: one call must cover the whole reduction, or the instruction does not "
         "map"},
    {.name = "needs",
     .type = "map of expression",
     .example = "{v.vl: \"extent[j]\"}",
     .meaning = "state required when it runs (section 9)"},
    {.name = "sets",
     .type = "list of field name | map of expression",
     .example = "[v.vl]",
     .meaning = "fields that it sets: to any value, or `{field: value}`, `{field: any}` (section 9)"},
    {.name = "only",
     .type = "change",
     .example = "raise",
     .meaning = "of a setter that may move its fields one way only (section 9)"},
    {.name = "clobbers",
     .type = "list of memory name",
     .example = "[tile]",
     .meaning = "memories whose content it destroys (section 9)"},
    {.name = "reset", .type = "template", .example = "\"release();\"", .meaning = "text that restores the state"},
    {.name = "scope",
     .type = "scope",
     .fallback = "`use`",
     .example = "function",
     .meaning = "`function`: the text is an attribute of the emitted function, and the state is valid for all of it"},
    {.name = "atomic",
     .type = "unit name",
     .example = "gpu",
     .meaning =
         "of `D[..] += S[..]` (or `*=`, `max=`, `min=`) without a cast: instances inside one `gpu` may update the "
         "same element concurrently. D's memory belongs to that unit or one around it. Schedules name such an "
         "instruction after `combine` (docs/schedule.md); it combines partial sums, and kernels are not mapped to "
         "it. Example: `{name: add_${x}, link: r2g, compute: \"D[r,c] += S[r,c]\", inactive: keep, atomic: gpu, "
         "..}`"},
    {.name = "issue",
     .type = "issuer",
     .fallback = "`all`",
     .example = "one",
     .meaning = "`one`: exactly one innermost instance of the unit issues it"},
    {.name = "async",
     .type = "async use",
     .example = "{by: copies}",
     .meaning = "its completion object; no operand is touched before completion (section 9)"},
    {.name = "pack",
     .type = "format use",
     .example = "{format: config, rows: \"extent[i]\"}",
     .meaning = "a block or word that `{pack}` prints (section 9)"},
    {.name = "encoding",
     .type = "format use",
     .example = "{format: cmd, funct: 4, rs1: A}",
     .meaning = "the binary word (section 9)"},
    {.name = "numerics",
     .type = "numerics",
     .example = "{fused: true, round: each}",
     .meaning = "deviations from the statement's arithmetic"},
    {.name = "legal",
     .type = "texts",
     .example = "[\"extent[i]*extent[j] <= 64\"]",
     .meaning = "conditions on every use; see below"},
    {.name = "requires",
     .type = "features",
     .example = "{cpu: [wide]}",
     .meaning = "features in addition to those of the file. Programs with such an instruction are executed where the "
                "processor reports them, and not under an emulator, which is known to have only the features that the "
                "file requires"},
    {.name = "timing",
     .type = "timing",
     .example = "{latency: 4cycles, port: fma, interval: 1cycles}",
     .meaning = "time without contention"},
    {.name = "energy", .type = "energy", .fallback = "0", .range = energies, .example = "12pJ", .meaning = "per use"},
    {.name = "emit",
     .type = "template",
     .example = "\"{C} = f({A}, {B}, {C});\"",
     .meaning = "a statement, or lines, of the program's language"},
    {.name = "asm",
     .type = "template",
     .example = "\"vload {D}, ({S})\"",
     .meaning =
         "the assembly line. An asm program prints it (else `emit`); a C++ or CUDA program without `emit` wraps it "
         "in inline assembly and derives the constraints. One of `emit` and `asm` is required"},
};

constexpr Key range_keys[] = {
    {.name = "min",
     .type = "expression",
     .fallback = "1",
     .range = {0, 0x1p32, "a use may do nothing", ""},
     .example = "0",
     .meaning = "the smallest extent"},
    {.name = "max",
     .type = "expression",
     .need = required,
     .range = {1, 0x1p32, "", "an instruction does at least one point"},
     .example = "16",
     .meaning = "the largest extent"},
    {.name = "multiple_of",
     .type = "expression",
     .fallback = "1",
     .range = {1, 0x1p32, "", "leave it out for 1"},
     .example = "4",
     .meaning = "every extent is a multiple of it"},
    {.name = "known",
     .type = "when known",
     .fallback = "`run`",
     .example = "compile",
     .meaning = "`compile`: the extent is part of the instruction's text"},
    {.name = "inactive",
     .type = "kept",
     .example = "keep",
     .meaning =
         "points beyond the extent of this dim are not touched, regardless of the instruction's `inactive` (a DMA "
         "engine that pads rows but moves exactly the given number of them)"},
};

constexpr Key async_use_keys[] = {
    {.name = "by",
     .type = "completion name",
     .need = required,
     .example = "copies",
     .meaning = "the completion object"},
    {.name = "bytes",
     .type = "expression",
     .example = "\"extent[x]*2\"",
     .meaning = "what it adds to a counter of bytes (`kind: phases`)"},
};

constexpr Key numerics_keys[] = {
    {.name = "fused",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "a product is not rounded before it is added"},
    {.name = "round",
     .type = "rounding",
     .example = "each",
     .meaning = "when sums are rounded, or that they are truncated"},
    {.name = "bits",
     .type = "number",
     .fallback = "those of its type",
     .range = {1, 53, "", "leave the key out for those of its type"},
     .example = "14",
     .meaning = "significant bits that a sum keeps: the summands are shifted to the largest of them"},
    {.name = "denormals", .type = "denormals", .example = "zero", .meaning = "kept, or flushed to zero"},
    {.name = "order",
     .type = "any | map of list of integer",
     .example = "{k: [1, 0]}",
     .meaning = "of summation: `any`, or a list for each dim"},
};

constexpr Key timing_keys[] = {
    {.name = "latency",
     .type = "cycles",
     .fallback = "1",
     .range = {0, time_most, "the next instruction may use the result at once", ""},
     .example = "4cycles",
     .meaning = "until the result is available"},
    {.name = "interval",
     .type = "cycles",
     .fallback = "1",
     .range = {1, time_most, "", "for two a cycle give the port a count of 2"},
     .example = "\"extent[j]*4/32 cycles\"",
     .meaning =
         "cycles for which one port is busy (reciprocal throughput), so throughput = ports / interval. If no move "
         "has an interval, the cost model assumes that moves take no issue slots"},
    {.name = "port",
     .type = "port name",
     .fallback = "a private one",
     .example = "fma",
     .meaning = "the port it occupies"},
};

constexpr Key row_keys[] = {
    {.name = "*",
     .type = "text | nothing",
     .example = "f32",
     .meaning = "a parameter: it must be used as `${key}`. Keys of an instruction win over those of the entry"},
};

// --- operands and layouts ---

constexpr Key operand_keys[] = {
    {.name = "memory",
     .type = "memory name",
     .example = "vec",
     .meaning = "where it lives; required unless `link`, `state` or `immediate` implies it"},
    {.name = "dtype",
     .type = "dtype",
     .example = "f32",
     .meaning = "`bool` a truth value in a byte, `b1` in a bit of a mask; `b8 b16 b32 b64` bits of any type. Only a "
                "move may omit it: it moves any type (a "
                "command stream must then encode it: `hw check` warns); one operand determines the other"},
    {.name = "layout",
     .type = "layout",
     .fallback = "row-major and dense over the dims of this operand",
     .example = "{i: 16, j: 1}",
     .meaning = "position of each index"},
    {.name = "align",
     .type = "size | alignment",
     .fallback = "`1B`",
     .range = {1, 1 << 20, "", "leave it out for 1B"},
     .example = "16B",
     .meaning =
         "of the address at each use; or of the buffer, and of the start of a tile in it: `{buffer: 1024B, start: "
         "32B}`"},
    {.name = "multiple_of",
     .type = "map of size",
     .range = {1, part_most, "", "leave it out"},
     .example = "{i: 16B}",
     .meaning = "of a free stride"},
    {.name = "group",
     .type = "number",
     .fallback = "1",
     .range = {1, 64, "", "leave it out for 1"},
     .example = "4",
     .meaning =
         "number of consecutive registers, the first aligned to that number; at most the `count` of the file, and "
         "refused of an operand that is in no registers"},
    {.name = "state",
     .type = "field name",
     .example = "st.scale",
     .meaning =
         "a scalar in a state field. It holds a constant of the kernel (`X * 0.5`), whose setter is derived; not a "
         "tensor of the kernel. Its dtype is that of the field"},
    {.name = "immediate",
     .type = "list of real",
     .example = "[0.5, 0.25]",
     .meaning = "the encodable constants of the kernel, printed by `{X}`; integers, or numbers where `dtype` is real"},
    {.name = "outside",
     .type = "real",
     .example = "0",
     .meaning = "value of reads beyond the tensor; refused without `object`, which alone knows the tensor's sizes"},
    {.name = "pack",
     .type = "format use",
     .example = "{format: desc, address: \"A >> 4\"}",
     .meaning = "`{A}` prints this word instead of the address"},
    {.name = "view",
     .type = "view name",
     .example = "engine",
     .meaning = "the access path: one of the memory's `views`"},
    {.name = "object",
     .type = "object name",
     .example = "descriptor",
     .meaning = "`{S}` prints this host-built descriptor (section 9) instead of an address; positions are printed by "
                "`{S.coord[i]}`"},
    {.name = "at_once",
     .type = "map of number",
     .fallback = "1 each",
     .range = {1, 65536, "", "leave it out for 1"},
     .example = "{i: 8, k: 8}",
     .meaning = "contiguous elements along each index that are accessed together, for counting bank conflicts in `hw "
                "check`. Where instances supply addresses (`each`) it is the number of addresses that fill all banks"},
    {.name = "index", .type = "integer", .reserved = true, .meaning = "the number of its register"},
    {.name = "tied", .type = "text", .reserved = true, .meaning = "the operand whose register it shares"},
};

constexpr Key alignment_keys[] = {
    {.name = "start",
     .type = "size",
     .need = required,
     .range = {1, 1 << 20, "", "leave it out for 1B"},
     .example = "32B",
     .meaning = "of a tile in its buffer"},
    {.name = "buffer",
     .type = "size",
     .need = required,
     .range = {1, 1 << 20, "", "leave it out for 1B"},
     .example = "1024B",
     .meaning = "of the buffer"},
};

constexpr Key strides_keys[] = {
    {.name = "xor",
     .type = "swizzle",
     .example = "{bits: 3, from: 7, to: 4}",
     .meaning = "bits of the address, permuted"},
    {.name = "*", .type = "stride", .example = "16", .meaning = "of the index or term of this name; see below"},
};

constexpr Key swizzle_keys[] = {
    {.name = "bits",
     .type = "integer",
     .need = complete,
     .example = "3",
     .meaning = "so many bits of the byte address"},
    {.name = "from",
     .type = "integer",
     .need = complete,
     .example = "7",
     .meaning = "the lowest of those that are read"},
    {.name = "to",
     .type = "integer",
     .need = complete,
     .example = "4",
     .meaning = "the lowest of those that they change"},
};

constexpr Key each_keys[] = {
    {.name = "each",
     .type = "unit name",
     .need = required,
     .example = "lane",
     .meaning = "every position has its own address, supplied by that instance of the unit"},
};

constexpr Key fragment_keys[] = {
    {.name = "over",
     .type = "map of expression",
     .need = required,
     .example = "{lane: 32, elem: 4}",
     .meaning = "units and, last, the elements per instance"},
    {.name = "replicated",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "an index may be held in several places (a broadcast factor), but at least in one"},
    {.name = "*",
     .type = "expression",
     .example = "\"lane/4 + 8*(elem/2)\"",
     .meaning = "the index of this name, as a formula of units and elements"},
};

constexpr Key renamed_layout_keys[] = {
    {.name = "of", .type = "layout name", .need = required, .example = "rows", .meaning = "the layout"},
    {.name = "*", .type = "index name", .example = "i", .meaning = "what its index of this name is called here"},
};

// --- state, formats, completion ---

constexpr Key state_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "ld", .meaning = "its name"},
    {.name = "per", .type = "unit name", .need = complete, .example = "npu", .meaning = "the unit that owns it"},
    {.name = "count",
     .type = "number",
     .fallback = "1",
     .range = {1, 256, "", "leave the state out"},
     .example = "3",
     .meaning = "instances: `ld0 ld1 ld2`"},
    {.name = "kept_by",
     .type = "texts",
     .example = "[c++]",
     .meaning = "languages whose compiler manages it; no setter is printed there"},
    {.name = "fields",
     .type = "map of field",
     .need = complete,
     .example = "{pitch: {max: 65535}}",
     .meaning = "its fields by name"},
    {.name = "pool",
     .type = "map of (unit name | state pool)",
     .example = "{regs: block}",
     .meaning = "the sum of the field over the instances inside one `block` is constant, as at entry"},
};

constexpr Key field_keys[] = {
    {.name = "min", .type = "integer", .fallback = "0", .example = "24", .meaning = "the smallest value"},
    {.name = "max",
     .type = "number",
     .fallback = "none",
     .range = {0, 0x1p62, "no largest value", ""},
     .example = "65535",
     .meaning = "the largest value"},
    {.name = "multiple_of",
     .type = "number",
     .fallback = "1",
     .range = {1, 0x1p62, "", "leave it out for 1"},
     .example = "8",
     .meaning = "every value is a multiple of it"},
    {.name = "values", .type = "list of integer", .example = "[0, 1]", .meaning = "the allowed values"},
    {.name = "dtype",
     .type = "dtype",
     .example = "f32",
     .meaning = "of a real one the field is a real number as section 8 says"},
    {.name = "reset",
     .type = "real",
     .example = "0",
     .meaning = "the value at entry if it is known, which is also restored at the end; a real number where `dtype` is "
                "real"},
};

constexpr Key state_pool_keys[] = {
    {.name = "unit", .type = "unit name", .need = required, .example = "block", .meaning = "whose instances share it"},
    {.name = "total",
     .type = "integer",
     .need = required,
     .example = "512",
     .meaning = "the constant sum; the smallest values must fit"},
    {.name = "beside",
     .type = "integer",
     .fallback = "0",
     .example = "26",
     .meaning =
         "of registers: the value at entry must suffice for a call's operands and so many more, or the program is "
         "refused"},
};

constexpr Key format_keys[] = {
    {.name = "bits",
     .type = "number",
     .need = complete,
     .range = {1, 65536, "", "write the length of the word, as 32"},
     .example = "64",
     .meaning = "length of the word or block"},
    {.name = "constraint",
     .type = "text",
     .example = "l",
     .meaning = "inline-assembly constraint of a word in a register"},
    {.name = "fields",
     .type = "map of (list of integer | bit field)",
     .need = required,
     .example = "{opcode: [63, 56], rows: [55, 48]}",
     .meaning = "`[high, low]`, or a map. They may overlap, as alternative views; one use must not set a bit twice"},
};

constexpr Key bit_field_keys[] = {
    {.name = "bits", .type = "list of integer", .example = "[31, 0]", .meaning = "`[high, low]`"},
    {.name = "value", .type = "integer", .example = "3", .meaning = "its constant unless a use gives another"},
    {.name = "signed",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "two's complement; without it a negative value is an error, a constant too"},
    {.name = "at",
     .type = "integer",
     .example = "128",
     .meaning = "in place of `bits`, an array of fields: its lowest bit"},
    {.name = "width", .type = "integer", .example = "16", .meaning = "of an array: bits of an element"},
    {.name = "count", .type = "integer", .example = "8", .meaning = "of an array: elements"},
};

constexpr Key format_use_keys[] = {
    {.name = "format", .type = "format name", .need = required, .example = "cmd", .meaning = "the format"},
    {.name = "*", .type = "expression", .example = "\"extent[i]\"", .meaning = "value of its field of this name"},
};

constexpr Key barrier_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "sync", .meaning = "its name"},
    {.name = "unit", .type = "unit name", .need = complete, .example = "block", .meaning = "all of its instances wait"},
    {.name = "memories",
     .type = "list of memory name",
     .example = "[shared]",
     .meaning = "their writes to these memories become visible to all"},
    {.name = "emit", .type = "emitted", .example = "\"wait_all();\"", .meaning = "the text"},
    {.name = "asm", .type = "template", .example = "\"wait {index}\"", .meaning = "the assembly line"},
    {.name = "latency",
     .type = "time",
     .fallback = "0",
     .range = delays,
     .example = "20cycles",
     .meaning = "of one wait"},
    {.name = "count",
     .type = "number",
     .fallback = "1",
     .range = {1, 65536, "", "leave it out for one"},
     .example = "16",
     .meaning = "the number of barriers, selected by `{index}`"},
    {.name = "partial",
     .type = "boolean",
     .fallback = "`false`",
     .example = "true",
     .meaning = "a subset of instances waits, their number is `{participants}`; an inner unit without its own barrier "
                "uses one of these, with number 1 + its index"},
};

constexpr Key completion_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "copies", .meaning = "its name"},
    {.name = "kind",
     .type = "completion kind",
     .need = complete,
     .example = "groups",
     .meaning = "which of the other keys it has: those of `groups`, `phases`, `fence` or `tokens`"},
    {.name = "per", .type = "unit name", .example = "lane", .meaning = "the owner of the count; required for `tokens`"},
};

constexpr Key groups_keys[] = {
    {.name = "commit", .type = "step", .need = complete, .meaning = "`groups`: closes a group of issued instructions"},
    {.name = "wait", .type = "step", .need = complete, .meaning = "`groups`: waits until `{pending}` groups remain"},
    {.name = "open", .type = "step", .meaning = "`groups`: opens a group"},
};

constexpr Key phases_keys[] = {
    {.name = "init",
     .type = "step",
     .need = complete,
     .meaning = "`phases`: makes the counter. May use `{at} {arrivals}`; its `then` follows all of them"},
    {.name = "arrive", .type = "step", .need = complete, .meaning = "`phases`: an arrival. May use `{at}`"},
    {.name = "test",
     .type = "step",
     .need = complete,
     .meaning = "`phases`: is the phase over? May use `{at} {parity} {done}`"},
    {.name = "expect", .type = "step", .meaning = "`phases`: an arrival, and bytes to come. May use `{at} {bytes}`"},
    {.name = "memory", .type = "memory name", .need = complete, .meaning = "`phases`: where the counter lies"},
    {.name = "size",
     .type = "size",
     .need = complete,
     .range = {1, part_most, "", "write the bytes of one counter, as 8B"},
     .example = "8B",
     .meaning = "`phases`: the size of the counter"},
};

constexpr Key fence_keys[] = {
    {.name = "emit",
     .type = "step",
     .need = complete,
     .meaning = "`fence`: completes all outstanding operations, as after streaming stores; every thread that stored "
                "executes it, regardless of `per`"},
};

constexpr Key tokens_keys[] = {
    {.name = "from",
     .type = "port name",
     .need = complete,
     .example = "load",
     .meaning = "`tokens`: the queue that gives"},
    {.name = "to",
     .type = "port name",
     .need = complete,
     .example = "execute",
     .meaning = "`tokens`: the one that takes"},
    {.name = "push",
     .type = "text",
     .example = "signal free",
     .meaning = "`tokens`: a separate command that gives one"},
    {.name = "pop",
     .type = "text",
     .example = "await free",
     .meaning = "`tokens`: and one that takes it; both or none"},
};

constexpr Key object_keys[] = {
    {.name = "name", .type = "name", .need = required, .example = "descriptor", .meaning = "its name"},
    {.name = "parameter",
     .type = "template",
     .need = complete,
     .meaning = "declares it as a parameter of the program; contains `{name}`"},
    {.name = "constraint", .type = "text", .example = "l", .meaning = "inline-assembly constraint"},
    {.name = "build",
     .type = "template",
     .need = complete,
     .meaning = "a statement of the host's program that makes it, with `{name} {base} {dtype} {rank} {sizes} {pitches} "
                "{box} {swizzle}`; see below"},
};

constexpr Key assembly_line_keys[] = {
    {.name = "asm", .type = "template", .need = complete, .meaning = "the assembly line, in place of a text"},
};

constexpr Key assembly_step_keys[] = {
    {.name = "asm", .type = "template", .need = complete, .meaning = "the assembly line, in place of a text"},
    {.name = "then", .type = "step", .meaning = "what follows all lines of this kind"},
};

// --- timing of the machine ---

consteval auto timing_rows() {
  std::array<Key, std::size(timing_parameters)> rows;
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {.name = timing_parameters[i].key,
               .type = "real",
               .fallback = "as in hwdesc/defaults/timing.yaml",
               .meaning = timing_parameters[i].meaning};
  return rows;
}
constexpr auto machine_timing_keys = timing_rows();

constexpr Section all_sections[] = {
    {"file", "", "A hardware file.", file_keys},
    {"features", "requires", "Says available or not, nothing else.", features_keys},
    {"evidence", "verified.*", "What the description was compared with.", evidence_keys},
    {"symbol", "symbols.*", "A size that the file does not fix.", symbol_keys},
    {"program", "program", "How a whole program is printed, compiled and run.", program_keys},
    {"flags", "program.flags", "Compiler flags by compiler.", flags_keys},
    {"helper", "program.helpers.*", "A text that is printed where its name is said.", helper_keys},
    {"run", "program.run", "How programs run where this machine cannot execute them.", run_keys},
    {"shim", "program.shim", "A header that gives the names used by emit their meaning in plain C++.", shim_keys},
    {"unit", "units.*", "Who executes; each unit is inside the one before, or the one it names.", unit_keys},
    {"at most", "units.*.count", "A maximum.", at_most_keys},
    {"mesh", "units.*.count", "Instances along named axes.", mesh_keys},
    {"threads", "units.*.threads", "How programs run instances side by side; without it they take turns.",
     threads_keys},
    {"memory", "memories.*", "Where data lives.", memory_keys},
    {"register pool", "memories.*.pool", "Registers that instances have together.", register_pool_keys},
    {"pointer", "memories.*.pointer", "How addresses are passed.", pointer_keys},
    {"view", "memories.*.views.*", "Another path to the same bytes.", view_keys},
    {"bandwidth", "memories.*.bandwidth", "Of an instance: a port each for reads and writes, or one.", bandwidth_keys},
    {"access energy", "memories.*.energy", "Energy of one word.", access_energy_keys},
    {"link", "links.*", "How data moves, in one direction.", link_keys},
    {"instruction", "instructions.*", "What the hardware offers: a statement whose operands live in named memories.",
     instruction_keys},
    {"range", "instructions.*.dims.*", "Extents of which each use chooses one.", range_keys},
    {"async use", "instructions.*.async", "Completion object, and operands not to be touched before it.",
     async_use_keys},
    {"numerics", "instructions.*.numerics", "Deviations from the statement's own arithmetic.", numerics_keys},
    {"timing", "instructions.*.timing", "Without contention.", timing_keys},
    {"row", "tables.*.*", "What one variant has: instruction keys, which win over the entry's, and parameters.",
     row_keys, "", "", "instruction"},
    {"operand", "instructions.*.operands.*", "What a tensor of the statement is on the machine.", operand_keys},
    {"alignment", "instructions.*.operands.*.align", "Of a buffer, and of tiles in it.", alignment_keys},
    {"strides", "instructions.*.operands.*.layout", "Strides by term.", strides_keys, "", "over of"},
    {"swizzle", "instructions.*.operands.*.layout.xor",
     "Bits [to, to + bits) of the byte address are XORed with bits [from, from + bits).", swizzle_keys},
    {"each", "instructions.*.operands.*.layout.*", "Addresses that instances supply.", each_keys},
    {"fragment", "instructions.*.operands.*.layout", "An operand distributed over the registers of several instances.",
     fragment_keys},
    {"renamed layout", "instructions.*.operands.*.layout", "A named layout with other names of its indices.",
     renamed_layout_keys},
    {"state", "states.*", "Named fields that setters set and instructions need.", state_keys},
    {"field", "states.*.fields.*", "A state field: a range, a list of values or a dtype.", field_keys},
    {"state pool", "states.*.pool.*", "A field whose sum over instances is constant.", state_pool_keys},
    {"format", "formats.*", "Named bit fields.", format_keys},
    {"bit field", "formats.*.fields.*", "Bits of a word, or an array of them.", bit_field_keys},
    {"format use", "instructions.*.encoding", "A format and expressions for its fields.", format_use_keys},
    {"barrier", "barriers.*", "All instances of the unit wait.", barrier_keys},
    {"completion", "async.*", "Completion of asynchronous instructions.", completion_keys},
    {"groups", "async.*", "Completion in groups.", groups_keys, "completion"},
    {"phases", "async.*", "Completion by a counter in memory.", phases_keys, "completion"},
    {"fence", "async.*", "Completion by a fence.", fence_keys, "completion"},
    {"tokens", "async.*", "Order between the queues of a unit.", tokens_keys, "completion"},
    {"object", "objects.*", "What the host builds and passes to the program.", object_keys},
    {"machine timing", "timing", "Numbers that terms of the cost model read.", machine_timing_keys},
    {"assembly line", "barriers.*.emit", "An assembly line in place of a text.", assembly_line_keys},
    {"assembly step", "async.*.init", "An assembly line in place of a text, and what follows it.", assembly_step_keys},
};

}  // namespace

std::span<const Section> sections() { return all_sections; }

const Section& section(std::string_view name) {
  for (const Section& one : all_sections)
    if (one.name == name) return one;
  ISAMAP_CHECK(false, fmt::format("the table of keys has no section '{}'", name));
  return all_sections[0];
}

const Key* find_key(const Section& section, std::string_view name) {
  for (const Key& one : section.keys)
    if (one.name == name) return &one;
  return nullptr;
}

const Key& key(std::string_view section_name, std::string_view name) {
  const Section& of = section(section_name);
  const Key* found = find_key(of, name);
  ISAMAP_CHECK(found != nullptr, fmt::format("the table of keys has no '{}' in section '{}'", name, section_name));
  return *found;
}

std::string path_of(const Section& section, const Key& key) {
  std::string path(section.path);
  path += (path.empty() ? "" : ".") + std::string(key.name);
  return key.type.starts_with("map of ") ? path + ".*" : path;
}

std::vector<std::string> names_of(const Section& section) {
  std::vector<std::string> names;
  const auto take = [&](const Section& from) {
    for (const Key& one : from.keys)
      if (one.name != "*" && !one.reserved) names.emplace_back(one.name);
  };
  take(section);
  for (const Section& more : all_sections)
    if (more.extends == section.name) take(more);
  return names;
}

bool is_appended(std::string_view name) {
  return std::any_of(std::begin(all_sections), std::end(all_sections), [&](const Section& section) {
    const Key* key = find_key(section, name);
    return key && key->appended;
  });
}

}  // namespace isamap::keys
