# SPDX-License-Identifier: Apache-2.0
"""What the consumer tests share: the build under test, and commands in a clean environment."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
# All that library and program may need at run time; the loader's own name differs by architecture.
SYSTEM_LIBRARIES = ("libc.so.", "libm.so.", "libstdc++.so.", "libgcc_s.so.", "ld-linux")


@dataclass(frozen=True)
class Build:
    """The build under test."""

    source_dir: pathlib.Path
    build_dir: pathlib.Path
    work_dir: pathlib.Path
    cmake: str
    cc: str
    cxx: str
    ccache: str
    version: str
    werror: str

    @property
    def prefix(self) -> pathlib.Path:
        """The installation, where it has been moved to."""
        return self.work_dir / "moved" / "prefix"

    @property
    def gpu_libraries(self) -> list[str]:
        """File names of the GPU libraries that the build has made."""
        return sorted(path.name for path in self.gpu_library_dir.glob("libmxgemm_*.so"))

    @property
    def gpu_library_dir(self) -> pathlib.Path:
        return self.build_dir / "lib" / "mxgemm"

    def fresh(self, name: str) -> pathlib.Path:
        """An empty folder of that name."""
        return emptied(self.work_dir / name)

    def fresh_sibling(self, name: str) -> pathlib.Path:
        """An empty folder beside the build folder, for builds of mxgemm itself.

        ccache sees paths relative to the build folder, so only there it finds what is compiled.
        """
        return emptied(self.build_dir.with_name(f"{self.build_dir.name}-{name}"))


def emptied(folder: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without what could help a consumer find mxgemm by accident."""
    hidden = ("MXGEMM_", "PYTHON", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return kept | extra


def run(*command: str | pathlib.Path, cwd: pathlib.Path | None = None, **extra: str) -> str:
    """Runs a command, prints it and its output, and returns the output."""
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    done = subprocess.run(
        words, cwd=cwd, env=clean_environment(**extra), capture_output=True, text=True, check=False
    )
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(words)}")
    return done.stdout


def require(condition: bool, message: str) -> None:
    if not condition:
        sys.exit(f"FAILED: {message}")


def require_tool(name: str) -> None:
    if shutil.which(name) is None:
        print(f"SKIPPED: {name} is not installed")
        sys.exit(SKIPPED)


def check_needed(binary: pathlib.Path) -> None:
    """The file must need system libraries and libmxgemm only, or it would not run elsewhere."""
    if shutil.which("readelf") is None:
        print("not checked, readelf is not installed: what the file is linked with")
        return
    dynamic = run("readelf", "--dynamic", "--wide", binary)
    needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line]
    strangers = [name for name in needed if not name.startswith((*SYSTEM_LIBRARIES, "libmxgemm."))]
    require(needed != [], f"{binary} names no needed library")
    require(not strangers, f"{binary} needs {', '.join(strangers)}")


def check_gpu_libraries(information: str, folder: pathlib.Path, build: Build) -> None:
    """What `mxgemm info --json` prints must list the GPU libraries that the build made.

    In `folder`, and loaded or with the reason why not.
    """
    listed = json.loads(information)["libraries"]
    paths = [pathlib.Path(library["path"]) for library in listed]
    names = sorted(path.name for path in paths)
    require(names == build.gpu_libraries, f"mxgemm info lists {names}, not {build.gpu_libraries}")
    strangers = [str(path) for path in paths if folder.resolve() not in path.resolve().parents]
    require(not strangers, f"mxgemm info lists {strangers}")
    silent = [library for library in listed if not library["loaded"] and not library["reason"]]
    require(not silent, f"mxgemm info does not say why these are not loaded: {silent}")


def build_with_cmake(build: Build, name: str, folder: pathlib.Path, *options: str) -> None:
    """Configures and builds tests/consumer/<name> in `folder`."""
    compilers = [f"-DCMAKE_C_COMPILER={build.cc}", f"-DCMAKE_CXX_COMPILER={build.cxx}"]
    run(build.cmake, "-S", HERE / name, "-B", folder, *compilers, *options)
    run(build.cmake, "--build", folder, "--parallel", "2")


def check_output(output: str, build: Build) -> None:
    require(f"mxgemm {build.version} on " in output, "the consumer prints another version")
