# SPDX-License-Identifier: Apache-2.0
"""Writing of vector files: forms (a piece of PTX with inputs $s0.. and outputs $d0..) and cases.

The same files drive the interpreter's tests and the capture program that runs on a GPU.
"""

import random


class Writer:
    def __init__(self, stream, seed):
        self.stream = stream
        self.random = random.Random(seed)
        self.names = set()

    def form(
        self,
        name,
        code,
        outs,
        ins,
        cases,
        target=80,
        warps=1,
        device=None,
        bounds=None,
        cluster=None,
        fault=None,
    ):
        """`cases`: (inputs, outputs) or (inputs, None); they are filled up to whole CTAs of
        `warps` warps. `device`: the only capability that answers so. `bounds`: the outputs of a
        case are the lowest and the highest code, of this type, that its one result may have.
        `fault`: the error that each CTA ends in, whatever the outputs."""
        assert name not in self.names, name
        self.names.add(name)
        cases = list(cases)
        cases += (cases * 32)[: -len(cases) % (32 * warps)]
        assert not cluster or len(cases) % (32 * warps * cluster) == 0, name
        self.stream.write(f"form {name}\ntarget {target}\n")
        if warps != 1:
            self.stream.write(f"warps {warps}\n")
        if cluster is not None:
            self.stream.write(f"cluster {cluster}\n")
        if device is not None:
            self.stream.write(f"device {device}\n")
        if bounds is not None:
            self.stream.write(f"bounds {bounds}\n")
        for line in code.strip().splitlines():
            self.stream.write(f"code {line.strip()}\n")
        self.stream.write(f"in {' '.join(ins)}\nout {' '.join(outs)}\n")
        for inputs, outputs in cases:
            assert len(inputs) == len(ins)
            text = " ".join(f"{x:x}" for x in inputs)
            if fault is not None:
                text += f" ! {fault}"
            elif outputs is not None:
                assert len(outputs) == (2 if bounds else len(outs)), name
                text += " = " + " ".join(f"{x:x}" for x in outputs)
            self.stream.write(f"case {text}\n")

    def op(self, code, out, ins, function, inputs, name=None, target=80):
        """One instruction with one result. `function(*inputs)` is the expected result."""
        opcode = name or code.split()[0]
        cases = [(case, [function(*case)]) for case in inputs]
        self.form(opcode, code, [out], ins, cases, target)


def grid(*axes):
    """All combinations."""
    result = [()]
    for axis in axes:
        result = [(*row, x) for row in result for x in axis]
    return result
