#!/usr/bin/env python3
"""Write the documents that are made from the code. Standard library only.

    docs/status.md       from HK_STATUS_MAP of include/hocket/base.h
    docs/algorithms.md   from src/algo/registry.def, the cost functions (by `hocket docs`) and the
                         head comments of the algorithms
    docs/tuning.md       from the table of environment variables in src/comm/env.h
    ARCHITECTURE.md      its table of layers, from scripts/layers.txt
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


def table(head, rows):
    """A Markdown table; `|` inside cells is escaped."""
    lines = [head, ["---"] * len(head)] + rows
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n"
                   for line in lines)


def status_document():
    rows = re.findall(r'^\s+X\((\w+), (-?\d+),\s+("[^\n]*")\)', read("include/hocket/base.h"),
                      re.M)
    body = table(["code", "value", "meaning"],
                 [[f"`HK_{name}`", value, c_strings(text)] for name, value, text in rows])
    return (f"# Status codes\n\n{NOTE}\n"
            "Positive is not an error, negative is. Values never change. The text of an error\n"
            f"with its values is in `hk_last_error()`.\n\n{body}")


def algorithms():
    """[(collective, name)] in the order of registry.def."""
    return re.findall(r"^HKI_ALGO(?:_NEAR)?\((\w+), (\w+),", read("src/algo/registry.def"), re.M)


def head_comment(path):
    match = re.match(r"/\*+\n?(.*?)\*/", read(path), re.S)
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in match.group(1).splitlines()]
    lines = [re.sub(r"^@brief ", "", line) for line in lines if not line.startswith("@file")]
    return "\n".join(lines).strip("\n")


def algorithms_document(tables):
    out = [f"# Algorithms\n\n{NOTE}\n"
           "What each collective may be run by: first the tables, then each algorithm in its\n"
           "own words. The cheapest by the cost model is taken; `HOCKET_ALGO` and `opts.algo`\n"
           "override. P is the number of ranks, N the elements of a block. Order *canonical*\n"
           "gives always the same bits; order *any* gives the same bits on all ranks, and runs\n"
           "only where the caller allows it.\n\n", tables]
    for coll, name in algorithms():
        text = head_comment(f"src/algo/{coll}_{name}.c")
        out.append(f"## {coll}: {name}\n\n```text\n{text}\n```\n\n")
    return "".join(out).rstrip("\n") + "\n"


def variables_read():
    """Names of the environment variables that the code asks for, by name, outside of the table."""
    names = {}
    for folder in ("src", "tools"):
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            for name in re.findall(r'\bgetenv\("(\w+)"\)', path.read_text(encoding="utf-8")):
                names[name] = str(path.relative_to(ROOT))
    return names


def tuning_document():
    text = re.sub(r"\\\n\s*", "", read("src/comm/env.h"))
    rows = [[f"`{c_strings(name)}`", c_strings(preset), c_strings(words)]
            for name, preset, words in re.findall(
                r'X\(\w+,\s*("\w+"),\s*("[^"]*"),\s*((?:"[^"]*"\s*)+)\)', text)]
    for name, path in variables_read().items():
        if name.startswith(("HOCKET_", "HK_")) and f"`{name}`" not in [row[0] for row in rows]:
            sys.exit(f"{path} reads {name}, which is not in HKI_ENV_MAP (src/comm/env.h)")
    return (f"# Environment variables\n\n{NOTE}\nThey override defaults, never what a program set "
            "itself.\n\n" + table(["variable", "default", "meaning"], sorted(rows)))


def architecture():
    """ARCHITECTURE.md with its table of layers made anew."""
    rows = [line.split(":") for line in read("scripts/layers.txt").splitlines()
            if line and not line.startswith("#")]
    names = [name.strip() for name, _ in rows]
    marks = [[f"`{name.strip()}`", " ".join(allowed.split())] for name, allowed in rows]
    unknown = {word for _, allowed in rows for word in allowed.split()} - set(names) - {"hocket"}
    if unknown:
        sys.exit(f"scripts/layers.txt: unknown layers {unknown}")
    body = table(["layer", "may include, besides itself"], marks)
    return re.sub(r"(<!-- layers: written[^\n]*-->\n).*?(<!-- layers: end -->)",
                  lambda match: match.group(1) + "\n" + body + "\n" + match.group(2),
                  read("ARCHITECTURE.md"), flags=re.S)


def made_by_command(hocket, what):
    return subprocess.run([hocket, "docs", what], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--hocket", default=str(ROOT / "build/release/hocket"))
    options = parser.parse_args()
    documents = {
        "docs/status.md": status_document(),
        "docs/algorithms.md": algorithms_document(made_by_command(options.hocket, "--algorithms")),
        "docs/tuning.md": tuning_document(),
        "ARCHITECTURE.md": architecture(),
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
