"""Properties of the code that nvcc generates. The tests read its output and need no GPU."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "cc" / "device" / "cuda_kernels.cu"
# The places in which cmake/Cuda.cmake looks for nvcc.
PLACES = [
    os.environ["PATH"],
    *(f"{os.environ[name]}/bin" for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ),
    "/usr/local/cuda/bin",
    *map(str, pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/cu*/bin")),
]
NVCC = shutil.which("nvcc", path=os.pathsep.join(PLACES))

pytestmark = pytest.mark.skipif(
    NVCC is None or not SOURCE.exists(), reason="no nvcc on this machine, or no checkout"
)


@pytest.fixture(scope="module", autouse=True)
def nvcc_works(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips the tests if nvcc rejects the C++ compiler; no device code can be built then."""
    folder = tmp_path_factory.mktemp("probe")
    probe = folder / "probe.cu"
    probe.write_text("#include <cuda_fp16.h>\n#include <string>\n__global__ void Nothing() {}\n")
    command = [str(NVCC), "-std=c++17", "-cubin", "-o", str(folder / "probe"), str(probe)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"nvcc compiles nothing here: {done.stderr[-300:]}")


def compiled(out: pathlib.Path, *flags: str) -> str:
    """Compiles the device code into `out`; returns the output of nvcc."""
    defines = ["-DTAG_CUDA_LOWEST=60", "-DTAG_CUDA_NEWEST=90"]
    command = [str(NVCC), "-std=c++17", "-O3", *defines, f"-I{ROOT}", *flags]
    done = subprocess.run(
        [*command, "-o", str(out), str(SOURCE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def kernels(ptx: str) -> dict[str, str]:
    """The bodies of the kernels in `ptx`, by mangled name."""
    parts = re.split(r"\.entry\s+(\w+)", ptx)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_sums_and_packs_load_and_store_whole_vectors(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "kernels.ptx"
    compiled(out, "-arch=compute_90", "-ptx")
    found = kernels(out.read_text())
    sums = {name: body for name, body in found.items() if "AddKernel" in name}
    packs = {name: body for name, body in found.items() if "PackKernelINS1_6Vector" in name}
    assert (len(sums), len(packs)) == (8, 3)  # one per kind of number, and one per kind of table
    for name, body in {**sums, **packs}.items():
        assert re.search(r"ld\.global\.v[24]", body), name
        assert re.search(r"st\.global\.v[24]", body), name


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_no_register_is_spilled_and_no_table_is_copied_per_thread(
    architecture: str, tmp_path: pathlib.Path
) -> None:
    output = compiled(
        tmp_path / "kernels.cubin", f"-arch={architecture}", "-cubin", "--resource-usage"
    )
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", output)
    assert len(frames) == 23
    assert set(frames) == {("0", "0")}
    # If a thread uses at most 32 registers, a multiprocessor holds its maximum number of threads,
    # enough to hide the latency of memory. Sums of narrow integers use more, because they unpack 8
    # or 16 lanes.
    kernels = re.findall(r"Compiling entry function '(\w+)'", output)
    registers = [int(used) for used in re.findall(r"Used (\d+) registers", output)]
    many = {name for name, used in zip(kernels, registers, strict=True) if used > 32}
    assert all("AddKernelIh" in name or "AddKernelIt" in name for name in many), many
