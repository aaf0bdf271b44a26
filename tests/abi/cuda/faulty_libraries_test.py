#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program on fake devices with the real GPU libraries, whole, missing and broken.

faulty_libraries_test.py PROGRAM LIBRARY_FOLDER WORK_FOLDER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

PROBLEM = "m128n256k384:mxf4:mxf4:bf16"
# Every capability of the table, and the library that serves it first.
SERVED_BY = {
    "7.5": None,
    **dict.fromkeys(("8.0", "8.6", "8.7", "8.9", "9.0", "10.1", "11.0", "12.9", "13.0"), "sm80"),
    **dict.fromkeys(("10.0", "10.3"), "sm100f"),
    **dict.fromkeys(("12.0", "12.1"), "sm120f"),
}
ARCHS = ("sm80", "sm100f", "sm120f")
PROGRAM = LIBRARIES = WORK = pathlib.Path()


def run(*arguments: str, folder: pathlib.Path, devices: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MXGEMM_")}
    environment = kept | {"MXGEMM_PLUGIN_DIR": str(folder), "MXGEMM_FAKE_DEVICES": devices}
    command = [str(PROGRAM), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def chosen(folder: pathlib.Path) -> dict[str, str | None]:
    """By capability: the arch of the kernel that `explain` says is chosen."""
    result: dict[str, str | None] = {}
    for index, capability in enumerate(SERVED_BY):
        done = run(
            "explain",
            PROBLEM,
            "--device",
            f"cuda:{index}",
            folder=folder,
            devices=",".join(SERVED_BY),
        )
        lines = [line for line in done.stdout.splitlines() if " chosen" in line]
        assert len(lines) == (1 if done.returncode == 0 else 0), done.stdout + done.stderr
        assert done.returncode in (0, 3), done.stderr
        result[capability] = lines[0].split(":")[1] if lines else None
    return result


def without(*archs: str) -> dict[str, str | None]:
    """What is left where these libraries do not serve."""
    return {
        capability: arch if arch not in archs else None if "sm80" in archs else "sm80"
        for capability, arch in SERVED_BY.items()
    }


class FaultyLibraries(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = WORK / self.id().rsplit(".", maxsplit=1)[-1]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for arch in ARCHS:
            shutil.copy(LIBRARIES / f"libmxgemm_{arch}.so", self.file(arch))

    def tearDown(self) -> None:
        shutil.rmtree(self.folder)

    def file(self, arch: str) -> pathlib.Path:
        return self.folder / f"libmxgemm_{arch}.so"

    def replace(self, arch: str, old: bytes, new: bytes) -> None:
        """Changes every such text of the library; both are of one length."""
        content = self.file(arch).read_bytes()
        self.assertIn(old, content)
        self.file(arch).write_bytes(content.replace(old, new))

    def expect_refused(self, arch: str, reason: str) -> None:
        self.assertEqual(chosen(self.folder), without(arch))
        index = list(SERVED_BY).index("12.1" if arch == "sm120f" else "10.3")
        arguments = ("explain", PROBLEM, "--device", f"cuda:{index}")
        done = run(*arguments, folder=self.folder, devices=",".join(SERVED_BY))
        self.assertIn(reason, done.stdout)
        listed = run("info", folder=self.folder, devices="12.1")
        self.assertEqual(listed.returncode, 0)
        self.assertIn(reason, listed.stdout)

    def test_whole(self) -> None:
        self.assertEqual(chosen(self.folder), SERVED_BY)

    def test_missing(self) -> None:
        for arch in ("sm120f", "sm100f", "sm80"):
            self.file(arch).unlink()
        self.assertEqual(set(chosen(self.folder).values()), {None})

    def test_one_missing(self) -> None:
        self.file("sm120f").unlink()
        self.assertEqual(chosen(self.folder), without("sm120f"))

    def test_only_120(self) -> None:
        self.file("sm80").unlink()
        self.file("sm100f").unlink()
        self.assertEqual(chosen(self.folder), without("sm80", "sm100f"))

    def test_truncated(self) -> None:
        content = self.file("sm120f").read_bytes()
        self.file("sm120f").write_bytes(content[: len(content) // 2])
        self.expect_refused("sm120f", "the file is cut short")

    def test_no_elf_file(self) -> None:
        self.file("sm100f").write_text("not a library")
        self.expect_refused("sm100f", "no ELF file")

    def test_no_regular_file(self) -> None:
        makers = {
            "named pipe": os.mkfifo,
            "folder": pathlib.Path.mkdir,
            "device": lambda path: path.symlink_to("/dev/zero"),
        }
        for kind, make in makers.items():
            with self.subTest(kind):
                self.file("sm120f").unlink()
                make(self.file("sm120f"))
                self.expect_refused("sm120f", "not a regular file")
                if kind == "folder":
                    self.file("sm120f").rmdir()
                    self.file("sm120f").touch()

    def test_another_version(self) -> None:
        version = subprocess.run(
            [str(PROGRAM), "--version"], capture_output=True, text=True, check=True
        ).stdout.split()[-1]
        self.replace("sm120f", f"\0{version}\0".encode(), f"\0{'9' * len(version)}\0".encode())
        self.expect_refused("sm120f", f"it is of version {'9' * len(version)}")

    def test_without_the_symbol(self) -> None:
        self.replace("sm100f", b"\0mxgemm_plugin\0", b"\0mxgemm_plug_n\0")
        self.expect_refused("sm100f", "undefined symbol: mxgemm_plugin")

    def test_renamed(self) -> None:
        shutil.copy(self.file("sm100f"), self.file("sm120f"))
        self.expect_refused("sm120f", "its table is that of sm100f")


class FakeDevices(unittest.TestCase):
    """The acceptance lines, and exit codes."""

    def explain(self, device: int, devices: str = "12.0,9.0,12.1") -> str:
        arguments = ("explain", PROBLEM, "--device", f"cuda:{device}")
        done = run(*arguments, folder=LIBRARIES, devices=devices)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_explain(self) -> None:
        last = self.explain(2)
        line = next(line for line in last.splitlines() if " chosen" in line)
        self.assertTrue(line.startswith("cuda:sm120f:gemm_mxf4_mxf4_bf16_"), line)
        self.assertIn("cuda:sm100f", last)
        self.assertIn("the device has 12.1", last)
        self.assertIn("format_a is mxf4; it takes nvf4", last)
        hopper = self.explain(1)
        line = next(line for line in hopper.splitlines() if " chosen" in line)
        self.assertTrue(line.startswith("cuda:sm80:"), line)
        self.assertIn("the device has 9.0", hopper)

    def test_nothing_runs(self) -> None:
        for command in ("verify", "bench"):
            arguments = (command, PROBLEM, "--device", "cuda:2")
            done = run(*arguments, folder=LIBRARIES, devices="12.0,9.0,12.1")
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn("fake device", done.stdout + done.stderr)

    def test_malformed(self) -> None:
        for devices in ("12", "12.0,", "rtx5090", "12.0;9.0", "-1.0"):
            arguments = ("explain", PROBLEM, "--device", "cuda:0")
            done = run(*arguments, folder=LIBRARIES, devices=devices)
            self.assertEqual(done.returncode, 2, devices)
            self.assertIn(f'MXGEMM_FAKE_DEVICES is "{devices}"', done.stderr)

    def test_info_lists_each_librarys_kernels(self) -> None:
        done = run("info", folder=LIBRARIES, devices="12.0,9.0,12.1")
        self.assertEqual(done.returncode, 0)
        for arch in ARCHS:
            self.assertIn(f"cuda:{arch}:gemm_", done.stdout)


if __name__ == "__main__":
    PROGRAM, LIBRARIES, WORK = map(pathlib.Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
