# SPDX-License-Identifier: Apache-2.0
"""Writes plans for emulated_plan_runner: every GPU kernel over pairs of shapes and options.

    make_plan.py PROGRAM OUT_FOLDER

PROGRAM is mxgemm; its `info` names the kernels. The same kernels give the same plan. Lines:

    devices EMU_DEVICES                                 the first; below they are indexes
    run DEVICE KERNEL SCHEDULE SEED DATA PROBLEM        DATA with +c: D is C, in place
    refuse DEVICE KERNEL PROBLEM                        the kernel must not take it

Each kernel meets each value of each factor that it takes, and any two values of two factors meet
in some run of a library, wherever one of its kernels takes both. SCHEDULE is a policy of the
emulator, `portfolio` for all of them, or `race` for a run under the race detector. SEED of a
portfolio says how many times as many seeds of early+pct it takes where there is time for all.
"""

import dataclasses
import itertools
import json
import pathlib
import random
import subprocess
import sys

M = (1, 3, 16, 127, 128, 129, 133, 300)
N = (8, 40, 132, 136, 528)
MIXED_LONG_K = 2944  # in place of 2880, whose rows are not aligned for mixed pairs
K = (32, 64, 96, 160, 512, 528, 2880, MIXED_LONG_K)
SCALES = ("", ":pad=zero", ":scales=rowmajor")
BIASES = ("", ":bias", ":bias=f32")
# What lies beyond C's rows is the third part; in place C has D's rows.
SOURCES = ("", ":beta=0", ":beta=-0.5", "in place")
ALPHAS = ("", ":alpha=-2.5", ":alpha=dev")
ACTIVATIONS = ("", ":act=relu", ":act=gelu", ":act=gelu_tanh", ":act=silu")
DATA = ("exact", "normal", "wide", "edge")
POLICIES = ("plain", "random", "late", "pct", "late+pct", "early+pct")

BLOCK_16 = (
    "nvf4",
    "bf16",
    "f16",
    "f32",
)  # formats whose products need K to be a multiple of 16 only
FEW_ROWS = 16  # of A that the swapped kernels of sm80 take

# How many times as many seeds of early+pct small problems take where there is time: some waits of
# an epilogue of sm100f for its part of C are in vain in one of three or four of its schedules, and
# in none of 70 of other policies.
SEEDS = {"sm80": 1, "sm100f": 10, "sm120f": 1}

CANDIDATES = 12  # random cases among which the one with the most pairs is taken

# The emulated devices that a library's kernels run on.
DEVICES = {
    "sm80": ("8.0", "8.6", "8.9", "9.0", "10.0", "12.0"),
    "sm100f": ("10.0", "10.3"),
    "sm120f": ("12.0", "12.1"),
}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A kernel with the formats of its operands."""

    kernel: str
    a: str
    b: str

    @property
    def library(self) -> str:
        return self.kernel.split(":")[1]

    @property
    def is_cutlass(self) -> bool:
        return self.library != "sm80"

    @property
    def is_mixed(self) -> bool:
        return self.is_cutlass and self.a != self.b

    def takes(self, factor: str, value: object) -> bool:
        if factor == "k" and value == MIXED_LONG_K:
            return self.is_mixed
        if factor == "k" and value == 528:
            return self.a in BLOCK_16 and self.b == "nvf4" and not self.is_cutlass
        if not self.is_cutlass:
            return not (
                factor == "m"
                and "swapped" in self.kernel
                and isinstance(value, int)
                and value > FEW_ROWS
            )
        if factor == "k" and self.is_mixed:
            return isinstance(value, int) and value % 128 == 0
        if factor == "off" and value != "":
            # FP4 in mixed pairs wants 32 bytes.
            return (value == ":off=32") == self.is_mixed
        if factor == "n" and "_f32_" not in self.kernel:
            return isinstance(value, int) and value % 8 == 0
        return not (factor == "source" and value != "" and "pingpong" in self.kernel)


def factors(
    library: str, variants: list[Variant], outputs: tuple[str, ...]
) -> dict[str, tuple[object, ...]]:
    """Names of the factors and their values."""
    # CUTLASS's kernels want rows and pointers aligned to 16 bytes, FP4 in mixed pairs to 32: each
    # is tried with no more. sm80's want nothing.
    if library == "sm80":
        # 16-byte copies need rows and pointers to be aligned; what is not takes other paths.
        strides = ("", ":lda=+64", ":ldb=+128", ":lda=+4", ":ldb=+2", ":lda=+6:ldb=+34")
        offsets, extra_c, extra_d = ("", ":off=16", ":off=4"), 3, 5
    else:
        strides = ("", ":lda=+64", ":ldb=+128", ":lda=+192:ldb=+64")
        offsets, extra_c, extra_d = ("", ":off=16", ":off=32"), 8, 24
    return {
        "variant": tuple(variants),
        "device": tuple(range(len(DEVICES[library]))),
        "m": M,
        "n": N,
        "k": K,
        "d": outputs,
        "scales": SCALES,
        "bias": BIASES,
        "source": SOURCES,
        "alpha": ALPHAS,
        "act": ACTIVATIONS,
        "stride": strides,
        "ldc": (0, extra_c),
        "ldd": (0, extra_d),
        "off": offsets,
        "data": DATA,
        "policy": POLICIES,
    }


Case = dict[str, object]
Pair = tuple[str, object, str, object]


def possible(variants: list[Variant], values: dict[str, object]) -> list[Variant]:
    return [v for v in variants if all(v.takes(f, value) for f, value in values.items())]


def open_pairs(levels: dict[str, tuple[object, ...]], variants: list[Variant]) -> list[Pair]:
    """Every two values of two factors that some kernel takes together."""
    pairs = []
    for f, g in itertools.combinations(levels, 2):
        for v, w in itertools.product(levels[f], levels[g]):
            if f == "variant":
                assert isinstance(v, Variant)
                fits = v.takes(g, w)
            else:
                fits = bool(possible(variants, {f: v, g: w}))
            if fits:
                pairs.append((f, v, g, w))
    return pairs


def pairs_of(case: Case) -> list[Pair]:
    return [(f, case[f], g, case[g]) for f, g in itertools.combinations(case, 2)]


def random_case(
    levels: dict[str, tuple[object, ...]],
    variants: list[Variant],
    fixed: dict[str, object],
    rng: random.Random,
) -> Case:
    fits = [fixed["variant"]] if "variant" in fixed else possible(variants, fixed)
    variant = rng.choice(fits)
    assert isinstance(variant, Variant)
    case: Case = {}
    for f, values in levels.items():
        if f == "variant":
            case[f] = variant
        else:
            case[f] = fixed[f] if f in fixed else rng.choice(taken(variant, f, values))
    return case


def taken(variant: Variant, factor: str, values: tuple[object, ...]) -> list[object]:
    return [value for value in values if variant.takes(factor, value)]


def cover(levels: dict[str, tuple[object, ...]], variants: list[Variant]) -> list[Case]:
    """Cases until every pair has been met: each the best of a few random ones around a pair."""
    rng = random.Random(1)
    cases: list[Case] = []
    pairs = open_pairs(levels, variants)
    uncovered = set(pairs)
    for pair in pairs:
        if pair not in uncovered:
            continue
        best: Case = {}
        best_gain = -1
        for _ in range(CANDIDATES):
            case = random_case(levels, variants, {pair[0]: pair[1], pair[2]: pair[3]}, rng)
            gain = sum(p in uncovered for p in pairs_of(case))
            if gain > best_gain:
                best, best_gain = case, gain
        uncovered.difference_update(pairs_of(best))
        cases.append(best)
    return cases


def shape(case: Case) -> str:
    variant = case["variant"]
    assert isinstance(variant, Variant)
    return f"m{case['m']}n{case['n']}k{case['k']}:{variant.a}:{variant.b}:{case['d']}"


def run_line(case: Case, seed: int) -> str:
    variant = case["variant"]
    assert isinstance(variant, Variant)
    in_place = case["source"] == "in place"
    source = ":beta=1" if in_place else str(case["source"])
    ldd = int(str(case["ldd"]))
    ldc = ldd if in_place else int(str(case["ldc"]))
    options = f"{case['scales']}{case['bias']}{source}{case['alpha']}{case['act']}{case['stride']}"
    options += f":ldc=+{ldc}" if source else ""
    options += f":ldd=+{ldd}{case['off']}"
    data = f"{case['data']}{'+c' if in_place else ''}"
    how = f"{case['policy']} {seed} {data}"
    return f"run {case['device']} {variant.kernel} {how} {shape(case)}{options}"


# Problems for all policies and for the race detector: several tiles and steps with an edge in every
# direction, every input staged once; the second has more tiles than the devices multiprocessors, so
# that CTAs go from one to the next. Small, because each runs many times. Where the steps are more
# than a pipeline's stages, the warps of a CTA stay too close together to wait for each other at the
# end.
THOROUGH = (
    {
        "scales": "",
        "bias": ":bias",
        "source": "",
        "alpha": "",
        "act": ":act=gelu",
        "data": "normal",
        "n": 136,
        "k": 512,
    },
    {
        "scales": ":scales=rowmajor",
        "bias": "",
        "source": ":beta=-0.5",
        "alpha": ":alpha=dev",
        "act": "",
        "data": "exact",
        "n": 528,
        "k": 160,
    },
)


# For the kernels whose CTAs go from tile to tile, once under each policy and the race detector: the
# same tiles, and more steps than any pipeline has stages, so that the first loads of a CTA's second
# tile find every stage in use.
LONG = {"m": 133, "n": 528, "k": 2080, "source": ":beta=-0.5", "data": "exact"}


def as_taken(case: Case) -> Case:
    """The case without what its kernel does not take: as many steps, no C."""
    variant = case["variant"]
    assert isinstance(variant, Variant)
    fitting: Case = {"d": outputs_of(variant)[-1]}
    if not variant.takes("k", case["k"]):
        fitting["k"] = -(-int(str(case["k"])) // 128) * 128
    if not variant.takes("source", case["source"]):
        fitting["source"] = ""
    return case | fitting


def thorough_cases(levels: dict[str, tuple[object, ...]], variants: list[Variant]) -> list[Case]:
    cases = []
    seen: set[str] = set()
    for variant in variants:
        # One pair of formats stands for all of a kernel that takes any.
        if variant.kernel in seen:
            continue
        seen.add(variant.kernel)
        # Kernels for few rows have one path up to 8 of them and another for more. Narrow problems
        # leave a warp a single step.
        few_rows = not variant.takes("m", 133)
        rows = (3, 16) if few_rows else (133,)
        for (index, options), m in itertools.product(enumerate(THOROUGH), rows):
            case: Case = (
                {f: values[0] for f, values in levels.items()}
                | options
                | {"variant": variant, "m": m}
            )
            if few_rows:
                case |= {"n": 528, "k": 512}
            case["device"] = index % len(levels["device"])
            cases.append(as_taken(case))
    return cases


def long_cases(levels: dict[str, tuple[object, ...]], variants: list[Variant]) -> list[Case]:
    plain = {f: values[0] for f, values in levels.items()}
    of_kernel = {v.kernel: v for v in variants if v.is_cutlass}
    return [as_taken(plain | LONG | {"variant": variant}) for variant in of_kernel.values()]


def one_aligned_cases(levels: dict[str, tuple[object, ...]], variants: list[Variant]) -> list[Case]:
    """Rows of one operand that 16-byte copies can take beside rows of the other that they cannot.

    A kernel of sm80 that finds unaligned rows has a path of its own for each operand; in the pairs
    above it is left to chance whether the offset of all pointers leaves one of them aligned.
    """
    # The kernels of a pair of formats share one for unaligned operands.
    of_pair = {(v.a, v.b): v for v in variants if "_any_any_any_" not in v.kernel}
    plain = {f: values[0] for f, values in levels.items()} | {"k": 512, "policy": "random"}
    return [
        plain | {"variant": variant, "m": 133, "n": 136, "stride": stride, "data": "normal"}
        for variant in of_pair.values()
        for stride in (":lda=+2", ":ldb=+2")
    ]


def refusals(levels: dict[str, tuple[object, ...]], variants: list[Variant]) -> list[str]:
    """A problem for each value that a kernel does not take: only that value is wrong with it."""
    lines = []
    plain: Case = {"device": 0, "m": 3, "n": 136, "k": 512}
    for variant in variants:
        for factor in ("m", "n", "k", "source"):
            for value in levels[factor]:
                # No kernel could be asked about a K that the formats exclude; the other one of 2880
                # and its substitute is no refusal.
                in_format = value != MIXED_LONG_K and not (
                    value == 528
                    and factor == "k"
                    and not (variant.a in BLOCK_16 and variant.b == "nvf4")
                )
                if variant.takes(factor, value) or not in_format:
                    continue
                case = plain | {"variant": variant, "d": outputs_of(variant)[0], factor: value}
                source = ":beta=1" if factor == "source" else ""
                lines.append(f"refuse 0 {variant.kernel} {shape(case)}{source}")
    return lines


def outputs_of(variant: Variant) -> tuple[str, ...]:
    word = variant.kernel.split(":")[2].split("_")[3]
    return ("bf16", "f16", "f32") if word == "any" else (word,)


def variants_of(kernel: dict[str, object]) -> list[Variant]:
    a, b = kernel["a"], kernel["b"]
    assert isinstance(a, list)
    assert isinstance(b, list)
    return [Variant(str(kernel["kernel"]), str(x), str(y)) for x in a for y in b]


def plan(library: str, kernels: list[dict[str, object]]) -> list[str]:
    lines = [f"devices {','.join(DEVICES[library])}"]
    mine = [v for kernel in kernels for v in variants_of(kernel) if v.library == library]
    # D is no factor of a kernel that is compiled for one.
    for outputs in sorted({outputs_of(v) for v in mine}):
        variants = [v for v in mine if outputs_of(v) == outputs]
        levels = factors(library, variants, outputs)
        lines += [run_line(case, seed) for seed, case in enumerate(cover(levels, variants), 1)]
        thorough = thorough_cases(levels, variants)
        for schedule, seed in (("portfolio", SEEDS[library]), ("race", 1)):
            lines += [run_line(case | {"policy": schedule}, seed) for case in thorough]
        for schedule in ("late+pct", "race"):
            long = long_cases(levels, variants)
            lines += [run_line(case | {"policy": schedule}, 1) for case in long]
        lines += refusals(levels, variants)
        if library == "sm80":
            lines += [run_line(case, 1) for case in one_aligned_cases(levels, variants)]
    return lines


def gpu_kernels(program: str) -> list[dict[str, object]]:
    answer = subprocess.run([program, "info", "--json"], check=True, capture_output=True, text=True)
    kernels = json.loads(answer.stdout)["kernels"]
    return [kernel for kernel in kernels if kernel["kernel"].startswith("cuda:")]


def main() -> None:
    program, out = sys.argv[1], pathlib.Path(sys.argv[2])
    kernels = gpu_kernels(program)
    out.mkdir(parents=True, exist_ok=True)
    for library in sorted({str(kernel["kernel"]).split(":")[1] for kernel in kernels}):
        (out / f"{library}.plan").write_text("\n".join(plan(library, kernels)) + "\n")


if __name__ == "__main__":
    main()
