// SPDX-License-Identifier: Apache-2.0
#include "mapper/certificate_files.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "mapper/alternative_digit_orders.h"
#include "mapper/foreign_mapping.h"
#include "mapper/match/instruction_tree.h"
#include "mapper/proof/certificate.h"
#include "mapper/proof/z3_solver.h"
#include "support/file_system.h"

namespace isamap {
namespace {

/// Names come from untrusted files: only letters, digits and '_' reach the file system and the comments.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text.substr(0, 64)) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return result;
}
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }, ' ');
  return text;
}

std::vector<std::string> comments_of(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping) {
  const Instruction& instruction = instruction_of(mapping, model);
  std::vector<std::string> lines{
      one_line("kernel " + kernel.name + ": " + print(kernel.statements[mapping.statement.index()], kernel.tensors)),
      one_line("instruction " + instruction.name + ": " + print(instruction.statement(), instruction.tensors)),
      one_line("mapping " + print(mapping, kernel, model)),
      "unsat answers prove it: S sound, O no partial sums, N padding is harmless, C exact cover, A sums add up from "
      "call to call (docs/mapping.md)"};
  for (const std::string& need : mapping.needs) lines.push_back(one_line("needs " + need));
  for (const Carrier& carrier : mapping.carriers) {
    const Computation& statement = kernel.statements[mapping.statement.index()];
    lines.push_back(one_line("carrier of " + carrier.reason + ": " +
                             (carrier.access == access_count(statement)
                                  ? constant_name(mapping)
                                  : kernel.tensors[access_of(statement, carrier.access).tensor.index()].name)));
  }
  return lines;
}

/// Written under a temporary name and renamed, so that a file is complete or absent; the process id separates two runs.
/// Why it cannot be written, or nothing.
std::optional<Diagnostic> write_whole(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path beside = path.string() + "." + std::to_string(::getpid()) + ".tmp";
  errno = 0;
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  std::error_code problem;
  if (!out) problem.assign(errno == 0 ? EIO : errno, std::generic_category());
  if (!problem) std::filesystem::rename(beside, path, problem);
  if (!problem) return std::nullopt;
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return cannot_write(path.string(), problem.value());
}

/// Is it a name like "mapping_12_fma.smt2"?
bool is_certificate(const std::string& name) {
  const std::string start = "mapping_", end = ".smt2";
  return name.size() > start.size() + end.size() && name.starts_with(start) && name.ends_with(end) &&
         std::isdigit(static_cast<unsigned char>(name[start.size()])) != 0;
}

/// A folder holds the proofs of one list, so proofs of an earlier run are removed. Files written since `start` belong
/// to this run or to a concurrent one.
void remove_older(const std::filesystem::path& folder, const std::vector<std::string>& written,
                  std::filesystem::file_time_type start) {
  std::error_code ignored;
  std::vector<std::filesystem::path> old;
  for (std::filesystem::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (is_certificate(name) && std::find(written.begin(), written.end(), name) == written.end() &&
        std::filesystem::last_write_time(it->path(), ignored) < start)
      old.push_back(it->path());
  }
  for (const std::filesystem::path& path : old) std::filesystem::remove(path, ignored);
}

Certificate certificate_of(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping) {
  Certificate certificate = certify(alignment_of(kernel, instruction_of(mapping, model), mapping), mapping);
  certificate.comments = comments_of(kernel, model, mapping);
  return certificate;
}

/// Resource units for each of them: most need a hundredth, and none may delay the proof for the given sizes.
constexpr std::uint64_t any_size_limit = 200'000;

/// The questions with free sizes, if the solver answers all of them within its limit; otherwise they are left out.
std::string proved_for_any_size(const Alignment& alignment, const Mapping& mapping, const MapOptions& options,
                                MapResult& result) {
  Certificate certificate = certify_any_size(alignment, mapping);
  SolverStatistics apart;
  if (certificate.questions.empty() ||
      replay(certificate, std::min<std::uint64_t>(options.rlimit, any_size_limit), apart) != Truth::yes)
    return "";
  result.solver.queries += apart.queries;
  result.solver.seconds += apart.seconds;
  certificate.comments = {"", "the same for " + one_line(certificate.comments.front())};
  return "\n" + print(certificate);
}

}  // namespace

Verdict prove(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping, std::uint64_t rlimit) {
  check_own(mapping, kernel, model);
  const Certificate certificate = certificate_of(kernel, model, mapping);
  Verdict verdict;
  SolverStatistics statistics;
  const Truth truth = replay(certificate, rlimit, statistics, &verdict.failed);
  verdict.proof = truth == Truth::yes ? Proof::proved : truth == Truth::no ? Proof::unproved : Proof::unknown;
  verdict.certificate = print(certificate);
  return verdict;
}

std::string number_of(const Mapping& mapping, int other_order) {
  std::string text = std::to_string(mapping.id);
  if (other_order >= 26) return text + "_" + std::to_string(other_order);
  if (other_order >= 0) text += static_cast<char>('a' + other_order);
  return text;
}

std::string certificate_file(const Mapping& mapping, int other_order, const HardwareModel& model) {
  return "mapping_" + number_of(mapping, other_order) + "_" + plain(instruction_of(mapping, model).name) + ".smt2";
}

namespace {

std::optional<Diagnostic> create_folder(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  std::error_code ignored;  // another process may create it meanwhile
  if (!problem || std::filesystem::is_directory(folder, ignored)) return std::nullopt;
  return error_at({folder, 0, 0}, "cannot create this folder: " + problem.message());
}

/// Proves one mapping, records that in it, and writes the proof.
Diagnostics write_certificate(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                              const std::filesystem::path& path, Mapping& mapping, MapResult& result) {
  const Certificate certificate = certificate_of(kernel, model, mapping);
  std::string failed;
  const Truth truth = replay(certificate, options.rlimit, result.solver, &failed);
  ISAMAP_CHECK(truth != Truth::no, "the solver refutes a listed mapping: " + failed + "\n" + print(certificate));
  if (truth == Truth::unknown) mapping.proof = Proof::unknown;
  const Alignment alignment = alignment_of(kernel, instruction_of(mapping, model), mapping);
  const std::string any_size = proved_for_any_size(alignment, mapping, options, result);
  if (auto problem = write_whole(path, print(certificate) + any_size)) return {std::move(*problem)};
  return {};
}

}  // namespace

std::vector<std::string> certificate_comments(const Kernel& kernel, const HardwareModel& model,
                                              const Mapping& mapping) {
  return comments_of(kernel, model, mapping);
}

Diagnostics write_certificate_texts(const std::string& folder,
                                    const std::vector<std::pair<std::string, std::string>>& texts) {
  if (auto problem = create_folder(folder)) return {std::move(*problem)};
  const auto start = std::filesystem::file_time_type::clock::now();
  std::vector<std::string> written;
  for (const auto& [name, text] : texts) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (auto problem = write_whole(path, text)) return {std::move(*problem)};
    written.push_back(name);
  }
  remove_older(folder, written, start);
  return {};
}

Diagnostics write_certificates(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                               MapResult& result) {
  const std::filesystem::path folder = options.certificates;
  if (auto problem = create_folder(options.certificates)) return {std::move(*problem)};
  const auto start = std::filesystem::file_time_type::clock::now();
  std::vector<std::string> written;
  AlternativeDigitOrders other_orders(kernel);
  for (Mapping& mapping : result.mappings) {
    result.stopped = options.certificate_progress &&
                     !options.certificate_progress(result.certificate_files.size(), result.mappings.size());
    if (result.stopped) break;
    std::vector<Mapping> others = other_orders.of(mapping, instruction_of(mapping, model));
    for (int order = -1; order < static_cast<int>(others.size()); ++order) {
      Mapping& one = order < 0 ? mapping : others[static_cast<std::size_t>(order)];
      written.push_back(certificate_file(mapping, order, model));
      Diagnostics problems = write_certificate(kernel, model, options, folder / written.back(), one, result);
      if (has_errors(problems)) return problems;
      if (one.proof == Proof::unknown) mapping.proof = Proof::unknown;
    }
    result.certificate_files.push_back(certificate_file(mapping, -1, model));
  }
  remove_older(folder, written, start);
  return {};
}

}  // namespace isamap
