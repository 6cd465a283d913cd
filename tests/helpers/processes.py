"""Programs in processes of their own, with a copy of the package that may be edited."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import unipac

COUNT = """
import sys
from numba.core import event

compiled = []


class Count(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass


event.register("numba:compile", Count())
"""
"""After this, ``compiled`` lists the functions that were compiled, kernels and what they call."""


def copy_of_package(folder):
    """The sources of the package in a folder, without anything compiled; returns the copy."""
    source = Path(unipac.__file__).parent
    return Path(
        shutil.copytree(source, Path(folder) / "unipac", ignore=shutil.ignore_patterns("__pycache__"))
    )


def run(program, *, path=None, **options):
    """The output of a program in a fresh process; it imports the package below ``path`` if that is given."""
    done = finished(program, path=path, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


BECOME_NOBODY = """
import os, pwd
import gymnasium, numba, numba.np.linalg, numpy, scipy.linalg.cython_blas  # while they can be read

@numba.njit
def load_the_compiler(a):
    return numpy.dot(a, a)

load_the_compiler(numpy.ones((2, 2)))
os.setgroups([])
os.setgid(pwd.getpwnam("nobody").pw_gid)
os.setuid(pwd.getpwnam("nobody").pw_uid)
"""
"""From here on the process belongs to nobody; the interpreter itself may be readable for root alone."""


def finished(program, *, path=None, **variables):
    kept = ("PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment["PYTHONPATH"] = str(path if path is not None else Path(unipac.__file__).parent.parent)
    environment["OPENBLAS_NUM_THREADS"] = "1"
    environment |= {name: str(value) for name, value in variables.items()}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
