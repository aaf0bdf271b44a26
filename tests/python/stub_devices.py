# SPDX-License-Identifier: Apache-2.0
"""GPU calls on stub devices, whose memory is host memory: run by test_devices.py, in a process of
its own. Stub kernels write a mark (80 as uint16) into D and the stub quantiser ones; what is tested
is where arrays go and come from."""

import copy
import pickle

import mxgemm
import numpy as np
import pytest
from mxgemm import _native, devices

X = np.arange(4 * 64, dtype=np.float32).reshape(4, 64)
SM80 = "cuda:1"  # the device that the general stub kernel serves
MARK = 80


class Foreign:
    """Another library's array: device memory that only this interface tells of."""

    def __init__(self, array: np.ndarray, index: int = 1, **changes: object) -> None:
        self.index = index
        self.array = devices.upload(array, devices.Device(1, index))
        self.interface = self.array.__cuda_array_interface__ | changes

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return self.interface

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.index)


def pickled(value: object) -> object:
    return pickle.loads(pickle.dumps(value))


@pytest.fixture
def weights() -> mxgemm.QuantizedTensor:
    return mxgemm.quantize(np.ones((8, 64), np.float32), "mxf4")


def mark_of(d: np.ndarray) -> int:
    return int(d.view(np.uint16).reshape(-1)[0])


def test_info() -> None:
    info = mxgemm.info()
    assert [d["arch"] for d in info["devices"] if d["kind"] == "cuda"] == ["sm120f", "sm80", "sm80"]
    assert {library["arch"] for library in info["libraries"]} == {
        "cuda",
        "sm120f",
        "sm100f",
        "sm80",
    }
    assert info["devices"][1]["l2_bytes"] == 1 << 20 and info["devices"][0]["l2_bytes"] is None
    assert "chosen" in mxgemm.explain(4, 8, 64, "bf16", "mxf4", device=SM80)


def test_to_device_and_back() -> None:
    there = mxgemm.to_device(X, SM80)
    assert isinstance(there, mxgemm.DeviceArray)
    assert (there.shape, there.dtype, there.device) == ((4, 64), np.float32, SM80)
    assert there.nbytes == X.nbytes and there.ndim == 2 and there.strides == X.strides
    assert repr(there) == "DeviceArray(float32, shape=(4, 64), cuda:1)"
    back = there.numpy()
    assert (back == X).all() and not np.shares_memory(back, X)
    assert (mxgemm.to_device(there, "cpu") == X).all()
    assert mxgemm.to_device(there, SM80) is there
    assert (mxgemm.to_device(mxgemm.to_device(there, "cuda:2"), "cpu") == X).all()
    # A transposed array arrives as it reads.
    assert (mxgemm.to_device(X.T, SM80).numpy() == X.T).all()
    assert mxgemm.to_device(np.empty((0, 64), np.float32), SM80).numpy().shape == (0, 64)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled], ids=lambda f: f.__name__)
def test_copies_have_memory_of_their_own(again, weights: mxgemm.QuantizedTensor) -> None:
    """A copy of the pointer alone was freed twice, and meant nothing to another process."""
    there = mxgemm.to_device(X, SM80)
    foreign = devices.as_device_array(Foreign(X, 2), "x")
    for array in (there, foreign, there.with_shape((8, 32)), there.with_dtype(np.dtype(np.int32))):
        other = again(array)
        assert other.pointer != array.pointer and other.owner is not array.owner
        assert (other.shape, other.dtype, other.device) == (array.shape, array.dtype, array.device)
        assert (other.numpy() == array.numpy()).all()
    tensor = mxgemm.to_device(weights, SM80)
    other = again(tensor)
    assert other.device == SM80 and other.shape == tensor.shape
    assert (other.qdata.numpy() == weights.qdata).all()
    with pytest.raises(TypeError, match="one owner"):
        again(there.owner)


@pytest.mark.parametrize("stream", [-1, 2**64, "x", b"x", 0.5, True])
def test_a_stream_is_an_integer(stream: object, weights: mxgemm.QuantizedTensor) -> None:
    there = mxgemm.to_device(X, SM80)
    for call in (
        lambda: mxgemm.gemm(there, weights, stream=stream),
        lambda: mxgemm.quantize(there, "mxf4", stream=stream),
        lambda: mxgemm.dequantize(mxgemm.to_device(weights, SM80), stream=stream),
        lambda: there.numpy(stream),
    ):
        with pytest.raises(mxgemm.InvalidArgument, match=r"^stream is .*; it must be"):
            call()
    assert (there.numpy(np.int64(0)) == X).all()


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (-4, 64)},
        {"shape": (4.5, 64)},
        {"shape": None},
        {"typestr": "what"},
        {"typestr": None},
        {"data": "x"},
        {"data": (-1, False)},
        {"data": (1 << 70, False)},
        {"strides": 4},
    ],
    ids=str,
)
def test_a_malformed_interface_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(mxgemm.InvalidArgument, match=r"^x has a malformed __cuda_array_"):
        mxgemm.quantize(Foreign(X, **change), "mxf4")


def test_objects_stay_on_the_host() -> None:
    with pytest.raises(mxgemm.InvalidArgument, match="value has dtype object; objects cannot lie"):
        mxgemm.to_device(np.array([object()]), SM80)


def test_a_tensor_moves_whole(weights: mxgemm.QuantizedTensor) -> None:
    there = mxgemm.to_device(weights, SM80)
    assert there.device == SM80 and weights.device == "cpu"
    assert there.nbytes == weights.nbytes and there.shape == weights.shape
    back = mxgemm.to_device(there, "cpu")
    assert (back.qdata == weights.qdata).all() and (back.scale == weights.scale).all()
    assert mxgemm.to_device(there, SM80) is there


@pytest.mark.parametrize("layout", ["row_major", "swizzle_32_4_4"])
@pytest.mark.parametrize("name", ["mxf4", "nvf4", "mxf8"])
def test_quantize_gives_the_result_where_x_lies(name: str, layout: str) -> None:
    on_host = mxgemm.quantize(X, name, scale_layout=layout, device=SM80)
    assert isinstance(on_host.qdata, np.ndarray) and isinstance(on_host.scale, np.ndarray)
    assert (on_host.qdata == 0x22).all() and (on_host.scale == 127).all()
    assert on_host.global_scale == 1.0
    there = mxgemm.quantize(mxgemm.to_device(X, SM80), name, scale_layout=layout)
    assert there.device == SM80
    assert (there.qdata.numpy() == 0x22).all() and (there.scale.numpy() == 127).all()
    foreign = mxgemm.quantize(Foreign(X), name, scale_layout=layout)
    assert foreign.device == SM80 and foreign.shape == (4, 64)


def test_what_only_the_cpu_has() -> None:
    with pytest.raises(mxgemm.Unsupported, match=r"mse.*only the CPU has it"):
        mxgemm.quantize(X, "mxf4", scale_rule="mse", device=SM80)
    with pytest.raises(mxgemm.Unsupported, match=r"stochastic.*only the CPU has it"):
        mxgemm.quantize(X, "mxf4", rounding="stochastic", seed=1, device=SM80)
    packed = mxgemm.pack(mxgemm.quantize(np.ones((8, 64), np.float32), "mxf4"))
    with pytest.raises(mxgemm.Unsupported, match="prepared weights are for the CPU"):
        mxgemm.gemm(X, packed, device=SM80)
    with pytest.raises(mxgemm.Unsupported, match=r"device_kind is 1 \(cuda\)"):
        mxgemm.pack(mxgemm.to_device(mxgemm.quantize(X, "mxf4"), SM80))


def test_gemm_gives_the_result_where_a_lies(weights: mxgemm.QuantizedTensor) -> None:
    there = mxgemm.to_device(weights, SM80)
    bias = np.zeros(8, np.float32)
    for b in (weights, there):
        d = mxgemm.gemm(X, b, bias=bias, out_dtype="f32", device=SM80)
        assert isinstance(d, np.ndarray) and d.shape == (4, 8) and mark_of(d) == MARK
    d = mxgemm.gemm(X, there, out_dtype="f32")  # b says where
    assert isinstance(d, np.ndarray) and mark_of(d) == MARK
    a = mxgemm.to_device(X, SM80)
    d = mxgemm.gemm(a, weights, c=mxgemm.to_device(np.zeros((4, 8), np.float16), SM80), beta=1.0,
                    out_dtype="f16")  # fmt: skip
    assert isinstance(d, mxgemm.DeviceArray) and d.device == SM80 and mark_of(d.numpy()) == MARK
    d = mxgemm.gemm(Foreign(X), there, bias=bias, out_dtype="f32")
    assert isinstance(d, mxgemm.DeviceArray) and mark_of(d.numpy()) == MARK


def test_gemm_writes_into_out(weights: mxgemm.QuantizedTensor) -> None:
    wide = np.full((4, 12), -1, np.float32)
    out = wide[:, 2:10]
    assert mxgemm.gemm(X, weights, out=out, out_dtype="f32", device=SM80) is out
    assert mark_of(out[:1, :1].copy()) == MARK and (wide[:, [0, 1, 10, 11]] == -1).all()
    there = Foreign(np.full((4, 8), -1, np.float32))
    result = mxgemm.gemm(mxgemm.to_device(X, SM80), weights, out=there, out_dtype="f32")
    assert mark_of(there.array.numpy()) == MARK
    assert result.pointer == there.array.pointer and result.owner is there
    readonly = Foreign(np.zeros((4, 8), np.float32), data=(1 << 20, True))
    with pytest.raises(mxgemm.InvalidArgument, match="out is read-only"):
        mxgemm.gemm(X, weights, out=readonly, out_dtype="f32")


def test_operands_of_two_devices_are_refused(weights: mxgemm.QuantizedTensor) -> None:
    a, b = mxgemm.to_device(X, "cuda:1"), mxgemm.to_device(weights, "cuda:2")
    with pytest.raises(
        mxgemm.InvalidArgument, match="b lies on cuda:2; it must lie where a does: cuda:1"
    ):
        mxgemm.gemm(a, b)
    with pytest.raises(mxgemm.InvalidArgument, match="device is 'cuda:2', but a lies on cuda:1"):
        mxgemm.gemm(a, weights, device="cuda:2")
    with pytest.raises(mxgemm.InvalidArgument, match="bias lies on cuda:2"):
        mxgemm.gemm(a, weights, bias=mxgemm.to_device(np.zeros(8, np.float32), "cuda:2"))
    with pytest.raises(mxgemm.DeviceUnavailable, match="device_index is 7"):
        mxgemm.gemm(X, weights, device="cuda:7")


def test_two_bytes_without_a_name_are_bfloat16(weights: mxgemm.QuantizedTensor) -> None:
    bits = np.full((4, 64), 0x3F80, np.uint16)  # torch's spelling of its bfloat16
    d = mxgemm.gemm(Foreign(bits, typestr="<V2"), weights, out_dtype="f32",
                    a_format="bf16")  # fmt: skip
    assert mark_of(d.numpy()) == MARK


def test_foreign_memory_is_waited_for_where_it_names_a_stream() -> None:
    calls: list[str] = []
    original = _native.call

    def recorded(name: str, *args: object) -> None:
        calls.append(name)
        original(name, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "call", recorded)
        mxgemm.quantize(Foreign(X, stream=2), "mxf4")
        assert "device_synchronize" in calls
        calls.clear()
        mxgemm.quantize(Foreign(X), "mxf4")
        assert "device_synchronize" not in calls


def test_rows_with_a_pitch_are_taken_as_they_are(weights: mxgemm.QuantizedTensor) -> None:
    wide = Foreign(np.ones((4, 96), np.float32))
    part = Foreign(X, shape=(4, 64), strides=(96 * 4, 4), data=(wide.array.pointer, False))
    d = mxgemm.gemm(part, weights, out_dtype="f32")
    assert mark_of(d.numpy()) == MARK
    with pytest.raises(mxgemm.InvalidArgument, match="a has byte strides"):
        mxgemm.gemm(Foreign(X, shape=(4, 32), strides=(256, 8)), weights)


def test_dequantize_and_swizzle_go_where_the_tensor_lies(weights: mxgemm.QuantizedTensor) -> None:
    there = mxgemm.to_device(weights, SM80)
    d = mxgemm.dequantize(there)
    assert isinstance(d, mxgemm.DeviceArray) and d.numpy()[0, 0] == 64  # the mark: D's pitch
    d = mxgemm.dequantize(weights, device=SM80)
    assert isinstance(d, np.ndarray) and d[0, 0] == 64
    swizzled = mxgemm.swizzle_scales(there)
    assert swizzled.device == SM80 and swizzled.scale.shape == (512,)
    with pytest.raises(mxgemm.Unsupported, match="unswizzle scales on cuda:1"):
        mxgemm.unswizzle_scales(swizzled)  # the stub library cannot


def test_memory_is_freed_with_its_array() -> None:
    memory = devices.Memory(devices.Device(1, 1), 1 << 20)
    pointer = memory.pointer
    assert pointer % 256 == 0
    del memory
    with pytest.raises(mxgemm.CudaError, match="cudaErrorInvalidValue"):
        _native.call("device_free", 1, 1, pointer)
    with pytest.raises(mxgemm.OutOfMemory):
        devices.Memory(devices.Device(1, 1), 1 << 60)


def test_a_failing_device_raises_its_error() -> None:
    with pytest.raises(mxgemm.CudaError, match="cudaErrorInvalidValue"):
        mxgemm.quantize(X, "mxf4", nonfinite="saturate", device=SM80)
    with pytest.raises(mxgemm.CudaError, match=r"cuda:sm80:.*cudaErrorLaunchOutOfResources"):
        mxgemm.gemm(X, mxgemm.quantize(X, "mxf4"), alpha=-404.0, device=SM80)
