// SPDX-License-Identifier: Apache-2.0
#pragma once
// Private to the loader: the steps from files to a model, in order.
//
//   files -> one tree (extends, without)      source_files.cpp, merge.cpp
//   tree -> tree without ${...} and variants  substitute.cpp, variants.cpp
//   tree -> parts of the model                load_*.cpp by the table of keys (hwdesc/keys, fields.h, quantity.cpp)
//   parts -> proofs                           check_*.cpp
//
// Every step records its problems and continues, so that one run reports all of them.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hwdesc/keys/key.h"
#include "hwdesc/load/key_use.h"
#include "isamap/hardware.h"
#include "support/yaml.h"

namespace isamap::loader {

using yaml::Kind;
using yaml::Node;

/// Problems found so far; equal ones (of one place in many variants) are kept once.
class Problems {
 public:
  void error(const SourceLocation& where, std::string message, std::string hint = "",
             std::vector<std::string> notes = {});
  void warning(const SourceLocation& where, std::string message, std::string hint = "");
  void add(Diagnostic diagnostic);
  void add(const Diagnostics& diagnostics);
  /// Problems of a parser; `hint` is added to those without a hint.
  void add(const Diagnostics& diagnostics, const std::string& hint);
  /// The value there is unreadable and the reason has been added: later problems there are dropped.
  void settle(const Node& scalar);
  bool any_errors() const { return has_errors(list_); }
  void note_read(const keys::Key& key) { read_.insert(&key); }
  const KeyUse& keys_read() const { return read_; }
  std::size_t count() const { return count_; }  ///< of all additions, repeated ones too
  Diagnostics take() { return std::move(list_); }

 private:
  Diagnostics list_;
  std::set<std::string> seen_;
  std::vector<std::pair<SourceLocation, int>> settled_;  ///< place, number of columns
  std::size_t count_ = 0;
  KeyUse read_;
};

class Fields;  // fields.h

/// Position of the text of a scalar: after its quote.
SourceLocation text_where(const Node& node);
std::string join(const std::vector<std::string>& words);

// --- source_files.cpp, merge.cpp -------------------------------------------------------------------------------------

struct Tree {
  std::string file;  ///< the requested file
  Node root;
  std::map<std::string, yaml::Source> sources;  ///< by file, for source lines in messages
};
/// The file with everything it extends merged below it. False: a file cannot be read, which is reported.
bool read_tree(const std::string& path, const std::vector<std::string>& folders, Problems& problems, Tree& tree);

/// Maps merge; lists of named entries merge by name; other lists are united; all else is replaced.
Node merge(Node base, const Node& over);
/// Removes the named entries; unknown names are reported.
void drop(Node& root, const Node& names, Problems& problems);
/// Can the written name "store_${t}" of an entry with `variants` expand to this one?
bool can_make(const std::string& written, const std::string& name);

// --- substitute.cpp, variants.cpp ------------------------------------------------------------------------------------

/// Values of `${name}`, which may contain `${...}` themselves.
struct Parameters {
  std::map<std::string, std::string> values;
  std::set<std::string> used;
  std::shared_ptr<std::size_t> text_left =
      std::make_shared<std::size_t>(std::size_t{32} << 20);  ///< limit of characters produced by replacement
};
Parameters read_parameters(const Node& root, const std::map<std::string, std::string>& overrides, Problems& problems);
void substitute(Node& node, Parameters& parameters, Problems& problems);

/// One instruction entry with a row chosen on every axis and `${...}` replaced.
struct Entry {
  Node node;
  bool broken = false;       ///< a parameter could not be replaced
  std::string written_name;  ///< "fma_${t}": its name in messages, once for all rows
};
std::vector<Entry> expand_instructions(const Node& root, const Parameters& parameters, Problems& problems);
/// Equivalent YAML without bases, parameters, tables and variants.
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
  const std::vector<std::string>& folders;  ///< search path of named files, besides the file's own folder
  Sizes sizes = {};                         ///< requested; other symbols have the file's likely value
  /// By register file and type: the dependence of places on symbols, as text, and the instructions with it.
  std::map<std::pair<std::int32_t, DType>, std::map<std::string, std::vector<std::size_t>>> growing_layouts = {};
  std::set<std::pair<std::string, std::string>> written = {};  ///< ("link", name) of every entry, readable or not
  const std::map<std::string, DimRange>* dims = nullptr;       ///< of the instruction whose operands are read
  std::map<std::pair<std::string, std::string>, OperandUse> operand_use = {};  ///< by entry and operand
  std::set<std::string> proved_layouts = {};                                   ///< formulas and boxes already checked
  std::int64_t points_left =
      10'000'000;  ///< terms at index points that proofs may still evaluate; bounds the work on malicious files
};

void load_units(const Node& root, Context& context);
void load_views(const Node& node, Memory& memory, const std::string& what, Context& context);
void load_memories(const Node& root, Context& context);
void load_links(const Node& root, Context& context);
void load_program(const Node& root, Context& context);
void load_timing(const Node& root, Context& context);
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
/// Placeholders of the machine's own texts must be in `allowed`.
void check_placeholders(const Template& text, const Node& node, const std::vector<std::string>& allowed,
                        const std::string& what, Context& context);
void load_instruction(const Entry& entry, Context& context);
void report_unused_operands(Context& context);
/// Fills memory, layout and all other fields of `operand` from its map; name and index names are set before. False:
/// incomplete.
bool load_operand(const Node& node, Operand& operand, const std::string& what, Context& context);
std::optional<OperandLayout> load_layout(const Node& node, const Operand& operand, const std::string& what,
                                         Context& context);
std::optional<FormatUse> load_format_use(const Node& node, const std::string& what, Context& context);

/// A non-empty text of one line, for tables and messages.
std::optional<std::string> line_of_text(const Node& node, const std::string& what, Context& context);
/// Items of a top-level list, at most 4096; other nodes are reported.
std::vector<const Node*> items(const Node& root, const std::string& key, Problems& problems);
std::optional<UnitId> unit_named(const Node& node, const std::string& what, Context& context);
std::optional<MemoryId> memory_named(const Node& node, const std::string& what, Context& context);
std::optional<LinkId> link_named(const Node& node, const std::string& what, Context& context);
std::optional<DType> dtype_named(const Node& node, const std::string& what, Context& context);
std::optional<IntExpr> int_expr(const Node& node, Problems& problems);
std::optional<Template> template_of(const Node& node, Problems& problems);

// --- real_numbers.cpp ------------------------------------------------------------------------------------------------

std::int64_t bits_of_real(DType type, double value);
/// Replaces `bits(scale)` of real numbers in all expressions of the instruction. `node`: the entry.
void take_bits_of_reals(Instruction& instruction, const Node& node, Context& context);
/// Location of the value at a path of keys, {"encoding", "op"}, as far as the entry has them.
SourceLocation place_of(const Node& entry, const std::vector<std::string>& keys);

// --- load_symbols.cpp ------------------------------------------------------------------------------------------------

void load_symbols(const Node& root, Context& context);
const Symbol* find_symbol(const Context& context, const std::string& name);
/// The value of an expression with this model's symbols.
std::optional<std::int64_t> at_sizes(const IntExpr& e, const Context& context);
bool names_symbol(const IntExpr& e, const Context& context);
/// Replaces symbols by numbers, after Instruction::grows, which depends on symbols, is computed.
void resolve_symbols(Instruction& instruction, Context& context);
/// Moves conditions of `legal` on extents, alignments and state to the fields that express them (load_legal.cpp).
void fold_conditions(Instruction& instruction, const Node& node, Context& context);
/// Replaces `{VB*8}` in a command or a flag by a number; placeholders without symbols, `{exe}`, stay.
std::string with_sizes(const std::string& text, const Node& node, Context& context);
/// After all instructions are read: reports operands of one register file whose layouts grow differently.
void check_growth(Context& context);

// --- quantity.cpp ----------------------------------------------------------------------------------------------------

// `key`: the row with the range; `what` names the value in messages.

std::optional<std::int64_t> read_number(const Node& node, const keys::Key& key, const std::string& what,
                                        const Context& context);
std::optional<std::int64_t> read_size(const Node& node, const keys::Key& key, const std::string& what,
                                      const Context& context);  ///< bytes
/// Bytes per cycle; `word` > 0 allows `words/cycle`.
std::optional<double> read_rate(const Node& node, const keys::Key& key, const std::string& what, const Context& context,
                                std::int64_t word = 0);
std::optional<double> read_time(const Node& node, const keys::Key& key, const std::string& what,
                                const Context& context);  ///< cycles
std::optional<double> read_energy(const Node& node, const keys::Key& key, const std::string& what,
                                  const Context& context);  ///< pJ
std::optional<double> read_energy_per_byte(const Node& node, const keys::Key& key, const std::string& what,
                                           const Context& context);  ///< pJ/B
std::optional<double> read_frequency(const Node& node, const keys::Key& key, const std::string& what,
                                     const Context& context);  ///< Hz
/// `extent[j]*4/32 cycles`, `4cycles`.
std::optional<IntExpr> read_cycles(const Node& node, const keys::Key& key, const std::string& what,
                                   const Context& context);

// --- check_*.cpp -----------------------------------------------------------------------------------------------------

/// `node` is the entry, for places.
void check_operands(const Instruction& instruction, const Node& node,
                    Context& context);  ///< layouts, fragments, register sizes
void check_references(const Instruction& instruction, const Node& node,
                      Context& context);  ///< templates and expressions
/// A value in a field of a word: unsigned, or two's complement of a `signed` one.
void check_fits(std::int64_t value, const FormatField& field, const Format& format, const std::string& what,
                const SourceLocation& where, Context& context);
/// Bits set twice, values that do not fit, numbers that may not fit.
void check_formats(const Instruction& instruction, const Node& node, Context& context);
void check_printed(const Instruction& instruction, const Node& node, Context& context);
void check_moved_types(Context& context);
void check_words(Context& context);    ///< instructions with equal words
void check_tokens(Context& context);   ///< queues and their tokens
void check_machine(Context& context);  ///< setters, masks, fills, reachability

}  // namespace isamap::loader
