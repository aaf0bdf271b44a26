# SPDX-License-Identifier: Apache-2.0
"""What a user of the wheel does first; run by the interpreter of a fresh environment."""

import mxgemm
import numpy as np

weights = mxgemm.quantize(np.ones((3, 64), np.float32), "mxf4")
d = mxgemm.gemm(np.full((2, 64), 2, np.float32), weights, out_dtype="f32")
assert d.shape == (2, 3) and (d == 128).all(), d
print(mxgemm.version(), mxgemm.info()["library"], mxgemm.__file__)
