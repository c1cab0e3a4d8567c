// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace isamap {
namespace {

// Keywords of C++20, identifiers of our own text, and likely library names of kernels.
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
                                     "xor",          "xor_eq",       "restrict",      "typeof",
                                     "std",          "scratch",      "Scratch",       "int8_t",
                                     "int16_t",      "int32_t",      "int64_t",       "uint8_t",
                                     "uint16_t",     "uint32_t",     "uint64_t",      "size_t",
                                     "ptrdiff_t",    "uintptr_t"});

// Functions declared by C, POSIX and the run driver, and compiler builtins: an entry with such a name clashes. Of math
// functions also the forms for float and long double (`expf`, `expl`).
constexpr std::string_view library_names =
    " "
    "main argc argv environ errno assert offsetof NULL EOF INFINITY NAN HUGE_VAL stdin stdout stderr size_t ssize_t "
    "ptrdiff_t max_align_t nullptr_t intptr_t uintptr_t intmax_t uintmax_t off_t pid_t time_t clock_t timespec "
    "FILE int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t va_list jmp_buf div_t ldiv_t printf "
    "fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf scanf fscanf sscanf puts fputs gets fgets putc "
    "fputc putchar getc fgetc getchar ungetc perror fopen freopen fclose fflush fread fwrite fseek ftell rewind "
    "feof ferror clearerr remove rename tmpfile tmpnam setbuf setvbuf getline malloc calloc realloc free alloca "
    "aligned_alloc abort exit _Exit atexit quick_exit system getenv setenv qsort bsearch rand srand random "
    "srandom drand48 atoi atol atoll atof strtol strtoul strtoll strtoull strtod abs labs llabs div ldiv lldiv "
    "memcpy memmove memset memcmp memchr strcpy strncpy strcat strncat strcmp strncmp strlen strchr strrchr "
    "strstr strspn strcspn strpbrk strtok strerror strcoll strxfrm strdup index rindex bcmp bcopy bzero ffs "
    "isalnum isalpha iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper "
    "isascii toascii time clock difftime mktime ctime gmtime localtime asctime strftime clock_gettime nanosleep "
    "signal raise kill setjmp longjmp open close read write lseek pipe fork execv execvp wait dup dup2 access "
    "link unlink chdir getcwd getpid sleep usleep pause alarm sync truncate brk sbrk mmap munmap mprotect select "
    "swab stat mkdir send recv socket bind listen accept connect fabs fmod remainder remquo fma fmax fmin fdim "
    "exp exp2 exp10 expm1 log log2 log10 log1p pow sqrt cbrt hypot sin cos tan asin acos atan atan2 sinh cosh "
    "fadd fsub fmul fdiv fsqrt ffma faddl fsubl fmull fdivl fsqrtl ffmal dadd dsub dmul ddiv dsqrt dfma "
    "tanh asinh acosh atanh erf erfc lgamma tgamma gamma ceil floor trunc round lround llround nearbyint rint "
    "lrint llrint frexp ldexp modf scalbn scalbln ilogb logb nextafter nexttoward copysign nan isnan isinf "
    "isfinite isnormal signbit fpclassify finite significand drem pow10 sincos j0 j1 jn y0 y1 yn min max swap "
    "page Array up padded fail allocate transfer check_end now timed ascending measure ";

// Macros among them and functions of ours, which are reserved for arguments too; and prefixes of families of macros.
constexpr std::string_view macros =
    " "
    "errno NULL EOF NAN INFINITY SNAN SNANF SNANL MAXFLOAT BUFSIZ RAND_MAX EXIT_SUCCESS EXIT_FAILURE MB_CUR_MAX "
    "BYTE_ORDER BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN SIZE_MAX SIZE_WIDTH PTRDIFF_MAX PTRDIFF_MIN PTRDIFF_WIDTH "
    "WCHAR_MAX WCHAR_MIN WCHAR_WIDTH WINT_MAX WINT_MIN WINT_WIDTH SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIG_ATOMIC_WIDTH "
    "MATH_ERRNO MATH_ERREXCEPT FD_SETSIZE NFDBITS WNOHANG WUNTRACED WSTOPPED WEXITED WCONTINUED WNOWAIT M_E M_Ef M_El "
    "math_errhandling isamap_floor_div isamap_clamped isamap_wrong_size ";
constexpr auto macro_families = std::to_array<std::string_view>(
    {"INT8_",    "INT16_",  "INT32_",  "INT64_",      "INTMAX_",  "INTPTR_",  "INT_FAST",  "INT_LEAST",
     "UINT8_",   "UINT16_", "UINT32_", "UINT64_",     "UINTMAX_", "UINTPTR_", "UINT_FAST", "UINT_LEAST",
     "HUGE_VAL", "FP_",     "M_PI",    "M_1_PI",      "M_2_PI",   "M_2_SQRT", "M_SQRT",    "M_LN",
     "M_LOG",    "MAP_",    "MADV_",   "POSIX_MADV_", "PROT_",    "ATOMIC_"});

// Types, functions and variables of emitted models.
constexpr std::string_view model_words =
    " "
    "WeightsHeader about after all arena arena_bytes band bands block bytes call copy count current cut device done "
    "each extents failed file fill first fits found fstat grow header held in in_ input inputs kept known length line "
    "longest made madvise magic mapped marks member members memory misaligned mode model most number numbers once "
    "order output outputs outputs_at own_arena part part_names parts place pointer problem range read_sizes result "
    "samples seconds self shape shapes sizes sizes_fit slots state stream team thread threads time_runs to traced "
    "trace_file unit user versions weights weights_file ";

bool is_macro(const std::string& name) {
  return macros.find(" " + name + " ") != std::string_view::npos ||
         std::any_of(macro_families.begin(), macro_families.end(),
                     [&](std::string_view family) { return name.starts_with(family); });
}

bool declared_elsewhere(const std::string& name) {
  const auto listed = [](const std::string& word) {
    return library_names.find(" " + word + " ") != std::string_view::npos;
  };
  const bool other_form = name.size() > 1 && (name.back() == 'f' || name.back() == 'l');
  return listed(name) || (other_form && listed(name.substr(0, name.size() - 1)));
}

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
  return contains(reserved, name) || declared_elsewhere(name) || is_macro(name) ? name + "_kernel" : name;
}

std::string model_name(const std::string& model) {
  const std::string name = entry_name(model);
  return model_words.find(" " + name + " ") != std::string_view::npos ? name + "_model" : name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string comment_text(std::string text) {
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at)) text.replace(at, 2, "* /");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

std::string Names::unique(const std::string& wish) {
  const std::string word = identifier(wish), base = is_macro(word) ? "x_" + word : word;
  int& number = numbers_.try_emplace(base, 1).first->second;
  for (;; ++number) {
    std::string name = number == 1 ? base : base + "_" + std::to_string(number);
    const bool is_reserved = number == 1 && contains(reserved, name);  // none ends with a number like ours
    if (!is_reserved && taken_.insert(name).second) return name;
  }
}

}  // namespace isamap
