"""Kernels are compiled again when what they contain has changed, and only then."""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import unipac
from helpers.processes import BECOME_NOBODY, COUNT, copy_of_package, finished, run
from unipac import _jit

USE = f"""
{COUNT}
import numpy as np
from unipac.linalg import levels, ridge

ridge.squared_norm(np.ones(3))
levels.threshold(1)
print(*sorted(set(compiled) & {{"squared_norm", "threshold"}}))
"""


def add_line(path):
    path.write_text(path.read_text() + "\n# another line\n")


def test_a_kernel_is_compiled_again_if_what_it_imports_has_changed(tmp_path):
    """``linalg.levels`` imports ``linalg.ridge`` and ``_constants``; neither imports the report."""
    package = copy_of_package(tmp_path)

    def compiled():
        return run(USE, path=tmp_path, NUMBA_CACHE_DIR=tmp_path / "cache").split()

    assert compiled() == ["squared_norm", "threshold"]
    assert compiled() == []
    later = time.time() + 1000
    for path in package.rglob("*.py"):
        os.utime(path, (later, later))
    assert compiled() == [], "times of files matter"
    add_line(package / "report" / "style.py")
    add_line(package / "envs" / "__init__.py")
    assert compiled() == [], "files that the kernels do not import matter"
    add_line(package / "linalg" / "levels.py")
    assert compiled() == ["threshold"]
    add_line(package / "_constants.py")
    assert compiled() == ["threshold"], "a module that is imported does not matter"
    add_line(package / "linalg" / "ridge.py")
    assert compiled() == ["squared_norm", "threshold"]
    add_line(package / "_jit.py")
    assert compiled() == ["squared_norm", "threshold"]
    assert compiled() == []


def test_all_forms_of_imports_count(tmp_path):
    source = tmp_path / "kernels.py"
    source.write_text(
        "import numpy, unipac.theory.radii as radii\n"
        "from unipac import _checks as check, load\n"
        "from unipac.linalg.fast import simd\n"
        "from unipac.linalg.ridge import add\n"
        "def later():\n    from unipac.metrics.gaps import regret\n"
    )
    package = Path(unipac.__file__).parent
    expected = [
        "theory/radii.py",
        "_checks.py",
        "__init__.py",
        "linalg/fast/simd.py",
        "linalg/ridge.py",
        "metrics/gaps.py",
    ]
    assert _jit._imported(source) == {package / name for name in expected}


def test_names_of_a_package_count_though_it_imports_them_when_asked_for():
    package = Path(unipac.__file__).parent
    found = _jit._imported(package / "theory" / "__init__.py")
    assert {package / "_lazy.py", package / "theory" / "radii.py", package / "theory" / "bounds.py"} <= found


def test_relative_imports_count(tmp_path, monkeypatch):
    package = copy_of_package(tmp_path)
    monkeypatch.setattr(_jit, "PACKAGE", package)
    _jit._source.cache_clear()
    source = package / "linalg" / "mine.py"
    source.write_text(
        "from . import ridge\nfrom .fast import simd\nfrom .._constants import TIE\nfrom .. import _checks\n"
    )
    try:
        expected = ["linalg/ridge.py", "linalg/fast/simd.py", "_constants.py", "_checks.py"]
        assert _jit._imported(source) == {package / name for name in expected}
    finally:
        _jit._source.cache_clear()


def test_stamps_follow_imports_through_modules():
    """The rounds of bandits import the levels, which import the ridge regression: by name, not by luck."""
    package = Path(unipac.__file__).parent
    reached, waiting = set(), {package / "linalg" / "fast" / "argmax.py"}
    while waiting:
        path = waiting.pop()
        reached.add(path)
        waiting |= _jit._imported(path) - reached
    names = {str(path.relative_to(package)) for path in reached}
    assert {"linalg/fast/simd.py", "linalg/levels.py", "linalg/ridge.py", "_jit.py"} <= names
    assert not any(name.startswith(("report", "experiments", "metrics")) for name in names)
    assert _jit.stamp(str(package / "no_such_file.py")) == ""


FOLDER = f"""
{COUNT}
import numpy as np
import unipac
from unipac.linalg import ridge

ridge.squared_norm(np.ones(3))
print(len(compiled) > 0, unipac._jit.cache_folder())
"""


@pytest.fixture
def public_folder():
    """A folder that everybody can read; the temporary folders of pytest belong to one user."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become another user")
def test_nobody_with_a_read_only_package_and_without_a_home(public_folder):
    copy_of_package(public_folder)
    settings = {"path": public_folder, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    done = finished(BECOME_NOBODY + FOLDER, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "None"]
    assert done.stderr.count("compiling kernels, in every process, as no folder") == 1
    # Kernels that another user left beside the modules are taken, though nothing can be added to them.
    assert run(FOLDER, path=public_folder).split() == ["True", str(public_folder / "unipac")]
    done = finished(BECOME_NOBODY + FOLDER, **settings)
    assert (done.stdout.split(), done.stderr) == (["False", "None"], "")
    # A folder of one's own is respected.
    own = public_folder / "own"
    own.mkdir()
    own.chmod(0o777)
    found = [run(BECOME_NOBODY + USE, NUMBA_CACHE_DIR=own, **settings).split() for _ in range(2)]
    assert found == [["squared_norm", "threshold"], []]


def test_the_notice_comes_once_per_process_and_not_if_all_is_cached(tmp_path):
    program = """
import numpy as np
from unipac.linalg import ridge
x, rows = np.ones(2), np.zeros((2, 4))
ridge.squared_norm(x)
ridge.reset(rows, 1.0)
ridge.evaluate(rows, x)
"""
    first, second = (finished(program, NUMBA_CACHE_DIR=tmp_path) for _ in range(2))
    assert re.fullmatch(
        r"unipac: compiling kernels, once per installation; .*`unipac warm`.*\n", first.stderr
    )
    assert second.stderr == ""
    silent = "from unipac import _jit\nwith _jit.silently():" + program.replace("\n", "\n    ")
    assert finished(silent, NUMBA_CACHE_DIR=tmp_path / "other").stderr == ""


def test_a_disk_that_became_read_only_is_no_error(tmp_path):
    """The folder vanishes, and a file is in its place: the kernel is compiled and not kept."""
    program = f"""
import pathlib, shutil
import numpy as np
from unipac.linalg import ridge
folder = pathlib.Path({str(tmp_path)!r}) / "cache"
shutil.rmtree(folder)
folder.write_text("in the way")
print(ridge.squared_norm(np.ones(3)))
"""
    assert run(program, NUMBA_CACHE_DIR=tmp_path / "cache") == "3.0\n"


def test_kernels_made_from_text_are_compiled_without_a_cache():
    text = "from unipac._jit import jit\n@jit\ndef double(x):\n    return 2.0 * x\nprint(double(1.5))"
    assert run(text) == "3.0\n"


def test_kernels_follow_the_sources_of_all_that_they_contain(tmp_path):
    """A caller in an unchanged file is compiled again when a kernel of another file has changed."""
    package = Path(unipac.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(package, tmp_path / "unipac", ignore=ignored)
    program = (
        "import unipac.bandits.levelled.confidence as c; from unipac.linalg import levels;"
        "s = levels.empty(2, 1, 1.0);"
        "k = c.Confidence(True, 0, c.MIXTURE, 0.5, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, -9.0, 9.0);"
        "c.set_radii(s, k, 1, 1); print(s.beta[0], sum(c.set_radii.stats.cache_hits.values()))"
    )

    def run():
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path), "PATH": "", "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        beta, hits = done.stdout.split()
        return float(beta), int(hits)

    radius = (2 * np.log(2) + 1) ** 0.5
    assert run() == (pytest.approx(radius), 0)
    assert run() == (pytest.approx(radius), 1)
    source = tmp_path / "unipac" / "theory" / "radii.py"
    text = source.read_text()
    assert text.count("return math.sqrt(noise**2") == 1
    source.write_text(text.replace("return math.sqrt(noise**2", "return 2.0 * math.sqrt(noise**2"))
    assert run() == (pytest.approx(2 * radius), 0)


SUMS = """
{decorator}
def total(values):
    s = values[0]
    for k in range(1, values.size):
        s += {times} * values[k]
    return s

if __name__ == "__main__":
    import numpy as np
    print(total(np.array([1, 2])), total(np.array([0.5, 2.0])), sum(total.stats.cache_hits.values()))
"""
OURS, NUMBAS = "from unipac._jit import jit\n@jit", "import numba\n@numba.njit(cache=True)"


def kept_forms(folder):
    return sorted(folder.rglob("*.nbc"))


def exchange(folder, older):
    """What two processes can leave that compile different forms at the same time."""
    first, second = kept_forms(folder)
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])


def restore(folder, older):
    """What a process can leave that is killed before it writes the forms of changed sources."""
    for path, content in zip(kept_forms(folder), older, strict=True):
        path.write_bytes(content)


def cut(folder, older):
    for path in kept_forms(folder):
        path.write_bytes(path.read_bytes()[:-1000])


def empty(folder, older):
    for path in kept_forms(folder):
        path.write_bytes(b"")


def blank(folder, older):
    """What a power failure can leave of a file that was not on the disk yet."""
    for path in kept_forms(folder):
        content = path.read_bytes()
        path.write_bytes(content[:-3000] + bytes(2000) + content[-1000:])


def rename(folder, older):
    """A list of forms with names that no file can have."""
    (path,) = folder.rglob("*.nbi")
    path.write_bytes(path.read_bytes().replace(b"sums.total", b"sums\0total"))


def sums(source, folder, *arguments):
    """What the program prints that uses the kernel."""
    settings = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(folder)}, "capture_output": True}
    command = [sys.executable, *(arguments or [str(source)])]
    return subprocess.run(command, text=True, check=False, **settings).stdout.strip()


def sums_after(damage, tmp_path, decorator):
    """What the kernel gives, and how often it is read from the disk: before a damage, after it, and once more."""
    source, folder = tmp_path / "sums.py", tmp_path / "cache"
    use = functools.partial(sums, source, folder)
    source.write_text(SUMS.format(decorator=decorator, times=1))
    assert use() == "3 2.5 0"
    older = [path.read_bytes() for path in kept_forms(folder)]
    source.write_text(SUMS.format(decorator=decorator, times=10))
    os.utime(source, (time.time() + 1000,) * 2)
    found = [use(), use()]
    damage(folder, older)
    return [*found, use(), use()]


@pytest.mark.parametrize("damage", [exchange, restore, cut, empty, blank, rename])
def test_code_of_other_types_or_sources_is_never_run(damage, tmp_path):
    right = [f"21 20.5 {hits}" for hits in (0, 2, 0, 2)]
    assert sums_after(damage, tmp_path, OURS) == right


OTHER_VERSION = """
import runpy, numba
numba.__version__ = "0.0.0"
runpy.run_path({path!r}, run_name="__main__")
"""


@pytest.mark.parametrize(("decorator", "hits"), [(OURS, 0), (NUMBAS, 2)])
def test_code_of_another_compiler_is_never_run(decorator, hits, tmp_path):
    """What a process can leave that is killed before it writes the forms of a new Numba; Numba itself runs them."""
    source, folder = tmp_path / "sums.py", tmp_path / "cache"
    source.write_text(SUMS.format(decorator=decorator, times=1))
    assert sums(source, folder, "-c", OTHER_VERSION.format(path=str(source))) == "3 2.5 0"
    older = [path.read_bytes() for path in kept_forms(folder)]
    assert [sums(source, folder) for _ in range(2)] == ["3 2.5 0", "3 2.5 2"]  # the list has its version
    restore(folder, older)
    assert sums(source, folder) == f"3 2.5 {hits}"


@pytest.mark.parametrize("damage", [exchange, restore])
def test_numba_runs_code_of_other_types_or_sources(damage, tmp_path):
    """The control."""
    *right, wrong, _ = sums_after(damage, tmp_path, NUMBAS)
    assert right == [f"21 20.5 {hits}" for hits in (0, 2)]
    assert not wrong.startswith("21 20.5")
