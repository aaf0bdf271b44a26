# SPDX-License-Identifier: Apache-2.0
"""The wheel: built by pip, looked into, installed into a fresh environment and used there.

Nothing is downloaded: the build backend is the one of this interpreter, and numpy comes from its
site-packages.
"""

import importlib.util
import pathlib
import platform
import shutil
import sys
import sysconfig
import zipfile

from consumer_support import (
    HERE,
    SKIPPED,
    Build,
    build_with_cmake,
    check_gpu_libraries,
    check_needed,
    check_output,
    require,
    run,
)


def require_modules() -> None:
    names = ("numpy", "pip", "scikit_build_core")
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: not installed for {sys.executable}: {', '.join(missing)}")
        sys.exit(SKIPPED)


def make_wheel(build: Build) -> pathlib.Path:
    folder, compiled = build.fresh("wheel"), build.fresh_sibling("wheel")
    settings = {
        "build-dir": compiled,
        "cmake.define.MXGEMM_WERROR": build.werror,
        "cmake.define.CMAKE_C_COMPILER": build.cc,
        "cmake.define.CMAKE_CXX_COMPILER": build.cxx,
        "cmake.define.MXGEMM_CUDA": "OFF",  # takes minutes: those there are taken
    }
    if build.gpu_libraries:
        settings["cmake.define.MXGEMM_CUDA_PREBUILT"] = build.gpu_library_dir
    options = [f"--config-settings={name}={value}" for name, value in settings.items()]
    options += ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    run(
        *(sys.executable, "-m", "pip", "wheel", *options),
        *("--wheel-dir", folder / "dist", build.source_dir),
        CMAKE_BUILD_PARALLEL_LEVEL="2",
    )
    wheels = list((folder / "dist").iterdir())
    require(len(wheels) == 1, f"pip made {[path.name for path in wheels]}")
    shutil.rmtree(compiled)
    return wheels[0]


def check_contents(wheel: pathlib.Path, build: Build) -> None:
    expected_name = f"mxgemm-{build.version}-py3-none-linux_{platform.machine()}.whl"
    require(wheel.name == expected_name, f"the wheel is {wheel.name}, not {expected_name}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        program = archive.getinfo("mxgemm/bin/mxgemm")
    soversion = ".".join(build.version.split(".")[:2])
    for name in (
        "mxgemm/__init__.py",
        "mxgemm/py.typed",
        f"mxgemm/lib/libmxgemm.so.{soversion}",
        "mxgemm/lib/cmake/mxgemm/mxgemmConfig.cmake",
        "mxgemm/include/mxgemm/mxgemm.h",
    ):
        require(name in names, f"the wheel lacks {name}")
    libraries = [name for name in names if ".so" in name and "/lib/mxgemm/" not in name]
    require(len(libraries) == 1, f"the wheel has copies of the library: {libraries}")
    plugins = sorted(name for name in names if "/lib/mxgemm/" in name)
    expected = [f"mxgemm/lib/mxgemm/{name}" for name in build.gpu_libraries]
    require(plugins == expected, f"the wheel has the GPU libraries {plugins}")
    require(bool(program.external_attr >> 16 & 0o111), "the wheel's program is not executable")
    require(any(name.endswith("licenses/LICENSE") for name in names), "the wheel has no licence")
    top = {name.split("/")[0] for name in names}
    require(top == {"mxgemm", f"mxgemm-{build.version}.dist-info"}, f"the wheel has {sorted(top)}")


def make_environment(build: Build, wheel: pathlib.Path) -> pathlib.Path:
    """A fresh virtual environment with the wheel, and with this interpreter's numpy."""
    folder = build.fresh("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    options = ("--no-deps", "--no-index", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (pathlib.Path(purelib) / "numpy_of_parent.pth").write_text(sysconfig.get_path("platlib") + "\n")
    return folder


def test_wheel(build: Build) -> None:
    require_modules()
    wheel = make_wheel(build)
    check_contents(wheel, build)
    environment = make_environment(build, wheel)
    python = environment / "bin" / "python"
    # -P and a foreign folder: the package must come from the environment, not from the source tree.
    output = run(python, HERE / "wheel" / "use_wheel.py", cwd=environment)
    require(output.startswith(build.version), "the wheel's library has another version")
    require(output.count(str(environment)) == 2, "package and library are not the environment's")
    program = (python, "-m", "mxgemm")
    for command in (program, (environment / "bin" / "mxgemm",)):
        require(build.version in run(*command, "--version", cwd=environment), "another version")
    information = run(*program, "info", "--json", cwd=environment)
    check_gpu_libraries(information, environment, build)

    cmake_dir = run(*program, "--cmake-dir", cwd=environment).strip()
    require(str(environment) in cmake_dir, "--cmake-dir is not the environment's")
    installed = pathlib.Path(cmake_dir).parents[2]
    check_needed(installed / "bin" / "mxgemm")
    check_needed(next((installed / "lib").glob("libmxgemm.so*")))
    folder = build.fresh("find_package_of_wheel")
    build_with_cmake(build, "find_package", folder, f"-Dmxgemm_DIR={cmake_dir}")
    check_output(run(folder / "consumer"), build)
