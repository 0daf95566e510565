#!/usr/bin/env python3
"""What libhocket.so exports is what the public headers declare, and what symbols.txt lists.

The list is there so that a removed or renamed function shows up in a review.
usage: symbols.py [--update] LIBRARY
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "test/unit/symbols.txt"


def declared():
    """Names that HK_API marks in include/hocket."""
    names = set()
    for header in sorted((ROOT / "include/hocket").glob("*.h")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.S)
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        for declaration in re.findall(r"\bHK_API\b([^;]*);", text):
            names.add(re.search(r"\b(hk_\w+)\s*\(", declaration).group(1))
    return names


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    fields = [line.split() for line in out.splitlines()]
    return {f[-1].split("@")[0] for f in fields if f[-2] != "A"}  # A: the version HOCKET_0 itself


def complain(what, names):
    for name in sorted(names):
        print(f"{name}: {what}")
    return len(names)


def main():
    update = "--update" in sys.argv
    there = exported(sys.argv[-1])
    if update:
        LIST.write_text("".join(f"{name}\n" for name in sorted(there)))
    listed = set(LIST.read_text().split())
    headers = declared()
    faults = complain("declared in include/hocket, not exported", headers - there)
    faults += complain("exported, not declared in include/hocket", there - headers)
    faults += complain("exported, not in test/unit/symbols.txt (symbols.py --update)",
                       there - listed)
    faults += complain("in test/unit/symbols.txt, no longer exported", listed - there)
    return 1 if faults else 0


sys.exit(main())
