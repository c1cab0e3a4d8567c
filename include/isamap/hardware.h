// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model of a machine: its units, memories, links and instructions, and the loader of its file.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/instruction.h"
#include "isamap/kernel.h"
#include "isamap/result.h"
#include "isamap/timing.h"

namespace isamap {

// A machine: units, memories, links and instructions, described by one file (hwdesc/README.md).
//
// The graph (memories as vertices, links as edges) is kept in Boost.Graph behind this interface.

/// How programs run a unit's instances in parallel.
struct Threads {
  std::string loop;                ///< text before a loop over instances; empty: they run one after another
  std::vector<std::string> flags;  ///< compiler flags for it
  std::string param;               ///< parameter of the file that is their number; empty: `--threads` is refused
  std::int64_t most = 0;           ///< largest number; 0: not stated
  double start = 0;                ///< cycles from the loop's start to that of its last thread, and to join them
  std::string wait;                ///< statement in a loop that waits for another thread; empty: none
};

struct Unit {
  std::string name;
  UnitId parent;           ///< the unit it is inside; invalid for the outermost
  std::int64_t count = 1;  ///< instances inside one parent instance: product of the axes
  std::vector<std::pair<std::string, std::int64_t>> axes;  ///< named mesh axes; empty: one dimension
  bool at_most = false;                                    ///< count: {max: n}
  bool queued = false;                                     ///< instances beyond count wait in a queue
  bool scalar = false;                                     ///< executes any statement element by element
  bool tokens = false;                                     ///< order: tokens
  std::string index;  ///< text with which an instance reads its index; empty: not addressable
  std::map<std::string, std::int64_t> ports;
  double loop_end = 0;  ///< cycles lost at the end of a loop (branch misprediction)
  Threads threads;
  SourceLocation where;
};

/// A symbolic size, e.g. the vector length. A model has one value of it: capacities, extents and layouts are for that
/// size.
struct Symbol {
  std::string name;
  std::int64_t min = 1, max = 1, multiple_of = 1;
  bool power_of_two = false;
  bool known_at_compile_time = false;  ///< `known: compile`; default `run`
  std::string emit;                    ///< text with which a program reads it
  std::int64_t value = 1;              ///< in this model
  std::vector<std::int64_t> versions;  ///< sizes for which programs have separate code; ascending, with `value`
  SourceLocation where;
};

/// May the symbol have this value?
bool allows(const Symbol& symbol, std::int64_t value);

/// Symbol -> value. "VB = 32, N = 4"; empty without symbols.
using Sizes = std::map<std::string, std::int64_t>;
std::string print(const Sizes& sizes);

/// A field of state that instructions set and need. Allowed: min..max, or `values` when not empty, or any of `dtype`.
struct StateField {
  std::string name;
  std::int64_t min = 0, max = 0, multiple_of = 1;  ///< max 0: unbounded
  std::vector<std::int64_t> values;
  std::optional<DType> dtype;
  std::optional<std::int64_t> reset;  ///< the value at entry and to restore
};

/// Instances inside one `unit` share a field: the sum of their values may reach `total`, or the sum at entry.
struct StatePool {
  std::string field;
  UnitId unit;
  std::int64_t total = 0;  ///< 0: the sum at entry
  /// Registers that an instruction needs beside its operands; together they must fit the value at entry.
  std::int64_t beside = 0;
};

/// `count` instances; 3 instances of `ld` are ld0, ld1, ld2.
struct State {
  std::string name;
  UnitId per;
  std::int64_t count = 1;
  std::vector<std::string> kept_by;  ///< languages whose compiler keeps it: no setter is printed
  std::vector<StateField> fields;
  std::vector<StatePool> pools;
};

enum class MemoryKind { dram, cache, scratchpad, accumulator, register_file };
std::string_view name(MemoryKind kind);

/// Another path to the same bytes. A fence separates accesses by different views.
struct MemoryView {
  std::string name;
  Template emit, assembly;  ///< the fence
};

/// Registers shared by the instances inside one `unit`; the compiler reserves `kept` of each instance's.
struct RegisterPool {
  UnitId unit;
  std::int64_t total = 0, kept = 0;
};

struct Memory {
  std::string name;
  UnitId per;  ///< owner of an instance
  MemoryKind kind = MemoryKind::dram;
  std::int64_t capacity = 0;         ///< bytes of an instance; registers: count * size
  std::int64_t count = 0, size = 0;  ///< registers and bytes of one (over symbols: at their maximum)
  std::int64_t granularity = 1;      ///< bytes of one address step
  std::int64_t base = 0;             ///< where addresses start
  std::int64_t banks = 0, bank_width = 0, line = 0, transaction = 0;
  std::int64_t fetch = 0;    ///< of a cache: bytes fetched together, a line with adjacent lines; 0: one line
  std::int64_t usable = 0;   ///< of a cache: bytes that streaming accesses do not evict; 0: unknown
  std::int64_t misses = 0;   ///< of a cache: outstanding misses (fill buffers); 0: unknown
  std::int64_t ways = 0;     ///< of a cache: associativity; 0: unknown
  std::int64_t streams = 0;  ///< of a cache: streams that the hardware prefetcher follows; 0: unknown
  std::int64_t pages = 0;    ///< of a cache: TLB entries for pages of 4 KiB; 0: unknown
  std::vector<std::pair<std::string, std::string>> value;  ///< dtype (or "any") -> type name
  std::string print;                                       ///< name of a register that isamap allocates
  std::map<std::string, std::string> constraint;
  std::string pointer_type, pointer_constraint;
  double read_bandwidth = 0, write_bandwidth = 0;  ///< bytes/cycle of an instance; 0: unlimited
  bool one_port = false;                           ///< reads and writes share the bandwidth
  std::int64_t word = 1;                           ///< bytes: the unit of access counts and energies
  double read_energy = 0, write_energy = 0;        ///< pJ for one word
  std::vector<StateField> fields;                  ///< state of every register of the file
  std::vector<MemoryView> views;
  std::optional<RegisterPool> pool;
  SourceLocation where, bandwidth_where, energy_where;

  bool is_register() const { return kind == MemoryKind::register_file; }
  /// The target's compiler allocates these registers (`value` is given).
  bool named_by_compiler() const { return !value.empty(); }
};

struct Link {
  std::string name;
  MemoryId from, to;
  std::vector<MemoryId> via;  ///< caches on the path
  double bandwidth = 0;       ///< bytes/cycle; 0: unlimited
  double latency = 0;         ///< cycles
  double begin = -1;          ///< into a cache: extra cycles for the first line of a stream; below 0: unknown
  double energy = 0;          ///< pJ/B
  std::string port;
  SourceLocation where, bandwidth_where, latency_where, energy_where;
};

/// Bits [low, high]; an array has `count` elements of `width` bits from `low` (then high is its last bit).
struct FormatField {
  std::string name;
  int high = 0, low = 0;
  std::optional<std::int64_t> value;  ///< constant unless given
  int width = 0, count = 0;
  bool is_signed = false;  ///< two's complement
};
struct Format {
  std::string name;
  int bits = 0;
  std::string constraint;  ///< of a word in a register, for inline assembly
  std::vector<FormatField> fields;
};

struct Barrier {
  std::string name;
  UnitId unit;
  std::vector<MemoryId> memories;
  Template emit, assembly;
  double latency = 0;      ///< cycles
  std::int64_t count = 1;  ///< number of them, selected by {index}
  bool partial = false;    ///< {participants} instances wait, not all
};

/// A descriptor that the host builds from a tensor and passes to the program: `parameter` declares it ({name}), `build`
/// makes it
/// ({name} {base} {dtype} {rank} {sizes} {pitches} {box} {swizzle}).
struct HostObject {
  std::string name;
  Template parameter, build;
  std::string constraint;
  SourceLocation where;
};

enum class AsyncKind { groups, phases, fence, tokens };
std::string_view name(AsyncKind kind);

/// Completion: `texts` by key as in the file: "open", "commit", "wait" (groups), "init", "arrive", "expect", "test"
/// (phases), "emit" (fence), "init.then"; the key of an assembly text ends with ".asm": "commit.asm".
struct AsyncObject {
  std::string name;
  AsyncKind kind = AsyncKind::groups;
  UnitId per;
  std::string from, to;   ///< tokens: the ports whose queues they order
  MemoryId memory;        ///< phases: memory of the counters
  std::int64_t size = 0;  ///< phases: bytes of one
  std::map<std::string, std::string> texts;
  SourceLocation where;
};

/// By compiler: "any", "gcc", "clang", "nvcc"; and "emulated": in addition, for programs run by an emulator.
using CompilerFlags = std::map<std::string, std::vector<std::string>>;

/// A header that implements the target's intrinsics in plain C++, for machines without these features.
struct Shim {
  std::string include;           ///< path of the header; empty: there is none
  std::vector<std::string> cpu;  ///< the features it replaces; empty: all required ones
  CompilerFlags flags;           ///< after the program's
};

/// A text printed only in files that contain its name.
struct NamedHelper {
  std::string name, text;
  bool operator==(const NamedHelper&) const = default;
};

/// An external simulator; `command` empty: there is none.
struct ExternalSimulator {
  std::string name;     ///< its name in reports
  std::string command;  ///< {program}: the text; {folder}: its folder
  double seconds = 0;   ///< limit of one run; 0: the caller's
};

/// How whole programs are printed, compiled and run.
struct ProgramText {
  std::string language = "asm";  ///< "c++", "cuda", "asm"
  std::vector<std::string> include;
  std::map<std::string, std::string> types;  ///< dtype -> element type
  CompilerFlags flags;
  std::vector<std::string> compilers;  ///< commands; the first that works here is used. Empty: the system's compiler
  std::vector<std::string> packages;   ///< of the distribution, that hold compiler and emulator
  std::string helpers, launch_helpers, function, begin, end, comment = "#";
  std::int64_t window = 32;                ///< asm: commands among which the next one is chosen; 1: in order
  std::vector<NamedHelper> named_helpers;  ///< after `helpers`; each may use those before it
  std::string run_emulated;
  ExternalSimulator simulator;
  Shim shim;
};

/// A reference that a description was verified against, as its file states.
struct Evidence {
  std::string against, what, how;
  SourceLocation where;
};

/// Requirements for running a target's programs natively.
struct Requirements {
  std::vector<std::string> machine;  ///< as `uname -m` prints it; empty: any
  std::vector<std::string> cpu;      ///< features that the processor reports
  std::vector<std::string> arch;     ///< target architectures
};

class HardwareModel {
 public:
  std::string name;
  std::string file;  ///< source file
  double clock_hz = 1e9;
  Requirements needed;
  std::vector<Evidence> verified;  ///< empty: not stated
  ProgramText program;
  TimingParameters timing;
  std::map<std::string, std::string> params;

  const std::vector<Unit>& units() const { return units_; }
  const std::vector<Memory>& memories() const { return memories_; }
  const std::vector<Link>& links() const { return links_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  Sizes sizes() const;  ///< the values of its symbols
  /// The same machine at each combination of the sizes that its symbols list, its own included, with equal ids. Empty
  /// if every size is known at compile time. Programs have a body for each, which may lay out buffers differently, so
  /// nothing is packed ahead of time.
  const std::vector<HardwareModel>& versions() const;
  const std::vector<State>& states() const { return states_; }
  const std::vector<Format>& formats() const { return formats_; }
  const std::vector<Barrier>& barriers() const { return barriers_; }
  const std::vector<AsyncObject>& async_objects() const { return async_; }
  const std::vector<HostObject>& objects() const { return objects_; }

  const Unit& unit(UnitId id) const { return units_[id.index()]; }
  const Memory& memory(MemoryId id) const { return memories_[id.index()]; }
  const Link& link(LinkId id) const { return links_[id.index()]; }
  const Instruction& instruction(InstructionId id) const { return instructions_[id.index()]; }

  std::optional<UnitId> find_unit(const std::string& name) const;
  std::optional<MemoryId> find_memory(const std::string& name) const;
  std::optional<InstructionId> find_instruction(const std::string& name) const;

  std::vector<LinkId> links_from(MemoryId memory) const;
  /// Memories on a shortest path of links (both ends included, caches of `via` not), or empty.
  const std::vector<MemoryId>& path(MemoryId from, MemoryId to) const;
  /// The links along it.
  const std::vector<LinkId>& links_on_path(MemoryId from, MemoryId to) const;
  /// Instructions that only copy, in the order of the file.
  const std::vector<InstructionId>& moves() const;
  /// Those whose source and result are in these memories.
  const std::vector<InstructionId>& moves_between(MemoryId from, MemoryId to) const;
  /// Memory of the arguments: the `dram` memory of the outermost owner.
  MemoryId home() const;
  /// Is `inner` the same unit as `outer` or inside it?
  bool inside(UnitId inner, UnitId outer) const;
  /// The innermost scalar unit that reaches `memory` (owner of the memory or inside it), or nothing.
  std::optional<UnitId> scalar_unit_for(MemoryId memory) const;
  /// Instances of a unit in the whole machine.
  std::int64_t instances(UnitId unit) const;

  /// Lists are filled by the loader, then `finish` builds the graph; afterwards the model is a constant value.
  struct Parts {
    std::vector<Unit> units;
    std::vector<Memory> memories;
    std::vector<Link> links;
    std::vector<Instruction> instructions;
    std::vector<State> states;
    std::vector<Format> formats;
    std::vector<Barrier> barriers;
    std::vector<AsyncObject> async;
    std::vector<Symbol> symbols;
    std::vector<HostObject> objects = {};
  };
  void finish(Parts parts);
  void set_versions(std::vector<HardwareModel> versions);

 private:
  std::size_t pair_of(MemoryId from, MemoryId to) const { return from.index() * memories_.size() + to.index(); }
  struct Graph;
  std::vector<MemoryId> shortest_path(MemoryId from, MemoryId to) const;
  std::vector<Unit> units_;
  std::vector<Memory> memories_;
  std::vector<Link> links_;
  std::vector<Instruction> instructions_;
  std::vector<State> states_;
  std::vector<Format> formats_;
  std::vector<Barrier> barriers_;
  std::vector<AsyncObject> async_;
  std::vector<Symbol> symbols_;
  std::vector<HostObject> objects_;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const std::vector<HardwareModel>> versions_;
};

// Properties of a machine's layouts that `isamap hw check` proves or refutes:
//
//   fragment    every fragment is a bijection onto its operand, at every extent
//   fill        the moves that fill (or drain) each operand in registers, from which order in memory, with which
//               addresses and free strides; if none, the reason
//   banks       accesses served together have no bank conflicts; if they have, their degree and a swizzle without
//   transfer    an operand in a shared memory is read at the addresses where a move writes it, swizzles included
//
// Independent of the target: derived from fragments, strides, `xor`, `each`, `at_once`, `banks`.

enum class LayoutFactKind { fragment, fill, banks, transfer };
std::string_view name(LayoutFactKind kind);

struct LayoutFact {
  LayoutFactKind kind = LayoutFactKind::fragment;
  bool proved = true;                 ///< false: refuted
  std::vector<std::string> operands;  ///< "A of mac", all that have the same layout
  std::string text;
};

struct LayoutProofs {
  std::vector<LayoutFact> facts;
  Diagnostics warnings;  ///< a swizzled operand that no move writes with its layout
};

LayoutProofs prove_layouts(const HardwareModel& model);

/// "proved: A of mac and 3 more: ..."; refuted "not so: ..."; bank conflicts "costs: ...".
std::string print(const LayoutFact& fact);

// YAML to HardwareModel: strict, with every problem of a file reported in one run (hwdesc/README.md).

struct LoadOptions {
  std::map<std::string, std::string> params = {};  ///< --set name=value, of parameters and symbols
  bool prove = false;                              ///< also prove layouts, as `hw check` does
  Sizes sizes = {};                                ///< of symbols, besides those in `params`
  bool in_order = false;                           ///< --no-reorder: a window of one command, regardless of the file
};

struct LoadedHardware {
  HardwareModel model;
  Diagnostics warnings;           ///< "its accumulator can be neither cleared nor read out"
  std::string resolved;           ///< equivalent self-contained file: bases merged, parameters and rows expanded
  std::vector<LayoutFact> facts;  ///< with LoadOptions::prove
};

/// `path` is a file or the name of one in `folders` (NAME.yaml). `extends` is searched in the file's folder, then in
/// `folders`; it may not leave them.
Result<LoadedHardware> load_hardware(const std::string& path, const std::vector<std::string>& folders,
                                     const LoadOptions& options = {});

/// What `requires: {cpu: [..]}` of a file and its bases lists, without making the machine.
Result<std::vector<std::string>> required_cpu(const std::string& path, const std::vector<std::string>& folders);

// Views of a machine: text tables, pictures of its graph of memories and links.

std::string describe(const HardwareModel& model);  ///< text of `hw show`
std::string graphviz(const HardwareModel& model);  ///< `hw graph --format dot`
std::string svg(const HardwareModel& model);       ///< `hw graph --format svg`

}  // namespace isamap
