# SPDX-License-Identifier: Apache-2.0
"""Matrix multiplication in 4- and 8-bit block-scaled formats: MXFP4, NVFP4, MXFP8.

    import numpy as np
    import mxgemm

    weights = mxgemm.quantize(np.random.randn(512, 1024).astype(np.float32), "mxf4")   # B, stored
                                                                                       [N, K]
    x = np.random.randn(8, 1024).astype(np.float32)                                    # A, [M, K]
    y = mxgemm.gemm(x, weights, out_dtype="f32")                                       # D = A · Bᵀ,
                                                                                       [M, N]

numpy arrays in and out, or arrays in a GPU's memory; neither torch nor CUDA is needed. The library
behind it is found beside the package (the wheel) or by the environment variable MXGEMM_LIBRARY.
"""

from .devices import DeviceArray
from .errors import (
    CudaError,
    DeviceUnavailable,
    Error,
    FileError,
    InvalidArgument,
    OutOfMemory,
    Unsupported,
)
from .library import get_num_threads, info, set_num_threads, version
from .ops import explain, gemm, pack
from .quantizing import dequantize, quantize, swizzle_scales, unswizzle_scales
from .tensors import PackedWeights, QuantizedTensor, to_device

__version__ = version()

__all__ = [
    "CudaError",
    "DeviceArray",
    "DeviceUnavailable",
    "Error",
    "FileError",
    "InvalidArgument",
    "OutOfMemory",
    "PackedWeights",
    "QuantizedTensor",
    "Unsupported",
    "__version__",
    "dequantize",
    "explain",
    "gemm",
    "get_num_threads",
    "info",
    "pack",
    "quantize",
    "set_num_threads",
    "swizzle_scales",
    "to_device",
    "unswizzle_scales",
    "version",
]
