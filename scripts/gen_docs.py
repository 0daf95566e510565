#!/usr/bin/env python3
"""Write the documents that are made from the code. Standard library only.

    docs/status.md       from HK_STATUS_MAP of include/hocket/base.h
    docs/algorithms.md   from src/algo/registry.def and the head comments of the algorithms
    docs/tuning.md       from the table of environment variables in src/comm/env.c
    docs/man/hocket.1, docs/man/hocket.bash   from the option tables, by `hocket docs`

usage: gen_docs.py [--check] [--hocket BINARY]
  --check   write nothing; exit with 1 if a document is not what the code says
  --hocket  the built command, default build/release/hocket
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOTE = "<!-- Written by scripts/gen_docs.py. Change the code, not this file. -->\n"


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def c_strings(text):
    """The value of adjacent C string literals."""
    parts = re.findall(r'"((?:\\.|[^"\\])*)"', text)
    return "".join(parts).replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def split_arguments(text):
    """Top-level comma-separated parts of a macro call or initialiser."""
    parts = [""]
    depth = 0
    quoted = False
    for i, char in enumerate(text):
        if char == '"' and text[i - 1:i] != "\\":
            quoted = not quoted
        if not quoted:
            depth += (char in "({") - (char in ")}")
        if char == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def table(head, rows):
    """A Markdown table; `|` inside cells is escaped."""
    lines = [head, ["---"] * len(head)] + rows
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n"
                   for line in lines)


def status_document():
    rows = re.findall(r'^\s+X\((\w+), (-?\d+),\s+("[^\n]*")\)', read("include/hocket/base.h"), re.M)
    body = table(["code", "value", "meaning"],
                 [[f"`HK_{name}`", value, c_strings(text)] for name, value, text in rows])
    return (f"# Status codes\n\n{NOTE}\nPositive is not an error, negative is. Values never change. "
            f"The text of an error with\nits values is in `hk_last_error()`.\n\n{body}")


def registry():
    """[(collective, name, when, further arguments)] in the order of registry.def."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", read("src/algo/registry.def"), flags=re.S)
    entries = []
    for match in re.finditer(r"^HKI_ALGO\((.*?)\)\s*$", text, re.M | re.S):
        coll, name, *rest = split_arguments(match.group(1))
        when = [c_strings(part) for part in rest if part.startswith('"')]
        others = [part for part in rest if not part.startswith('"')]
        entries.append((coll, name, when[0] if when else "", others))
    return entries


def algorithm_files():
    """{(collective, name): file}: a file's builders are named hki_<collective>_<name>."""
    files = {}
    for path in sorted((ROOT / "src/algo").glob("*.c")):
        for coll, name, _, _ in registry():
            if re.search(rf"\bhki_(?:algo_)?{coll}_{name}(?:_build)?\(", path.read_text()):
                files.setdefault((coll, name), path.name)
    return files


def head_comment(path):
    text = read(path)
    match = re.match(r"/\*+\n?(.*?)\*/", text, re.S)
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in match.group(1).splitlines()]
    return "\n".join(line for line in lines if not line.startswith("@file")).strip("\n")


def algorithms_document():
    files = algorithm_files()
    out = [f"# Algorithms\n\n{NOTE}\nEvery collective, the algorithms it may be run by, and what each "
           "does. The cheapest one by the\ncost model is taken; `HOCKET_ALGO` and `opts.algo` override. "
           "P is the number of ranks, N the\nelements of a block. *Tree* order keeps the canonical "
           "order of summation (always the same\nbits); *any* order runs only where the caller allows "
           "it.\n"]
    collectives = dict.fromkeys(coll for coll, _, _, _ in registry())
    for wanted in collectives:
        rows = []
        for coll, name, when, others in registry():
            if coll == wanted:
                file = files.get((coll, name), "")
                link = f"[{file}](#{file.replace('.', '')})" if file else ""
                rows.append([f"`{name}`", when, order_of(others), link])
        out.append(f"\n## {wanted}\n\n" + table(["algorithm", "when", "order", "described in"], rows))
    for file in sorted(set(files.values())):
        out.append(f"\n## {file}\n\n```text\n{head_comment('src/algo/' + file)}\n```\n")
    return "".join(out)


def order_of(others):
    if any(re.search("any", part, re.I) for part in others):
        return "any"
    return "any" if others[:1] in (["false"], ["0"]) else "tree"


def tuning_document():
    text = read("src/comm/env.c")
    rows = []
    for match in re.finditer(r"\{([^{}]*\.name\s*=\s*\"[^{}]*)\}", text):
        fields = {}
        for part in split_arguments(match.group(1)):
            key, _, value = part.partition("=")
            fields[key.strip(" .")] = c_strings(value) if '"' in value else value.strip()
        rows.append([f"`{fields['name']}`", fields.get("preset", fields.get("default", "")),
                     fields.get("help", "")])
    return (f"# Environment variables\n\n{NOTE}\nThey override defaults, never what a program set "
            "itself.\n\n" + table(["variable", "default", "meaning"], sorted(rows)))


def made_by_command(hocket, what):
    return subprocess.run([hocket, "docs", what], check=True, text=True, stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--hocket", default=str(ROOT / "build/release/hocket"))
    options = parser.parse_args()
    documents = {
        "docs/status.md": status_document(),
        "docs/algorithms.md": algorithms_document(),
        "docs/tuning.md": tuning_document(),
        "docs/man/hocket.1": made_by_command(options.hocket, "--manual"),
        "docs/man/hocket.bash": made_by_command(options.hocket, "--completion"),
    }
    faults = 0
    for path, text in documents.items():
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        faults += 1
        if options.check:
            print(f"{path} is not what the code says: run scripts/gen_docs.py")
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"{path}: written")
    return 1 if options.check and faults else 0


if __name__ == "__main__":
    sys.exit(main())
