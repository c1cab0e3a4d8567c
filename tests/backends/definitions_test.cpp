// SPDX-License-Identifier: Apache-2.0
// Which functions of a text are printed: those that something names.

#include "backends/cpp/text/definitions.h"

#include <gtest/gtest.h>

namespace isamap {
namespace {

TEST(Definitions, FunctionsThatNothingNamesAreDropped) {
  const std::string text =
      "// the first\nstatic inline int f(int x) { return x; }\nstatic int g() { return f(1); }  // of f\n"
      "template <class T> T h(T x) { if (x) { return x; } return T(1'000); }\n";
  EXPECT_EQ(unused_functions_dropped(text, ""), "");
  EXPECT_EQ(unused_functions_dropped(text, "y = f(2);"), "// the first\nstatic inline int f(int x) { return x; }\n");
  EXPECT_EQ(unused_functions_dropped(text, "y = g();"),
            "// the first\nstatic inline int f(int x) { return x; }\nstatic int g() { return f(1); }  // of f\n");
  EXPECT_EQ(unused_functions_dropped(text, "h(1); ff(); g_();"),
            "template <class T> T h(T x) { if (x) { return x; } return T(1'000); }\n");
}

/// They warn of nothing when unused, may act when they are initialised, and may name functions.
TEST(Definitions, EverythingElseStays) {
  const std::string text =
      "#include <x>\nstruct S { int f() { return 1; } };\nusing T = int (*)(int);\n"
      "static const long allowed = syscall(1, '}');\nenum E { a };\n#if defined(X)\nstatic int p() { return 0; "
      "}\n#endif\n"
      "#define CALL(x) \\\n  q(x)\nextern \"C\" {\nint r();\n}\nnamespace n { int s() { return 1; } }\n"
      "inline S operator+(S x, S) { return x; }\nthis is no C++\n";
  EXPECT_EQ(unused_functions_dropped(text, ""), text);
  const std::string q = "static int q(int x) { return x; }\n",
                    unused = "static int t(const char* x = \"}\") { return *x; }\n";
  EXPECT_EQ(unused_functions_dropped(q + unused + text, ""), q + text);
}

/// A compiler may call them where the code does not name them.
TEST(Definitions, FunctionsOfExternalLinkageStay) {
  const std::string text = "extern \"C\" void keep_state(void) { stop(); }\n";
  EXPECT_EQ(unused_functions_dropped("static void f() {}\n" + text + "static int stop() { return 0; }\n", ""),
            text + "static int stop() { return 0; }\n");
}

TEST(Definitions, AttributesAndDeclarations) {
  const std::string text =
      "static int f();\n__attribute__((target(\"x\"))) static int f() { return 1; }\n"
      "[[maybe_unused]] static int g() { return 2; }\nalignas(8) static int h() { return 3; }\n";
  EXPECT_EQ(unused_functions_dropped(text, "f()"),
            "static int f();\n__attribute__((target(\"x\"))) static int f() { return 1; }\n");
  EXPECT_EQ(unused_functions_dropped(text, "h()"), "alignas(8) static int h() { return 3; }\n");
}

}  // namespace
}  // namespace isamap
