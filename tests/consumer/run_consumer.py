# SPDX-License-Identifier: Apache-2.0
"""One consumer test: builds and runs a program outside of the source tree, as its name says.

install           `cmake --install` of the build into a folder, which is then moved
program           the installed command line program, and what it is linked with
find_package      CMake, an installation
pkg_config        pkg-config, an installation
plain_c           a C compiler's -I and -l alone, an installation
add_subdirectory  CMake, the source tree inside another project
wheel             pip: the wheel in a fresh virtual environment (see wheel.py)

Exit code 77, which CTest counts as skipped, where a needed tool is missing.
"""

import argparse
import pathlib
import shutil

from consumer_support import (
    HERE,
    Build,
    build_with_cmake,
    check_gpu_libraries,
    check_needed,
    check_output,
    require,
    require_tool,
    run,
)
from wheel_consumer import test_wheel


def test_install(build: Build) -> None:
    staged = build.fresh("staged") / "prefix"
    run(build.cmake, "--install", build.build_dir, "--prefix", staged)
    build.fresh("moved")
    shutil.move(staged, build.prefix)
    for name in (
        "bin/mxgemm",
        "include/mxgemm/mxgemm.h",
        "include/mxgemm/mxgemm.hpp",
        "include/mxgemm/version.h",
        "lib/libmxgemm.so",
        f"lib/libmxgemm.so.{build.version}",
        "lib/cmake/mxgemm/mxgemmConfig.cmake",
        "lib/cmake/mxgemm/mxgemmConfigVersion.cmake",
        "lib/pkgconfig/mxgemm.pc",
        *(f"lib/mxgemm/{name}" for name in build.gpu_libraries),
    ):
        require((build.prefix / name).is_file(), f"{name} is not installed")
    for path in (build.prefix / "lib").rglob("*.[cp][mc]*"):
        text = path.read_text()
        require(
            str(build.work_dir) not in text, f"{path.name} names the folder it was installed to"
        )
        require(str(build.source_dir) not in text, f"{path.name} names the source folder")


def test_program(build: Build) -> None:
    program = build.prefix / "bin" / "mxgemm"
    require(build.version in run(program, "--version"), "the program prints another version")
    check_gpu_libraries(run(program, "info", "--json"), build.prefix, build)
    check_needed(program)
    check_needed(build.prefix / "lib" / "libmxgemm.so")


def test_find_package(build: Build) -> None:
    folder = build.fresh("find_package")
    build_with_cmake(build, "find_package", folder, f"-DCMAKE_PREFIX_PATH={build.prefix}")
    check_output(run(folder / "consumer"), build)
    # A package of another minor version must not be taken.
    cache = folder / "CMakeCache.txt"
    require(str(build.prefix) in cache.read_text(), "another installation of mxgemm was found")
    probe = build.fresh("version_probe")
    script = probe / "probe.cmake"
    script.write_text(
        "set(PACKAGE_FIND_VERSION 0.2)\nset(PACKAGE_FIND_VERSION_MAJOR 0)\n"
        "set(PACKAGE_FIND_VERSION_MINOR 2)\nset(CMAKE_SIZEOF_VOID_P 8)\n"
        f'include("{build.prefix}/lib/cmake/mxgemm/mxgemmConfigVersion.cmake")\n'
        'message(STATUS "compatible=${PACKAGE_VERSION_COMPATIBLE}")\n'
    )
    require("compatible=FALSE" in run(build.cmake, "-P", script), "0.2 is taken for compatible")


def test_add_subdirectory(build: Build) -> None:
    folder = build.fresh_sibling("add_subdirectory")
    options = [f"-DMXGEMM_SOURCE_DIR={build.source_dir}", f"-DMXGEMM_WERROR={build.werror}"]
    if not build.ccache.endswith("NOTFOUND"):
        launcher = f"{build.cmake};-E;env;CCACHE_BASEDIR={build.source_dir};CCACHE_NOHASHDIR=1;"
        launcher += build.ccache
        options += [f"-DCMAKE_{name}_COMPILER_LAUNCHER={launcher}" for name in ("C", "CXX")]
    build_with_cmake(build, "add_subdirectory", folder, "-G", "Ninja", *options)
    programs = list(folder.rglob("consumer"))
    check_output(run(next(path for path in programs if path.is_file())), build)
    require(not list(folder.rglob("*_test")), "mxgemm's tests are built inside another project")
    # The outer project's installation must hold the outer project's files alone.
    run(build.cmake, "--install", folder, "--prefix", folder / "prefix")
    installed = [path.name for path in (folder / "prefix").rglob("*") if path.is_file()]
    require(installed == ["consumer"], f"the outer project installs {installed}")
    shutil.rmtree(folder)


def test_pkg_config(build: Build) -> None:
    require_tool("pkg-config")
    folder = build.fresh("pkg_config")
    path = {"PKG_CONFIG_PATH": str(build.prefix / "lib" / "pkgconfig")}
    require(
        run("pkg-config", "--modversion", "mxgemm", **path).strip() == build.version,
        "pkg-config knows another version",
    )
    flags = run("pkg-config", "--cflags", "--libs", "mxgemm", **path).split()
    program = folder / "consumer"
    run(build.cc, HERE / "pkg_config" / "main.c", *flags, "-o", program)
    libdir = run("pkg-config", "--variable=libdir", "mxgemm", **path).strip()
    output = run(program, LD_LIBRARY_PATH=libdir)
    require(output.strip() == f"mxgemm {build.version}", "the consumer prints another version")


def test_plain_c(build: Build) -> None:
    program = build.fresh("plain_c") / "consumer"
    include, lib = build.prefix / "include", build.prefix / "lib"
    strict = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
    link = (f"-L{lib}", "-lmxgemm", f"-Wl,-rpath,{lib}")
    source = HERE / "plain_c" / "main.c"
    run(build.cc, *strict, f"-I{include}", source, *link, "-o", program)
    require(run(program).strip() == "32", "32 ones by 32 ones is not 32")


TESTS = {
    "install": test_install,
    "program": test_program,
    "find_package": test_find_package,
    "pkg_config": test_pkg_config,
    "plain_c": test_plain_c,
    "add_subdirectory": test_add_subdirectory,
    "wheel": test_wheel,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=TESTS)
    for name in ("source-dir", "build-dir", "work-dir"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("cmake", "cc", "cxx", "ccache", "version", "werror"):
        parser.add_argument(f"--{name}", required=True)
    options = vars(parser.parse_args())
    kind = options.pop("kind")
    build = Build(**options)
    TESTS[kind](build)


if __name__ == "__main__":
    main()
