# SPDX-License-Identifier: Apache-2.0
"""The kernels whose mutants run_mutants.py runs, their problems, and the schedules."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel and the problems that its mutants run."""

    device: str
    kernel: str  # as mxgemm names it
    name: str  # part of the mangled name
    problems: tuple[str, ...]
    label: str = ""  # where one kernel of mxgemm's is several functions

    @property
    def title(self) -> str:
        return self.kernel.removeprefix("cuda:") + (f" ({self.label})" if self.label else "")

    @property
    def library(self) -> str:
        return self.kernel.split(":")[1]


# One kernel of every schedule and tile family. Of a library's later kernels only those mutants run
# that its earlier ones have not had.
#
# One cluster runs at a time, so that it takes all output tiles. Problems of the warp-specialised
# kernels: with C, several output tiles and more K tiles than pipeline stages; and without C and one
# K tile, so that the producer runs several output tiles ahead. Of the sm80 kernels: several tiles,
# and K parted among CTAs or not.
SM80 = "cuda:sm80:gemm_"
SM120 = "cuda:sm120f:gemm_"
SM100 = "cuda:sm100f:gemm_"
KERNELS = [
    Case(
        "8.6", SM80 + "mxf4_mxf4_any_64x128x128_s2", "FlatTile", ("m130n200k1056:mxf4:mxf4:bf16",)
    ),
    Case(
        "8.6",
        SM80 + "mxf4_mxf4_any_64x128x128_s2",
        "MaskedTile",
        (
            "m70n136k416:mxf4:mxf4:bf16:lda=+8:ldb=+40",
            "m40n72k160:mxf4:mxf4:bf16:lda=+6:ldb=+34",
        ),
        "masked",
    ),
    Case(
        "8.6", SM80 + "mxf4_mxf4_any_128x256x128_s2", "LargeTile", ("m130n264k640:mxf4:mxf4:bf16",)
    ),
    Case(
        "8.6",
        SM80 + "bf16_mxf4_any_64x128x128_s2",
        "FlatTile",
        ("m70n200k544:bf16:mxf4:bf16",),
    ),
    Case(
        "8.6",
        SM80 + "mxf4_mxf4_any_16x32x128_s2_swapped",
        "swapped_kernel",
        (
            "m16n72k2112:mxf4:mxf4:bf16",
            "m5n72k4224:mxf4:mxf4:bf16",
            "m16n528k1056:mxf4:mxf4:bf16:beta=0.5",
        ),
    ),
    Case(
        "8.6",
        SM80 + "any_any_any_64x64x16",
        "generic_kernel",
        ("m70n72k96:mxf4:mxf8e5m2:bf16",),
    ),
    Case(
        "12.0",
        SM120 + "mxf4_mxf4_bf16_128x128x128_coop",
        "device_kernel",
        (
            "m130n136k768:mxf4:mxf4:bf16:beta=0.5",
            "m390n136k128:mxf4:mxf4:bf16",
        ),
    ),
    Case(
        "12.0",
        SM120 + "mxf4_mxf4_bf16_128x128x128_pingpong",
        "device_kernel",
        ("m260n136k768:mxf4:mxf4:bf16", "m390n136k128:mxf4:mxf4:bf16"),
    ),
    Case(
        "12.0",
        SM120 + "mxf8e4m3_mxf4_bf16_128x128x128_coop",
        "device_kernel",
        (
            "m130n136k512:mxf8e4m3:mxf4:bf16:beta=0.5",
            "m390n136k128:mxf8e4m3:mxf4:bf16",
        ),
    ),
    Case(
        "10.0",
        SM100 + "mxf4_mxf4_bf16_256x128x256_2sm",
        "device_kernel",
        (
            "m260n136k2560:mxf4:mxf4:bf16:beta=0.5",
            "m770n136k256:mxf4:mxf4:bf16",
        ),
    ),
    Case(
        "10.0",
        SM100 + "mxf4_mxf4_bf16_128x128x256_1sm",
        "device_kernel",
        (
            "m130n136k2560:mxf4:mxf4:bf16:beta=0.5",
            "m390n136k256:mxf4:mxf4:bf16",
        ),
    ),
    Case(
        "10.0",
        SM100 + "mxf4_mxf4_bf16_64x128x256_1sm_swapped",
        "device_kernel",
        (
            "m72n136k2560:mxf4:mxf4:bf16:beta=0.5",
            "m200n136k256:mxf4:mxf4:bf16",
        ),
    ),
    Case(
        "10.0",
        SM100 + "mxf8e4m3_mxf4_bf16_128x128x128_1sm",
        "device_kernel",
        (
            "m130n136k1024:mxf8e4m3:mxf4:bf16:beta=0.5",
            "m390n136k128:mxf8e4m3:mxf4:bf16",
        ),
    ),
]

# The kinds of mistake that each schedule shows best come first, so that most mutants end after one
# or two runs. "+lanes": the lanes of a warp part at every access to memory (EMU_LANE_SPLIT).
SHORT = [
    ("random", 1),
    ("late+pct", 1),
    ("early+pct", 1),
    ("plain", 1),
    ("random+lanes", 1),
    ("late", 1),
]
# Only for what the short list leaves and survivors.txt does not explain.
LONG = [
    ("random+lanes", 2),
    ("random+lanes", 3),
    ("random+lanes", 4),
    ("random", 2),
    ("random", 3),
    ("random", 4),
    ("late", 2),
    ("pct", 1),
    ("pct", 2),
    ("pct", 3),
    ("pct", 4),
    ("late+pct", 2),
    ("late+pct", 3),
    ("early+pct", 2),
    ("early+pct", 3),
]
