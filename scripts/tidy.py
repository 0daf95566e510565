#!/usr/bin/env python3
"""Check the rules of the house that compilers do not know. Standard library only.

Each rule is one function that yields (path, line, text). Exceptions stand in scripts/tidy_allow.txt
with a reason; an exception that no longer excepts anything is a fault too.

usage: tidy.py [--no-format]
"""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SKIP_FOLDERS = {"build", ".git", ".cache", "__pycache__"}
TEXT_SUFFIXES = set(".c .h .py .sh .md .cmake .txt .def .map .cpp .json .in".split())

COLUMNS_MAX = 100
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
NESTING_MAX = 4
PARAMETERS_MAX = 6
CLANG_FORMAT_VERSION = "14"

BANNED = """
    printf fprintf vprintf vfprintf puts fputs putchar
    malloc calloc realloc free aligned_alloc posix_memalign strdup alloca
    exit _exit abort sleep usleep nanosleep system
    strcpy strcat sprintf vsprintf gets strtok rand srand atoi atof
""".split()


class Source:
    """One C file: its text, and its code without comments, strings and directives, line by line."""

    def __init__(self, path):
        self.path = path
        self.text = read(path)
        self.code = blank_out(self.text)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def blank_out(text):
    """Replace comments, literals and preprocessor lines by blanks; line breaks stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    keep = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    quote = lambda match: ('""' if match.group(0)[0] == '"' else keep(match))
    text = pattern.sub(quote, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", keep, text, flags=re.M)


def all_files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in SKIP_FOLDERS)
        for name in sorted(names):
            yield str((pathlib.Path(folder) / name).relative_to(ROOT))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


# ---- C: layers, guards, sizes ----

def read_layers():
    """scripts/layers.txt: {layer: set of what it may include}."""
    layers = {}
    for line in read("scripts/layers.txt").splitlines():
        if line and not line.startswith("#"):
            name, allowed = line.split(":")
            layers[name.strip()] = set(allowed.split())
    return layers


def layer_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" else parts[0]


def check_layering(sources):
    layers = read_layers()
    for source in sources:
        layer = layer_of(source.path)
        if source.path.startswith("src/") and layer not in layers:
            yield source.path, 1, f"folder {layer} is not in scripts/layers.txt"
        if layer not in layers:
            continue
        allowed = layers[layer] | {layer}
        for match in re.finditer(r'^\s*#\s*include\s+(["<])([^">]+)[">]', source.text, re.M):
            quote, name = match.groups()
            line = line_of(source.text, match.start(2))
            first = name.split("/")[0]
            if quote == '"' and source.path.startswith("src/"):
                if not (ROOT / "src" / name).exists():
                    yield source.path, line, f'include "{name}": write the path from src/'
            elif quote == '"' and (ROOT / source.path).parent.joinpath(name).exists():
                continue
            if (quote == '"' or first == "hocket") and first not in allowed and "/" in name:
                yield source.path, line, f"{layer} may not include {name} (scripts/layers.txt)"


def check_guards(sources):
    for source in sources:
        if not source.path.endswith(".h"):
            continue
        stem = pathlib.Path(source.path).stem
        if source.path.startswith("include/hocket/"):
            want = "HK_" + stem.upper() + "_H"
        elif source.path.startswith("src/"):
            want = "HKI_" + re.sub(r"\W", "_", source.path[len("src/"):-2]).upper() + "_H"
        else:
            want = None
        match = re.search(r"^#ifndef (\w+)\n#\s*define (\w+)$", source.text, re.M)
        if match is None or match.group(1) != match.group(2):
            yield source.path, 1, "no include guard"
        elif want is not None and match.group(1) != want:
            yield source.path, line_of(source.text, match.start()), f"include guard: want {want}"
        elif want is None and not match.group(1).endswith(stem.upper() + "_H"):
            yield source.path, line_of(source.text, match.start()), "include guard: not the path"


def check_heads(sources):
    for source in sources:
        if not source.text.startswith("/*"):
            yield source.path, 1, "no head comment (what the file is, its method)"
            continue
        head = source.text[:source.text.find("*/")]
        lines = source.text.count("\n")
        if lines > FILE_LINES_MAX and f"{FILE_LINES_MAX} lines" not in head:
            yield (source.path, 1, f"{lines} lines: divide it, or say in the head comment why it "
                   f"is above {FILE_LINES_MAX} lines")


def functions(code):
    """Yield (name, parameters, positions of its braces) of every function of a file.

    A function's brace stands alone in column 0: the house style, which clang-format keeps.
    """
    for match in re.finditer(r"^\{", code, re.M):
        head = code[max(code.rfind(";", 0, match.start()), code.rfind("}", 0, match.start())) + 1:
                    match.start()].strip()
        end = re.compile(r"^\}", re.M).search(code, match.start())
        if end is None or not head.endswith(")"):
            continue
        opening = matching_open(head, len(head) - 1)
        name = re.search(r"(\w+)\s*$", head[:opening])
        if name is not None:
            yield name.group(1), head[opening + 1:-1], match.start(), end.start()


def matching_open(text, closing):
    depth = 0
    for i in range(closing, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0:
            return i
    return 0


def parameter_count(parameters):
    depth = 0
    commas = 0
    for char in parameters:
        depth += (char == "(") - (char == ")")
        commas += char == "," and depth == 0
    return 0 if parameters.strip() in ("", "void") else commas + 1


def nesting(body):
    """Deepest block inside a function body; initialisers and compound literals do not count."""
    deepest = 0
    stack = []
    for i, char in enumerate(body):
        if char == "{":
            stack.append(is_block(body, i))
            deepest = max(deepest, sum(stack) - 1)
        elif char == "}" and stack:
            stack.pop()
    return deepest


def is_block(body, brace):
    before = body[:brace].rstrip()
    if before == "" or before[-1] in ";{}:":
        return True
    if before[-1] == ")": # `if (x) {` has a word before its parenthesis, `(type){` has none
        head = before[:matching_open(before, len(before) - 1)].rstrip()
        return re.search(r"\w$", head) is not None and not re.search(r"\breturn$", head)
    return re.search(r"\b(else|do)$", before) is not None


def public_names(sources):
    names = set()
    for source in sources:
        if source.path.startswith("include/"):
            names.update(re.findall(r"\b(hk_\w+)\s*\(", source.code))
    return names


def check_functions(sources):
    public = public_names(sources) # their form is the API's, not the file's
    for source in sources:
        is_test = source.path.startswith("test/")
        for name, parameters, start, end in functions(source.code):
            line = line_of(source.code, start)
            lines = line_of(source.code, end) - line
            if lines > FUNCTION_LINES_MAX:
                yield source.path, line, f"{name}: {lines} lines, more than {FUNCTION_LINES_MAX}"
            depth = nesting(source.code[start:end + 1])
            if depth > NESTING_MAX and not is_test:
                yield source.path, line, f"{name}: nested {depth} deep, more than {NESTING_MAX}"
            count = parameter_count(parameters)
            if count > PARAMETERS_MAX and name not in public:
                yield source.path, line, f"{name}: {count} parameters, more than {PARAMETERS_MAX}"


def check_code(sources):
    banned = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    forward = re.compile(r"^static [^=;{}]*\)\s*;", re.M)
    for source in sources:
        if not source.path.startswith("src/"):
            continue
        for match in banned.finditer(source.code):
            yield source.path, line_of(source.code, match.start()), f"{match.group(1)}() in src"
        for match in forward.finditer(source.code):
            yield (source.path, line_of(source.code, match.start()),
                   "forward declaration of a static function: put the callee above")


def check_conditionals(sources):
    """`#if` only where the outside world differs: base, transport, code for one processor."""
    for source in sources:
        if (not source.path.startswith("src/") or layer_of(source.path) in ("base", "transport")
                or re.search(r"_(avx2|avx512|neon)\.[ch]$", source.path)):
            continue
        for match in re.finditer(r"^\s*#\s*(if|ifdef|elif)\b.*", source.text, re.M):
            yield source.path, line_of(source.text, match.start(1)), "conditional compilation"


# ---- tests ----

def read_exempt():
    exempt = {}
    for number, line in enumerate(read("test/unit/EXEMPT").splitlines(), 1):
        if line and not line.startswith("#"):
            path, _, reason = line.partition(":")
            exempt[path.strip()] = (number, reason.strip())
    return exempt


def check_tests_exist(sources):
    exempt = read_exempt()
    tests = {(s.path.split("/")[2], pathlib.Path(s.path).name)  # layers may share file names
             for s in sources if s.path.startswith("test/unit/")}
    needing = set()
    for source in sources:
        if not source.path.startswith("src/") or not source.path.endswith(".c"):
            continue
        stem = re.sub(r"_(avx2|avx512|neon)$", "", pathlib.Path(source.path).stem)
        if (layer_of(source.path), stem + "_test.c") in tests:
            continue
        needing.add(source.path)
        if source.path not in exempt:
            yield source.path, 1, f"no test/unit/{layer_of(source.path)}/{stem}_test.c (or EXEMPT)"
    for path, (number, reason) in exempt.items():
        if not reason:
            yield "test/unit/EXEMPT", number, f"{path}: no reason given"
        if path not in needing:
            yield "test/unit/EXEMPT", number, f"{path} has a test or does not exist: drop the line"


# ---- all text ----

def check_text(files):
    for path in files:
        if pathlib.Path(path).suffix not in TEXT_SUFFIXES and path != "Makefile":
            continue
        text = read(path)
        if text and not text.endswith("\n"):
            yield path, text.count("\n") + 1, "no line end at the end of the file"
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            yield from check_line(path, number, line, fenced)


def check_line(path, number, line, fenced):
    is_markdown = path.endswith(".md")
    if "\t" in line and path != "Makefile":
        yield path, number, "tab"
    if line != line.rstrip():
        yield path, number, "blanks at the end"
    if len(line) > COLUMNS_MAX and not (is_markdown and (fenced or line.startswith("|"))):
        yield path, number, f"{len(line)} columns, more than {COLUMNS_MAX}"
    if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\):)", line) and path != "scripts/tidy.py":
        yield path, number, "a note for later needs an issue number: TODO(#123): text"
    if re.search(r"(^|[\s\"'(=`])/(home|root|work|mnt|Users)/\w", line):
        yield path, number, "a path of somebody's own machine"


def check_documents(files):
    known = set(files)
    names = {pathlib.Path(f).name for f in files}
    for path in files:
        if path.endswith(".md"):
            text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), read(path),
                          flags=re.S | re.M)
            titles = len(re.findall(r"^# ", text, re.M))
            if titles != 1:
                yield path, 1, f"{titles} lines start with '# ', want one title"
            for match in re.finditer(r"\]\(([^)#:\s]+)(#[^)]*)?\)", text):
                target = os.path.normpath(os.path.join(os.path.dirname(path), match.group(1)))
                if target not in known and not (ROOT / target).is_dir():
                    yield path, line_of(text, match.start()), f"{match.group(1)}: no such file"
        if pathlib.Path(path).suffix in TEXT_SUFFIXES and path != "scripts/tidy.py":
            for number, line in enumerate(read(path).splitlines(), 1):
                for name in re.findall(r"\b([\w-]+\.md)\b", line):
                    if name not in names:
                        yield path, number, f"names {name}, which does not exist"


def check_dead_files(files, sources):
    """A header nobody includes, a script or document nobody names."""
    everything = {path: read(path) for path in files
                  if pathlib.Path(path).suffix in TEXT_SUFFIXES or path in ("Makefile", ".ci/run")}
    for path in files:
        name = pathlib.Path(path).name
        folder = path.split("/")[0]
        if path.endswith(".h"):
            wanted = re.compile(r'#\s*include\s+["<][\w/.]*\b' + re.escape(name) + '[">]')
        elif folder in ("scripts", "cmake") or re.match(r"docs/.*\.(md|svg)$", path):
            stem = name[:-len(".cmake")] if name.endswith(".cmake") else name
            wanted = re.compile(re.escape(stem))
        else:
            continue
        if path.startswith("include/hocket/"):
            continue # public: users include it
        if not any(wanted.search(text) for other, text in everything.items() if other != path):
            yield path, 1, "nothing includes or names this file"


# ---- clang-format ----

def clang_format():
    for name in (f"clang-format-{CLANG_FORMAT_VERSION}", "clang-format"):
        program = shutil.which(name)
        if program is not None:
            version = subprocess.run([program, "--version"], text=True, stdout=subprocess.PIPE,
                                     check=True).stdout
            if re.search(rf"version {CLANG_FORMAT_VERSION}\.", version):
                return program
    return None


def check_format(sources):
    program = clang_format()
    if program is None:
        print(f"tidy: clang-format {CLANG_FORMAT_VERSION} not found: formatting not checked")
        return
    run = subprocess.run([program, "--dry-run", "-Werror", "-ferror-limit=1"]
                         + [s.path for s in sources], cwd=ROOT, text=True,
                         stderr=subprocess.PIPE, check=False)
    for path, line in re.findall(r"^([^:\n]+):(\d+):\d+: error: code should", run.stderr, re.M):
        yield path, int(line), "not as clang-format wants it (clang-format -i)"


# ---- exceptions, main ----

class Allowed:
    """scripts/tidy_allow.txt: lines `RULE PATH-PATTERN [in the text: PATTERN] # reason`."""

    def __init__(self):
        self.entries = []
        for number, line in enumerate(read("scripts/tidy_allow.txt").splitlines(), 1):
            if line and not line.startswith("#"):
                spec, _, reason = line.partition("#")
                rule, path, *text = spec.split(None, 2)
                pattern = text[0].strip() if text else "*"
                self.entries.append([rule, path, pattern, reason.strip(), number, 0])

    def covers(self, rule, path, text):
        for entry in self.entries:
            if (entry[0] == rule and fnmatch.fnmatch(path, entry[1])
                    and fnmatch.fnmatch(text, entry[2])):
                entry[5] += 1
                return True
        return False

    def faults(self):
        for rule, path, _, reason, number, used in self.entries:
            if used == 0:
                yield "scripts/tidy_allow.txt", number, f"{rule} {path}: excepts nothing any more"
            if not reason:
                yield "scripts/tidy_allow.txt", number, f"{rule} {path}: no reason given"


def main():
    files = list(all_files())
    sources = [Source(path) for path in files if path.endswith((".c", ".h"))]
    rules = {
        "layering": check_layering(sources),
        "guards": check_guards(sources),
        "heads": check_heads(sources),
        "functions": check_functions(sources),
        "code": check_code(sources),
        "conditionals": check_conditionals(sources),
        "tests": check_tests_exist(sources),
        "text": check_text(files),
        "documents": check_documents(files),
        "dead": check_dead_files(files, sources),
    }
    if "--no-format" not in sys.argv:
        rules["format"] = check_format(sources)
    allowed = Allowed()
    faults = []
    for rule, found in rules.items():
        faults += [(p, n, f"{rule}: {t}") for p, n, t in found if not allowed.covers(rule, p, t)]
    faults += [(p, n, f"allow: {t}") for p, n, t in allowed.faults()]
    for path, line, text in sorted(faults):
        print(f"{path}:{line}: {text}")
    print(f"tidy: {len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
