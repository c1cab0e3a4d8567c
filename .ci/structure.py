#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `./dev lint` asks of the shape of the sources: folders without cycles, and functions that fit a screen.

Sources are laid out by clang-format, so a definition ends at the brace that stands in the column of its first line.
"""
import collections
import os
import re
import subprocess
import sys

MOST_FILES, MOST_FUNCTION, MOST_CLASS, MOST_PARAMETERS, LONGEST_LINE = 41, 60, 250, 6, 120

# Folders from the bottom up. What stands in one line knows nothing of each other.
LAYERS = [["support"], ["ir"], ["hwdesc"], ["program"], ["mapper", "backends", "frontends"], ["scheduler"], ["lab", "verify", "planner", "jobs"],
          ["driver"], ["report"], ["cli"]]
# Public headers belong to the folder that implements them.
OWNERS = {"result": "support", "stop": "support", "affine": "ir", "expression": "ir", "kernel": "ir", "instruction": "ir", "mapping": "ir",
          "schedule": "ir", "program": "ir", "interpret": "ir", "hardware": "hwdesc", "timing": "hwdesc", "program_on_machine": "program",
          "mapper": "mapper", "cost_model": "scheduler", "search": "scheduler", "scheduler": "scheduler",
          "extension": "scheduler", "backend": "backends", "frontends": "frontends", "compile": "driver", "symbolic": "ir",
          "symbolic_program": "ir"}


def sources():
    listed = subprocess.check_output(["git", "ls-files", "*.h", "*.cpp"], text=True).split("\n")
    return [f for f in listed if f and os.path.isfile(f)]


def includes(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r'^#include "([^"]+)"', file.read(), re.M)


def folder_of(include):
    """The folder that an include names; nothing for what is not ours."""
    if include.startswith("isamap/"):
        return OWNERS[include[len("isamap/"):-len(".h")]]
    return os.path.dirname(include) if os.path.isfile(include) else None


def edges(files):
    """(folder, folder) -> one include that makes it."""
    found = {}
    for path in files:
        own = os.path.dirname(path)
        for include in includes(path):
            other = folder_of(include)
            # A public header belongs to its layer as a whole, so it makes no edge inside of that layer.
            if include.startswith("isamap/") and other == own.split("/")[0]:
                continue
            if other and other != own:
                found.setdefault((own, other), f"{path} includes {include}")
    return found


def child(folder, of):
    """The part of `of` that a folder lies in: itself ('.'), one of its folders, or none."""
    if of and folder != of and not folder.startswith(of + "/"):
        return None
    rest = folder[len(of):].lstrip("/")
    return rest.split("/")[0] if rest else "."


def cycles(files):
    made = edges(files)
    folders = {""}
    for path in files:
        folder = os.path.dirname(path)
        while folder:
            folders.add(folder)
            folder = os.path.dirname(folder)
    for of in sorted(folders):
        graph = collections.defaultdict(dict)
        for (a, b), why in made.items():
            one, other = child(a, of), child(b, of)
            if one and other and one != other:
                graph[one].setdefault(other, why)
        for start in sorted(graph):
            way = path_back(graph, start)
            if way and start == min(way[:-1]):
                yield f"{of or 'the project'}: " + " -> ".join(way) + ": " + "; ".join(
                    graph[a][b] for a, b in zip(way, way[1:]))


def path_back(graph, start):
    """The shortest way from a folder to itself."""
    came_from, queue = {}, collections.deque([start])
    while queue:
        at = queue.popleft()
        for to in sorted(graph.get(at, {})):
            if to == start:
                way = [start, at]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1] if at != start else None
            if to not in came_from:
                came_from[to] = at
                queue.append(to)
    return None


def upward(files):
    level = {folder: n for n, line in enumerate(LAYERS) for folder in line}
    for (a, b), why in sorted(edges(files).items()):
        one, other = a.split("/")[0], b.split("/")[0]
        if one == other or one not in level or other not in level:
            continue
        if level[other] >= level[one]:
            yield f"{one} is no layer above {other}: {why}"


def definitions(path):
    """(line, kind, head, number of lines) of functions and classes. A function that is one table counts as a table."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    opened = []  # (indent, first line, text so far)
    statement_start = {}
    for n, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith(("//", "#")):
            continue
        line = without_comment(line)
        indent = len(line) - len(line.lstrip())
        if line.strip().startswith("}"):  # a brace that closed further to the right, as that of an argument does
            while opened and opened[-1][0] > indent:
                opened.pop()
        if line.strip().startswith("}") and opened and opened[-1][0] == indent:
            _, first, head = opened.pop()
            kind = kind_of(head)
            if kind == "function" and is_table(lines[first:n + 1]):
                kind = "table"
            if kind:
                yield first + 1, kind, head, n - first + 1
            statement_start.clear()
            continue
        if not statement_start:
            statement_start["n"], statement_start["indent"], statement_start["text"] = n, indent, ""
        statement_start["text"] += " " + line.strip()
        if line.endswith("{"):
            opened.append((statement_start["indent"], statement_start["n"], statement_start["text"].strip()))
            statement_start.clear()
        elif line.rstrip().endswith((";", "}", ":", "},")):
            statement_start.clear()


def without_comment(line):
    """The line without a comment behind its code; `//` inside a string is none."""
    at = line.find(" //")
    while at >= 0 and line.count('"', 0, at) % 2:
        at = line.find(" //", at + 1)
    return line if at < 0 else line[:at].rstrip()


def is_table(body):
    """A function of one initializer: a static table, and the return of it. Rows are data, of any number."""
    statements = [line for line in body if line.rstrip().endswith(";")]
    return len(statements) <= 2 and any(re.match(r"\s+static const .* = \{$", line) for line in body)


def kind_of(head):
    if re.match(r"(template <.*> ?)?(class|struct) \w+[^()]*\{$", head):
        return "class"
    if re.match(r"(namespace|extern|enum|union|if|for|while|switch|do|else|case|return|const auto|auto|try)\b", head):
        return None
    if " = [" in head or head.startswith("[") or "= {" in head:
        return None
    return "function" if re.search(r"\w\(.*\)( const| noexcept| override| final)*( : .*)? \{$", head) else None


def parameters(head):
    """How many a function takes: commas outside of brackets in its first pair of parentheses."""
    begin = re.search(r"\w\(", head).end()
    depth, count, some = 1, 1, False
    for c in head[begin:]:
        depth += c in "(<[{"
        depth -= c in ")>]}"
        if depth == 0:
            break
        some = some or not c.isspace()
        count += c == "," and depth == 1
    return count if some else 0


def signature_from_outside(path, line):
    """Does `// signature of ...` stand above the definition? It mimics another API, which decides its parameters."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    return line >= 2 and lines[line - 2].startswith("// signature of ")


def too_large(files):
    for path in files:
        for line, kind, head, length in definitions(path):
            name = re.sub(r"\(.*| \{$", "", head)
            if kind == "function" and length > MOST_FUNCTION:
                yield f"{path}:{line}: {name} has {length} lines, more than {MOST_FUNCTION}"
            if kind == "class" and length > MOST_CLASS:
                yield f"{path}:{line}: {name} has {length} lines, more than {MOST_CLASS}"
            if kind == "function" and parameters(head) > MOST_PARAMETERS and not signature_from_outside(path, line):
                yield f"{path}:{line}: {name} takes {parameters(head)} parameters, more than {MOST_PARAMETERS}"


def crowded(files):
    count = collections.Counter(os.path.dirname(f) for f in files if f.endswith(".cpp"))
    for folder, n in sorted(count.items()):
        if n > MOST_FILES:
            yield f"{folder} has {n} .cpp files, more than {MOST_FILES}"


def named_types(path):
    """(line, name with its namespaces) of types that other files can see: outside of functions and unnamed namespaces."""
    spaces, text_until = [], ""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if text_until and text_until not in line:
                continue
            begun = re.search(r'R"(\w*)\((?!.*\)\1")', line)  # a text of several lines
            text_until = f'){begun.group(1)}"' if begun else ""
            if opened := re.match(r"namespace ?([\w:]*) \{$", line):
                spaces.append(opened.group(1))
            elif line.startswith("}  // namespace") and spaces:
                spaces.pop()
            elif spaces and all(spaces) and (made := re.match(r"(?:struct|class) (\w+)(?: final)?(?: : .*)? \{", line)):
                yield number, "::".join([*spaces, made.group(1)])


def twice(files):
    """Types of one name in two files: where both are linked, the functions of one are taken for those of the other."""
    # What is printed into programs of its own is linked into nothing of ours.
    first = {}
    for path in files:
        if path.startswith(("backends/cuda/emulation/", "backends/cuda/device/")):
            continue
        for line, name in named_types(path):
            if name in first:
                yield f"{path}:{line}: {name} is a type of {first[name]}, too"
            first.setdefault(name, f"{path}:{line}")


def numbers_of_machines(files):
    """Terms of the cost model read numbers of a machine from its file (hwdesc/defaults/timing.yaml)."""
    for path in files:
        if path.startswith(("scheduler/cost/terms/", "scheduler/cost/cache_traffic", "scheduler/cost/memory_footprint",
                            "scheduler/cost/packing_time", "scheduler/cost/split_lines")):
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if "constexpr double" in line:
                        yield f"{path}:{number}: {line.strip()}"


def long_lines():
    """Lines of pages."""
    pages = subprocess.check_output(["git", "ls-files", "docs/*.md"], text=True).split("\n")
    for path in pages:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if len(line.rstrip("\n")) > LONGEST_LINE:
                        yield f"{path}:{number}: {len(line) - 1} characters, at most {LONGEST_LINE}"


def main():
    ours = [f for f in sources() if f.split("/")[0] in {folder for line in LAYERS for folder in line}]
    failed = False
    for title, found in [("cycles between folders:", cycles(ours)), ("includes against the order of layers:", upward(ours)),
                         ("folders that are too full:", crowded(ours)), ("too large:", too_large(ours)),
                         ("types of one name:", twice([f for f in sources() if f.startswith("include/")] + ours)),
                         ("numbers that belong in hwdesc/defaults/timing.yaml:", numbers_of_machines(ours)),
                         ("lines of pages:", long_lines())]:
        found = list(found)
        if found:
            print(title)
            print("\n".join("  " + line for line in found) + "\n")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
