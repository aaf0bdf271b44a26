# SPDX-License-Identifier: Apache-2.0
"""Where the output of the reporting commands goes: terminals, pipes, full devices."""

from __future__ import annotations

import errno
import os
import pty
import subprocess

import pytest
from conftest import PROGRAM
from reporting import SMALL, run


def on_terminal(*arguments, **environment):
    """Standard output of the program where it is a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    os.close(follower)
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError as error:  # the terminal's other end is closed
            assert error.errno == errno.EIO
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    assert process.wait(timeout=60) == 0
    return text.decode()


def test_escape_sequences_appear_on_terminals_only_and_not_with_no_color():
    assert "\x1b" in on_terminal("info", NO_COLOR="")
    assert "\x1b" not in on_terminal("info", NO_COLOR="1")
    assert "\x1b" not in run("info").out


@pytest.mark.parametrize(
    "arguments",
    [
        ["info"],
        ["info", "--json"],
        ["verify", SMALL],
        ["bench", SMALL, "--repeat", "1"],
        ["explain", SMALL],
    ],
)
def test_a_reader_that_goes_away_is_no_failure(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [PROGRAM, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert process.returncode == 0
    assert b"cannot write" not in process.stderr


def test_output_that_cannot_be_written_is_exit_code_4():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [PROGRAM, "info"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert process.returncode == 4
    assert b"standard output" in process.stderr
