# SPDX-License-Identifier: Apache-2.0
"""What PTX ISA says of an mbarrier: two arrival counts, a count of bytes, a number of phases."""

from dataclasses import dataclass

MOST_ARRIVALS = 2**20 - 1
MOST_BYTES = 2**20 - 1


@dataclass
class Mbarrier:
    """`phase` counts completed phases; programs see its parity only."""

    expected: int
    pending: int = 0
    bytes: int = 0
    phase: int = 0

    def __post_init__(self):
        assert 1 <= self.expected <= MOST_ARRIVALS
        self.pending = self.expected

    def arrive(self, count=1, expect=0, drop=False, may_complete=True):
        """The state that the instruction returns: phase and pending count before it."""
        state = (self.phase, self.pending)
        self.expect(expect)
        assert 1 <= count <= self.pending - (not may_complete)
        if drop:
            self.expected -= count
            assert self.expected >= 1
        self.pending -= count
        self.settle()
        return state

    def expect(self, count):
        self.bytes += count
        assert abs(self.bytes) <= MOST_BYTES

    def complete(self, count):
        self.bytes -= count
        assert abs(self.bytes) <= MOST_BYTES
        self.settle()

    def settle(self):
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected

    def over(self, phase):
        """test_wait with a state: of this phase or the one before."""
        assert phase in (self.phase, self.phase - 1)
        return phase < self.phase

    def parity_over(self, parity):
        """test_wait.parity: the current phase is under way, the one before is over."""
        return parity != self.phase % 2
