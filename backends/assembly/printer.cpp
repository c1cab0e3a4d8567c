// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/printer.h"

#include <fmt/format.h>

#include <charconv>

#include "backends/assembly/command_order.h"
#include "backends/assembly/command_stream.h"
#include "backends/assembly/straight_line.h"
#include "hwdesc/model/stream_window.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

std::string safe(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

class AssemblyPrinter {
 public:
  AssemblyPrinter(const Program& program, const HardwareModel& model, std::vector<CallTokens> plan)
      : program_(program),
        model_(model),
        slots_(program),
        stream_(program, model, std::move(plan)),
        order_(
            program, model, stream_window(model),
            [this](const CallSite& site, const std::int64_t* loops) {
              if (!problem_) problem_ = stream_.command(site, loops);
            },
            [this](const std::string& text) { comment("  " + text); }),
        sign_(model.program.comment.empty() ? "#" : model.program.comment) {}

  Result<std::string> print() {
    header();
    if (!model_.program.begin.empty()) line(model_.program.begin);
    loop_line(program_, model_, slots_,
              {[this](const CallSite& site, const std::int64_t* loops) { order_.call(site, loops); },
               [this](const Node& nest, const std::int64_t* loops) {
                 order_.flush();
                 host(nest, loops);
               },
               [this](const std::string& text) { remark(text); }, [this] { return problem_.has_value(); },
               [this] { order_.flush(); }});
    if (problem_) return *problem_;
    if (!model_.program.end.empty()) line(model_.program.end);
    return stream_.finish();
  }

 private:
  void line(const std::string& s) { stream_.line(s); }
  void comment(const std::string& s) { line(sign_ + " " + safe(s)); }
  void remark(const std::string& text) {
    if (!marked_part(text)) return order_.comment(text);
    order_.flush();
    comment(text);
  }

  void header() {
    comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it", program_.name, model_.name));
    lines(isamap::print(program_.kernel));
    if (!program_.schedule_text.empty()) comment("schedule:");
    lines(program_.schedule_text);
    for (const Assumption& assumption : program_.assumptions) comment("assumes: " + assumption.text);
    for (const Buffer& buffer : program_.buffers) {
      const Memory& memory = model_.memory(buffer.memory);
      if (buffer.slots < 0)
        comment(fmt::format("{}: {} bytes in {} at {}", buffer.name, element_span(buffer) * bytes(buffer.dtype),
                            memory.name, memory.base + buffer.address / memory.granularity));
    }
  }
  void lines(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      comment("  " + text.substr(at, end - at));
      at = end + 1;
    }
  }

  void host(const Node& nest, const std::int64_t* loops) {
    comment(host_marker(hosts_++));
    std::string where;
    for (std::size_t i = 0; i < slots_.names().size(); ++i)
      if (loops[i] != 0) where += fmt::format(" {} = {}", slots_.names()[i], loops[i]);
    describe(nest, 1);
    if (!where.empty()) comment("  at" + where);
  }
  void describe(const Node& node, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    const auto list = [&](const std::vector<Node>& nodes) {
      for (const Node& n : nodes) describe(n, depth + 1);
    };
    std::visit(
        overloaded{
            [&](const Loop& loop) {
              comment(fmt::format("{}for {} in {}", indent, loop.variable, loop.trip));
              list(loop.body);
            },
            [&](const Guard& guard) {
              std::string conditions;
              for (const AffineExpr& e : guard.conditions)
                conditions += (conditions.empty() ? "" : ", ") + isamap::print(e) + " >= 0";
              comment(indent + "if " + conditions);
              list(guard.then);
              if (!guard.otherwise.empty()) comment(indent + "else");
              list(guard.otherwise);
            },
            [&](const Element& e) {
              std::vector<std::string> reads;
              for (const Ref& ref : e.reads)
                reads.push_back(ref.buffer.valid() ? name_of(ref) : "value(" + isamap::print(ref.index.at(0)) + ")");
              comment(fmt::format("{}{} {} {}", indent, name_of(e.write), symbol(e.reduction),
                                  isamap::print(e.body, reads)));
            },
            [](const auto&) {},
        },
        node.is);
  }
  std::string name_of(const Ref& ref) const {
    std::string text;
    for (const AffineExpr& e : ref.index) text += (text.empty() ? "" : ", ") + isamap::print(e);
    return program_.buffers[ref.buffer.index()].name + "[" + text + "]";
  }

  const Program& program_;
  const HardwareModel& model_;
  LoopSlots slots_;
  CommandStream stream_;
  CommandOrder order_;
  std::string sign_;
  std::int64_t hosts_ = 0;
  std::optional<Diagnostic> problem_;
};

}  // namespace

std::string host_marker(std::int64_t number) { return fmt::format("host {}:", number); }

std::string part_marker(std::size_t number, const std::string& name) {
  return fmt::format("part {}: {}", number, name);
}

std::optional<std::size_t> marked_part(std::string_view text) {
  constexpr std::string_view word = "part ";
  std::size_t number = 0;
  if (!text.starts_with(word)) return std::nullopt;
  const auto [end, problem] = std::from_chars(text.data() + word.size(), text.data() + text.size(), number);
  if (problem != std::errc() || end == text.data() + text.size() || *end != ':') return std::nullopt;
  return number;
}

std::optional<Diagnostic> too_many_commands(const Program& program) {
  if (count_calls(program.prepack, max_commands) + count_calls(program.body, max_commands) <= max_commands) return {};
  return error(fmt::format("the program has more than {} commands, the limit of a straight-line stream", max_commands),
               "use larger tiles, or a smaller kernel");
}

Result<std::string> print_assembly(const Program& program, const HardwareModel& model) {
  if (auto problem = too_many_commands(program)) return *problem;
  auto plan = plan_tokens(program, model);
  if (!plan) return plan.diagnostics();
  return AssemblyPrinter(program, model, std::move(*plan)).print();
}

}  // namespace isamap
