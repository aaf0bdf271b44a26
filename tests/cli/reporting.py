# SPDX-License-Identifier: Apache-2.0
"""What the tests of the reporting commands share: a small problem and a way to run the program."""

from __future__ import annotations

import os
import subprocess

from conftest import PROGRAM, Outcome

SMALL = "m3n5k64:mxf4:nvf4:f32"


def run(*arguments, code=0, level=None, **keywords):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MXGEMM_MAX")}
    environment.update(keywords)
    if level is not None:
        environment["MXGEMM_MAX_ISA"] = level
    process = subprocess.run(
        [PROGRAM, *arguments], capture_output=True, timeout=300, check=False, env=environment
    )
    outcome = Outcome(process)
    assert outcome.code == code, (arguments, outcome.code, outcome.out, outcome.err)
    return outcome
