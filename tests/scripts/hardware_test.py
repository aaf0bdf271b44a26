#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/hardware without a GPU: exit codes, and its report with stub libraries in a GPU's place.

hardware_test.py BUILD STUBS
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "hardware"
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import hardware_machine  # noqa: E402
import hardware_parts  # noqa: E402
import hardware_report  # noqa: E402

BUILD, STUBS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])

FEW_PROBLEMS = ["m3n8k32:mxf4:mxf4:bf16", "m1n4k64:bf16:mxf8:f32"]


class Hardware(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_script(self, *arguments, smi=None, **environment):
        """With `smi` as what nvidia-smi prints; without, it fails."""
        program = self.folder / "nvidia-smi"
        program.write_text(f"#!/bin/sh\necho '{smi}'\n" if smi else "#!/bin/sh\nexit 9\n")
        program.chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run(
            [sys.executable, SCRIPT, *arguments, "--out", self.folder / "out"],
            env=os.environ | {"PATH": path} | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def on_stubs(self, *arguments, devices="9.0", smi="NVIDIA Stub, 9.0, 1.2, 9 MiB, 1 MHz"):
        return self.run_script(
            *("--build", BUILD, *arguments),
            smi=smi,
            MXGEMM_PLUGIN_DIR=str(STUBS / "whole"),
            STUB_DEVICES=devices,
        )

    def test_without_a_gpu_it_says_so(self):
        run = self.run_script("--build", BUILD)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("no GPU here: nvidia-smi", run.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_gpu_that_no_library_serves_is_exit_code_3(self):
        run = self.on_stubs(devices="7.5", smi="NVIDIA Old, 7.5, 1.2, 9 MiB, 1 MHz")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("no built library serves", run.stderr)

    def test_bad_arguments_are_named(self):
        run = self.run_script("--only", "tests,speed")
        self.assertEqual(run.returncode, 2)
        self.assertIn("'speed', allowed are libraries, control, tests", run.stderr)
        run = self.run_script("--build", self.folder / "none")
        self.assertEqual(run.returncode, 2)
        self.assertIn("which has no folder bin", run.stderr)

    def test_the_report_holds_the_machine_and_every_part(self):
        run = self.on_stubs("--only", "libraries", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        file = self.folder / "out" / "hardware.json"
        report = json.loads(file.read_text())
        self.assertEqual(json.loads(run.stdout), report)
        self.assertTrue(report["passed"])
        self.assertEqual(report["machine"]["gpus"][0]["name"], "NVIDIA Stub")
        self.assertEqual(report["parts"]["libraries"]["device_library"], "sm80")
        text = (self.folder / "out" / "hardware.txt").read_text()
        self.assertIn("== libraries: passed", text)
        self.assertEqual(list((self.folder / "out").glob(".*")), [], "nothing half-written is left")

    def test_a_fault_is_exit_code_1_and_in_the_report(self):
        # Without a real device the control has nothing to show, which is no pass.
        run = self.on_stubs("--only", "control")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("== control: FAILED", run.stdout)
        report = json.loads((self.folder / "out" / "hardware.json").read_text())
        self.assertFalse(report["passed"])

    def test_wrong_results_fail_the_verification(self):
        # The stubs' kernels compute nothing.
        stubs = {"MXGEMM_PLUGIN_DIR": str(STUBS / "whole"), "STUB_DEVICES": "9.0"}
        context = hardware_machine.Context(ROOT, BUILD, self.folder)
        with (
            unittest.mock.patch.dict(os.environ, stubs),
            unittest.mock.patch.object(hardware_parts, "verify_problems", lambda: FEW_PROBLEMS),
        ):
            outcome = hardware_parts.run_verify(context)
        self.assertFalse(outcome["passed"])
        self.assertEqual(outcome["rows_failed"], 4 * len(FEW_PROBLEMS))  # one a kind of data
        self.assertIn("FAILED", hardware_report.verdict(outcome["passed"]))
        self.assertIn("not written", "\n".join(hardware_report.verify_text(outcome)))

    def test_verify_has_every_pair_with_every_output(self):
        problems = hardware_parts.verify_problems()
        kinds = {tuple(problem.split(":")[1:4]) for problem in problems}
        self.assertEqual(len(kinds), 7 * 4 * 3)

    def test_a_report_that_cannot_be_written_leaves_the_old_one(self):
        target = self.folder / "report.txt"
        hardware_report.write_whole(target, "old\n")
        with self.assertRaises(UnicodeEncodeError):
            hardware_report.write_whole(target, "new \udc80\n")
        self.assertEqual(target.read_text(), "old\n")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["report.txt"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
