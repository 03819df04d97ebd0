"""Parts of the solver: compiled and cached one by one, and called by their addresses.

Numba compiles a function together with all that it calls, and LLVM optimises each of those anew in every
caller. A *part* is compiled once, on its own; who calls it finds its address in the workspace. That saves
a third of the time to compile the solver, and lets several processes share the work.

A part is written, and called by compiled code, like any other function. Its annotations must tell the
types of its parameters, the workspace ``w`` among them.
Named tuples are handed over by their addresses, so they must be pinned, see
:mod:`.pinning`.
"""

from collections.abc import Callable
from functools import cache, cached_property
from inspect import get_annotations
from types import FunctionType
from typing import Any, TypeVar, cast

import numba as nb
from numba.core import cgutils
from numba.extending import intrinsic

from metricfit.game.compiled import remember

from .pinning import is_pinned, kind, kinds_of, read_at
from .state import HERE, LEAN, Parts

__all__ = ["addresses", "part"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_kernel(function: Any) -> bool:
    """Compile a kernel for the types in its annotations, or load it from disk; whether it was there."""
    function.compile(kinds_of(function.py_func))
    return not function.stats.cache_misses


body: Any = None
loaded: Any = None


def entry(*packed: Any) -> Any:
    """Do what a part does, given addresses; each part has its own ``body`` and ``loaded``."""
    return body(*loaded(packed))


class Part:
    """A compiled function with the types it is compiled for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        body = nb.njit(**LEAN, forceinline=True)(function)
        names = {"__name__": __name__, "body": body, "loaded": self._loaded()}
        # Numba would take variables of an enclosing function for a reason to compile anew in every process.
        own = FunctionType(entry.__code__, names)
        own.__qualname__ = function.__qualname__
        self.compiled = remember(nb.njit(**LEAN)(own), HERE)

    @cached_property
    def kinds(self) -> tuple[Any, ...]:
        """The types of the parameters."""
        return kinds_of(self.function)

    @cached_property
    def signature(self) -> Any:
        """The types of what is handed over: addresses of named tuples, all else by value."""
        result = kind(get_annotations(self.function)["return"])
        given = [nb.int64 if is_pinned(own) else own for own in self.kinds]
        return result(nb.types.StarArgTuple.from_types(given))

    def _loaded(self) -> Any:
        @intrinsic
        def loaded(typing: Any, packed: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                values = cgutils.unpack_tuple(builder, arguments[0])
                for index, own in enumerate(self.kinds):
                    if is_pinned(own):
                        values[index] = read_at(context, builder, own, values[index])
                return context.make_tuple(builder, signature.return_type, values)

            return nb.types.Tuple(self.kinds)(packed), generate

        return loaded

    def address(self) -> int:
        """Compile the part, or load it from disk, and return where it is."""
        made = self.compiled.get_compile_result(self.signature)
        return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


REGISTERED: dict[str, Part] = {}


@cache
def addresses() -> Parts:
    """Compile all parts, or load them from disk."""
    return Parts(*(REGISTERED[name].address() for name in Parts._fields))


def part(function: Function) -> Function:
    """Compile a function on its own; it allocates nothing, and only compiled functions call it."""
    own = REGISTERED[function.__name__] = Part(function)
    workspace = list(get_annotations(function)).index("w")
    index = Parts._fields.index(function.__name__)

    @intrinsic
    def call(typing: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, packed: Any) -> Any:
            values = cgutils.unpack_tuple(builder, packed[0])
            parts = own.kinds[workspace].fields.index("parts")
            address = builder.extract_value(values[workspace], [parts, index])
            for x, given in enumerate(own.kinds):
                if is_pinned(given):
                    values[x] = builder.extract_value(values[x], given.fields.index("here"))
            result, given = own.signature.return_type, own.signature.args
            shape = context.call_conv.get_function_type(result, given)
            target = builder.inttoptr(address, shape.as_pointer())
            handed = [context.make_tuple(builder, given[0], values)]
            # No part raises, so that there is no status to look at.
            _, value = context.call_conv.call_function(builder, target, result, given, handed)
            return value

        return own.signature.return_type(nb.types.StarArgTuple.from_types(own.kinds)), generate

    return cast(Function, call)
