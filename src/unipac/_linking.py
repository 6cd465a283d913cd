"""How a kernel is compiled together with the kernels that it calls.

Numba compiles every function to machine code of its own, optimises it, and then links it into its callers, where it is
optimised again; ``inline="always"`` copies the code before types are known, which takes longer still. Most of our
kernels are only called by other kernels. So each is compiled in two ways:

a part     what other kernels call: typed and translated to LLVM once, neither optimised nor made executable
a kernel   what Python calls: linked with all parts that it reaches, and optimised once, as a whole

The first decision of a new installation takes half the time, and whole loops run a tenth faster.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import binding as llvm
from numba import _dynfunc, typeof
from numba.core import codegen, compiler, config, typed_passes, types
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher

# mypy: disable-error-code="misc, no-any-return"
# Numba has no types.

BITS = config.MACHINE_BITS
_FUNCTION = """
define void @NRT_{name}(i8* %array) noinline nounwind {{
    %none = icmp eq i8* %array, null
    br i1 %none, label %end, label %counted
counted:
    %count = bitcast i8* %array to i{bits}*
    %before = load i{bits}, i{bits}* %count
    %after = {change} i{bits} %before, 1
    store i{bits} %after, i{bits}* %count
    {then}
end:
    ret void
}}
"""
_FREE_THE_LAST = """%last = icmp eq i{bits} %after, 0
    br i1 %last, label %free, label %end
free:
    call void @NRT_MemInfo_call_dtor(i8* %array)
    br label %end"""
COUNTING = "\n".join((
    "declare void @NRT_MemInfo_call_dtor(i8*)",
    _FUNCTION.format(bits=BITS, name="incref", change="add", then="br label %end"),
    _FUNCTION.format(bits=BITS, name="decref", change="sub", then=_FREE_THE_LAST.format(bits=BITS)),
))  # fmt: skip
"""How a kernel counts the references to an array: as Numba does, but not atomically, which would take far longer.

Atomic counting took up to three quarters of a short round. Nothing else counts at the same time: each call makes new
counters for its arguments, since no kernel hands an array to Python; an array that a kernel makes is its own; and no
kernel runs in several threads by itself.
"""


class _Part(codegen.JITCodeLibrary):
    """The code of a part, to be linked into kernels."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    @functools.cached_property
    def alone(self) -> _Alone:
        """Its own code, without that of the parts that it calls."""
        return _Alone(super()._get_module_for_linking(), self._reload_init)

    def _get_module_for_linking(self) -> Any:
        """The code for libraries outside of the package, which link only what they call directly."""
        module = self.alone.module.clone()
        for inner in self._linking_libraries:
            module.link_in(inner._get_module_for_linking(), preserve=True)
        return module


class _Alone:
    """The code of one part alone, as a kernel links it."""

    def __init__(self, module: Any, reload_init: Any) -> None:
        self.module, self._reload_init = module, reload_init

    def _get_module_for_linking(self) -> Any:
        return self.module


class _Whole(codegen.JITCodeLibrary):
    """The code of a kernel and of all parts that it reaches, each of them once."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def add_linking_library(self, library: Any) -> None:
        if not isinstance(library, _Part):
            super().add_linking_library(library)
        elif library.alone not in self._linking_libraries:
            self._linking_libraries.append(library.alone)
            for inner in library._linking_libraries:
                self.add_linking_library(inner)

    def _optimize_final_module(self) -> None:
        # Nothing else links these functions, so LLVM may drop their arguments, and copies that it has inlined. They get
        # names of their own; otherwise the linker confuses them with those linked by functions outside of the package.
        for function in self._final_module.functions:
            if function.linkage.name == "linkonce_odr" and function.name.startswith("_ZN6unipac"):
                function.linkage = "internal"
                function.name = f"{function.name}$part"
        self._count_alone()
        # Everything is in one module, so Numba's first, cheaper pass for inlining would only repeat work.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _count_alone(self) -> None:
        """Replace Numba's functions that count references by ours, unless Numba's are being debugged."""
        if config.DEBUG_NRT:
            return
        ours = llvm.parse_assembly(COUNTING)
        ours.data_layout, ours.triple = self._final_module.data_layout, self._final_module.triple
        self._final_module.link_in(ours)  # Numba's are weak: ours take their place
        for name in ("NRT_incref", "NRT_decref"):
            self._final_module.get_function(name).linkage = "internal"


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerWhole(typed_passes.NativeLowering):
    """The last pass of a kernel."""

    _name = "unipac_lower_whole"

    def run_pass(self, state: Any) -> bool:
        state.library = _Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(typed_passes.NativeLowering):
    """The last pass of a part: it stops before machine code is made."""

    _name = "unipac_lower_part"

    def run_pass(self, state: Any) -> bool:
        context, library = state.targetctx, _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library, state.flags.no_compile = library, True
        super().run_pass(state)
        library.finalize()
        made = state.cr
        # Callers look up the code by this object; it has no address, since only kernels call a part.
        name = made.fndesc.qualname.split(".")[-1]
        key = _dynfunc.make_function(made.fndesc.lookup_module(), name, "a part", 0, made.env, (library,))
        context.insert_user_function(key, made.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state.cr = made._replace(cfunc=key)
        return True


def _pipeline(lowering: type) -> type:
    """Numba's compiler with another last pass."""

    class Pipeline(compiler.CompilerBase):
        def define_pipelines(self) -> list[Any]:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.passes[:] = [
                (lowering if step is typed_passes.NativeLowering else step, text)
                for step, text in passes.passes
            ]
            passes.finalize()
            return [passes]

    return Pipeline


_WHOLE, _PART = _pipeline(_LowerWhole), _pipeline(_LowerPart)


class Kernel(CPUDispatcher):
    """A compiled function. Python calls it; kernels that call it get its ``part``."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_WHOLE)

    def form(self, *examples: Any) -> Callable[..., Any]:
        """The compiled code for arguments like these; it is compiled now if it is not yet.

        Calling it skips the look at the types of all arguments, which takes 50 ns for each None or flag, and a
        microsecond for a named tuple of arrays. Types are then not checked, so arguments must have the same ones;
        arrays may have a simpler layout, and numbers must be convertible.
        """
        kinds = tuple(map(typeof, examples))
        made = self.overloads.get(kinds)
        return self.compile(kinds) if made is None else made.entry_point

    @functools.cached_property
    def part(self) -> CPUDispatcher:
        """The same function, to be linked into kernels."""
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        return CPUDispatcher(self.py_func, targetoptions=options, pipeline_class=_PART)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)
