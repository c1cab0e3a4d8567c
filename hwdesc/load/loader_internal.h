// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to the loader: the steps from files to a model, in the order in which they run.
//
//   files -> one tree (extends, without)      source_files.cpp, merge.cpp
//   tree -> tree without ${...} and variants  substitute.cpp, variants.cpp
//   tree -> parts of the model                load_*.cpp, quantity.cpp
//   parts -> proofs                           check_*.cpp
//
// Every step records what is wrong and goes on, so that one run reports everything.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isamap/hardware.h"
#include "support/yaml.h"

namespace isamap::loader {

using yaml::Kind;
using yaml::MapReader;
using yaml::Node;

/// Problems found so far; equal ones (the same place of one entry, met in many variants) are kept once.
class Problems {
 public:
  void error(const SourceLocation& where, std::string message, std::string hint = "",
             std::vector<std::string> notes = {});
  void warning(const SourceLocation& where, std::string message, std::string hint = "");
  void add(Diagnostic diagnostic);
  void add(const Diagnostics& diagnostics);
  /// What a parser found; where it says nothing of what would work, `hint` does.
  void add(const Diagnostics& diagnostics, const std::string& hint);
  /// The value that stands there could not be made out, and the reason has been added: nothing else is said of it.
  void settle(const Node& scalar);
  bool any_errors() const { return has_errors(list_); }
  std::size_t count() const { return count_; }  ///< of all that were added, repeated ones too
  Diagnostics take() { return std::move(list_); }

 private:
  Diagnostics list_;
  std::set<std::string> seen_;
  std::vector<std::pair<SourceLocation, int>> settled_;  ///< where, and how many columns
  std::size_t count_ = 0;
};

struct OwnDiagnostics {
  Diagnostics own;
};  // a base, so that it lives before and after MapReader

/// Reads one map through MapReader; what it finds, unknown keys included, reaches `problems` when it goes out of scope.
class Fields : private OwnDiagnostics, public MapReader {
 public:
  Fields(const Node& node, std::string what, Problems& problems)
      : MapReader(node, std::move(what), own), problems_(problems) {}
  ~Fields() {
    finish();
    problems_.add(own);
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

 private:
  Problems& problems_;
};

/// Where the text of a scalar begins: behind its quote.
SourceLocation text_where(const Node& node);
std::string join(const std::vector<std::string>& words);

// --- source_files.cpp, merge.cpp -------------------------------------------------------------------------------------

struct Tree {
  std::string file;  ///< the one that was asked for
  Node root;
  std::map<std::string, yaml::Source> sources;  ///< by file, for source lines in messages
};
/// The file with everything it extends merged below it. False: a file cannot be read, `problems` says which.
bool read_tree(const std::string& path, const std::vector<std::string>& folders, Problems& problems, Tree& tree);

/// Maps merge; lists of named entries merge by name; other lists unite; the rest is replaced.
Node merge(const Node& base, const Node& over);
/// Removes the named entries; names that no list has are reported.
void drop(Node& root, const Node& names, Problems& problems);

// --- substitute.cpp, variants.cpp ------------------------------------------------------------------------------------

/// What `${name}` stands for. Values may contain `${...}` themselves.
struct Parameters {
  std::map<std::string, std::string> values;
  std::set<std::string> used;
  std::shared_ptr<std::size_t> text_left =
      std::make_shared<std::size_t>(std::size_t{32} << 20);  ///< characters that replacing may still make
};
Parameters read_parameters(const Node& root, const std::map<std::string, std::string>& overrides, Problems& problems);
void substitute(Node& node, Parameters& parameters, Problems& problems);

/// One instruction entry with a row chosen on every axis and `${...}` replaced.
struct Entry {
  Node node;
  bool broken = false;       ///< a parameter could not be replaced
  std::string written_name;  ///< "fma_${t}": what messages call it, once for all rows
};
std::vector<Entry> expand_instructions(const Node& root, const Parameters& parameters, Problems& problems);
const std::vector<std::string>& instruction_keys();
/// YAML that means the same without bases, parameters, tables and variants.
std::string resolved_text(const Node& root, const std::vector<Entry>& entries);

// --- load_*.cpp ------------------------------------------------------------------------------------------------------

/// An operand written in an entry: some variant's statement must use it.
struct OperandUse {
  bool used = false;
  SourceLocation where;
  std::string known;  ///< the statement's operands, for the message
};

struct Context {
  HardwareModel& model;
  HardwareModel::Parts parts;
  Problems& problems;
  const Node* layouts = nullptr;
  const std::vector<std::string>& folders;  ///< where files that this one names are looked for, besides its own
  Sizes sizes = {};                         ///< asked for; of the other symbols the file says what is likely
  /// By register file and type: how places depend on symbols, as text, and which instructions have it.
  std::map<std::pair<std::int32_t, DType>, std::map<std::string, std::vector<std::size_t>>> growing_layouts = {};
  std::set<std::pair<std::string, std::string>> written = {};  ///< ("link", name) of every entry, readable or not
  const std::map<std::string, DimRange>* dims = nullptr;       ///< of the instruction whose operands are read
  std::map<std::pair<std::string, std::string>, OperandUse> operand_use = {};  ///< by entry and operand
  std::set<std::string> proved_layouts = {};                                   ///< formulas and boxes already looked at
  std::int64_t points_left =
      10'000'000;  ///< terms at index points that proofs may still evaluate: bounds the work on hostile files
};

void load_units(const Node& root, Context& context);
void load_views(const Node& node, Memory& memory, const std::string& what, Context& context);
void load_memories(const Node& root, Context& context);
void load_links(const Node& root, Context& context);
void load_program(const Node& root, Context& context);
void load_verified(const Node& root, Context& context);
Requirements load_requires(const Node& node, const std::string& what, Context& context);
void load_states(const Node& root, Context& context);
std::vector<StateField> load_state_fields(const Node& fields, const std::string& what, Context& context);
void load_formats(const Node& root, Context& context);
void load_barriers(const Node& root, Context& context);
void load_async(const Node& root, Context& context);
void load_objects(const Node& root, Context& context);
/// A template may be plain text, or {asm: text}.
void load_emit(const Node& node, const std::string& what, Template& emit, Template& assembly, Context& context);
/// Placeholders of the machine's own texts are names out of `allowed`.
void check_placeholders(const Template& text, const Node& node, const std::vector<std::string>& allowed,
                        const std::string& what, Context& context);
void load_instruction(const Entry& entry, Context& context);
void report_unused_operands(Context& context);
/// Fills memory, layout and all else of `operand` from its map; name and index names are set before. False: something
/// in it is missing.
bool load_operand(const Node& node, Operand& operand, const std::string& what, Context& context);
std::optional<OperandLayout> load_layout(const Node& node, const Operand& operand, const std::string& what,
                                         Context& context);
std::optional<FormatUse> load_format_use(const Node& node, const std::string& what, Context& context);

/// One line of text that is not empty, for tables and messages.
std::optional<std::string> line_of_text(const Node& node, const std::string& what, Context& context);
/// Items of a top-level list, at most 4096; a list that is no list is reported.
std::vector<const Node*> items(const Node& root, const std::string& key, Problems& problems);
std::optional<UnitId> unit_named(const Node& node, const std::string& what, Context& context);
std::optional<MemoryId> memory_named(const Node& node, const std::string& what, Context& context);
std::optional<LinkId> link_named(const Node& node, const std::string& what, Context& context);
std::optional<DType> dtype_named(const Node& node, const std::string& what, Context& context);
std::optional<IntExpr> int_expr(const Node& node, Problems& problems);
std::optional<Template> template_of(const Node& node, Problems& problems);

// --- real_numbers.cpp ------------------------------------------------------------------------------------------------

std::int64_t bits_of_real(DType type, double value);
/// In all expressions of the instruction: `bits(scale)` of a real number is what it is known by. `node`: the entry.
void take_bits_of_reals(Instruction& instruction, const Node& node, Context& context);
/// Where the value of a key stands, {"encoding", "op"}, as far as the entry goes.
SourceLocation place_of(const Node& entry, const std::vector<std::string>& keys);

// --- load_symbols.cpp ------------------------------------------------------------------------------------------------

void load_symbols(const Node& root, Context& context);
const Symbol* find_symbol(const Context& context, const std::string& name);
/// The value where every symbol has the one of this model.
std::optional<std::int64_t> at_sizes(const IntExpr& e, const Context& context);
bool names_symbol(const IntExpr& e, const Context& context);
/// Puts numbers in place of symbols, after the question has been asked that only symbols answer: Instruction::grows.
void resolve_symbols(Instruction& instruction, Context& context);
/// What `legal` says of extents, alignments and state, in the places where it is looked for (load_legal.cpp).
void fold_conditions(Instruction& instruction, const Node& node, Context& context);
/// `{VB*8}` in a command or a flag is a number; what names no symbol, `{exe}`, stays.
std::string with_sizes(const std::string& text, const Node& node, Context& context);
/// Once all instructions are read: operands of one register file whose layouts grow differently.
void check_growth(Context& context);

// --- quantity.cpp ----------------------------------------------------------------------------------------------------

// `key` is that of the row of hwdesc/model/quantities.h that says the range; `what` names the value in messages.

std::optional<std::int64_t> read_number(const Node& node, std::string_view key, const std::string& what,
                                        const Context& context);
/// The same of a key of a map, if it is there.
std::optional<std::int64_t> read_number(Fields& fields, const char* name, std::string_view key, const std::string& what,
                                        const Context& context);
std::optional<std::int64_t> read_size(const Node& node, std::string_view key, const std::string& what,
                                      const Context& context);  ///< bytes
/// Bytes per cycle; `word` > 0 allows `words/cycle`.
std::optional<double> read_rate(const Node& node, std::string_view key, const std::string& what, const Context& context,
                                std::int64_t word = 0);
std::optional<double> read_time(const Node& node, std::string_view key, const std::string& what,
                                const Context& context);  ///< cycles
std::optional<double> read_energy(const Node& node, std::string_view key, const std::string& what,
                                  const Context& context);  ///< pJ
std::optional<double> read_energy_per_byte(const Node& node, std::string_view key, const std::string& what,
                                           const Context& context);  ///< pJ/B
std::optional<double> read_frequency(const Node& node, std::string_view key, const std::string& what,
                                     const Context& context);  ///< Hz
/// `extent[j]*4/32 cycles`, `4cycles`.
std::optional<IntExpr> read_cycles(const Node& node, std::string_view key, const std::string& what,
                                   const Context& context);

// --- check_*.cpp -----------------------------------------------------------------------------------------------------

/// `node` is the entry, for places.
void check_operands(const Instruction& instruction, const Node& node,
                    Context& context);  ///< layouts, fragments, register sizes
void check_references(const Instruction& instruction, const Node& node,
                      Context& context);  ///< templates and expressions
/// A value in a field of a word: from 0 on, of a `signed` one in two's complement.
void check_fits(std::int64_t value, const FormatField& field, const Format& format, const std::string& what,
                const SourceLocation& where, Context& context);
/// Doubly set bits, values that do not fit, numbers that may not.
void check_formats(const Instruction& instruction, const Node& node, Context& context);
void check_printed(const Instruction& instruction, const Node& node, Context& context);
void check_moved_types(Context& context);
void check_words(Context& context);    ///< instructions that share their words
void check_tokens(Context& context);   ///< queues and what orders them
void check_machine(Context& context);  ///< setters, masks, fills, reachability

}  // namespace isamap::loader
