#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fault costs the copy or the CTA that met it: it is written down, and those behind it still run.

On an emulated 9.0, with a copy to an address that no copy may have and a form that reads address 0.
"""

import pathlib
import subprocess
import sys
import tempfile

FORM = """form {name}
target 80
code .reg .pred bad;
code .reg .b64 from;
code mov.b64 from, %ins;
code setp.eq.u32 bad, $s0, 7;
code @bad mov.b64 from, 0;
code ld.global.b64 from, [from];
code add.u32 $d0, $s0, 1;
in b32
out b32
"""
LANES = 32


def fail(why, text=""):
    sys.exit(f"fault_test: {why}\n{text}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def blocks_of(path, key):
    """A file's items by name."""
    blocks = {}
    for line in path.read_text(encoding="ascii").splitlines():
        word, _, rest = line.partition(" ")
        if word == key:
            name = rest
            blocks[name] = []
        elif blocks:
            blocks[name].append(line)
    return blocks


def check_copies(kit, folder):
    """Every third copy goes 8 bytes too far."""
    given = blocks_of(kit / "copies.txt", "copy")
    names = [name for name in given if name.startswith("load")][:30]
    file = folder / "copies.txt"
    bad = names[1::3]
    with file.open("w", encoding="ascii") as stream:
        for name in names:
            stream.write(f"copy {name}\n")
            for line in given[name]:
                key, _, rest = line.partition(" ")
                if key == "place" and name in bad:
                    offset, *others = rest.split()
                    line = " ".join([key, str(int(offset) + 8), *others])
                stream.write(line + "\n")
    code, text = run(kit / "tensor_copies", file, folder)
    got = blocks_of(folder / "copies_90a.txt", "copy")
    if code != 0 or list(got) != names:
        fail("not every copy is written", text)
    if f" {len(bad)} faults among them, 0 failed" not in text:
        fail("the tally of copies", text)
    for name, lines in got.items():
        keys = [line.split()[0] for line in lines]
        if ("fault" in keys, "hash" in keys) != (name in bad, name not in bad):
            fail(f"what is written of {name}", "\n".join(lines))
    # The same file asks for the same faults, and for each of them.
    code, text = run(kit / "tensor_copies", folder / "copies_90a.txt")
    if code != 0:
        fail("faults that are expected", text)
    code, text = run(kit / "tensor_copies", file)
    if code != 1 or f" {len(bad)} differ " not in text:
        fail("faults that are not expected", text)


def check_forms(kit, folder):
    """Of three forms the second meets a fault, in one of its three CTAs."""
    file = folder / "forms.txt"
    with file.open("w", encoding="ascii") as stream:
        for name, bad in (("one", None), ("two", 1), ("three", None)):
            stream.write(FORM.format(name=name))
            for cta in range(3):
                for lane in range(LANES):
                    value = 7 if cta == bad and lane == 5 else 16 * cta + lane + 8
                    stream.write(f"case {value:x} = {value + 1:x}\n")
    code, text = run(kit / "emu_capture", folder, file)
    got = blocks_of(folder / "sm_90a_forms.txt", "form")
    if code != 0 or list(got) != ["one", "two", "three"]:
        fail("not every form is written", text)
    if f" {LANES} differ from the expected ones, {LANES} faults among them, 0 forms" not in text:
        fail("the tally of forms", text)
    for name, lines in got.items():
        cases = [line for line in lines if line.startswith("case")]
        faults = [" ! cuda" in line for line in cases]
        answers = [" = " in line for line in cases]
        wanted = [name == "two" and LANES <= i < 2 * LANES for i in range(len(cases))]
        if faults != wanted or answers != [not fault for fault in wanted]:
            fail(f"what is written of {name}", "\n".join(lines))
        if len(cases) != (3 * LANES if name == "two" else LANES):
            fail(f"{len(cases)} cases of {name}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_copies(pathlib.Path(sys.argv[1]), pathlib.Path(folder))
        check_forms(pathlib.Path(sys.argv[1]), pathlib.Path(folder))


if __name__ == "__main__":
    main()
