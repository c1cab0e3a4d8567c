#include "backends/cpp/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace isamap {
namespace {

// Keywords of C++20, what our own text uses, and library names a kernel may well be called after.
constexpr std::array reserved =
    std::to_array<std::string_view>({"alignas",      "alignof",      "and",           "and_eq",
                                     "asm",          "auto",         "bitand",        "bitor",
                                     "bool",         "break",        "case",          "catch",
                                     "char",         "char8_t",      "char16_t",      "char32_t",
                                     "class",        "compl",        "concept",       "const",
                                     "consteval",    "constexpr",    "constinit",     "const_cast",
                                     "continue",     "co_await",     "co_return",     "co_yield",
                                     "decltype",     "default",      "delete",        "do",
                                     "double",       "dynamic_cast", "else",          "enum",
                                     "explicit",     "export",       "extern",        "false",
                                     "float",        "for",          "friend",        "goto",
                                     "if",           "inline",       "int",           "linux",
                                     "long",         "mutable",      "namespace",     "new",
                                     "noexcept",     "not",          "not_eq",        "nullptr",
                                     "operator",     "or",           "or_eq",         "private",
                                     "protected",    "public",       "register",      "reinterpret_cast",
                                     "requires",     "return",       "short",         "signed",
                                     "sizeof",       "static",       "static_assert", "static_cast",
                                     "struct",       "switch",       "template",      "this",
                                     "thread_local", "throw",        "true",          "try",
                                     "typedef",      "typeid",       "typename",      "union",
                                     "unix",         "unsigned",     "using",         "virtual",
                                     "void",         "volatile",     "wchar_t",       "while",
                                     "xor",          "xor_eq",       "std",           "scratch",
                                     "Scratch"});

constexpr std::array library = std::to_array<std::string_view>(
    {"main",   "abs",   "div",   "exp",    "log",  "sqrt",   "tanh", "erf",   "round", "fmin",
     "fmax",   "min",   "max",   "floor",  "ceil", "malloc", "free", "abort", "exit",  "memcpy",
     "memset", "gamma", "index", "select", "read", "write",  "time", "pow",   "sin",   "cos"});

bool contains(const auto& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128;
    if (letter)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out.front())) != 0) out.insert(0, "x");
  return out;
}

std::string entry_name(const std::string& program) {
  const std::string name = identifier(program);
  return contains(reserved, name) || contains(library, name) ? name + "_kernel" : name;
}

std::string Names::unique(const std::string& wish) {
  const std::string base = identifier(wish);
  std::string name = base;
  for (int n = 2; contains(reserved, name) || taken_.contains(name); ++n) name = base + "_" + std::to_string(n);
  taken_.insert(name);
  return name;
}

}  // namespace isamap
