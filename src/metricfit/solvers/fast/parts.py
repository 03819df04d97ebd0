"""Parts of the solver: compiled and cached one by one, and called by their addresses.

Numba compiles a function together with all that it calls, and LLVM optimises each of those anew in every
caller. A *part* is compiled once, on its own; who calls it finds its address in the workspace. That saves
a third of the time to compile the solver, and lets several processes share the work.

A part is written, and called by compiled code, like any other function. Its annotations must tell the
types of its parameters, the workspace ``w`` among them. Named tuples are handed over by their addresses, so
they must be pinned, see :mod:`.pinning`.
"""

from collections.abc import Callable
from functools import cache
from inspect import get_annotations
from typing import Any, TypeVar, cast

import numba as nb
from numba.core import cgutils
from numba.extending import intrinsic

from metricfit.game.compiled import is_remembered, remember
from metricfit.game.pipeline import Forward

from .pinning import kind, kinds_of
from .state import HERE, LEAN, Parts

__all__ = ["addresses", "part"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Part:
    """A compiled function with the types it is compiled for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.compiled = remember(nb.njit(pipeline_class=Forward, **LEAN)(function), HERE)

    @property
    def signature(self) -> Any:
        """The types of result and parameters."""
        result = kind(get_annotations(self.function)["return"])
        return result(*kinds_of(self.function))

    def is_remembered(self) -> bool:
        """Tell whether it is on disk."""
        return is_remembered(self.compiled, self.signature)

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
    own = Part(function)
    name = function.__name__
    REGISTERED[name] = own
    workspace = list(get_annotations(function)).index("w")
    index = Parts._fields.index(name)

    @intrinsic
    def call(typing: Any, *arguments: Any) -> Any:
        signature = own.signature
        given = nb.types.StarArgTuple.from_types(signature.args)
        place = given.types[workspace].fields.index("parts")

        def generate(context: Any, builder: Any, _: Any, packed: Any) -> Any:
            values = cgutils.unpack_tuple(builder, packed[0])
            shape = context.call_conv.get_function_type(signature.return_type, signature.args)
            address = builder.extract_value(packed[0], [workspace, place, index])
            target = builder.inttoptr(address, shape.as_pointer())
            # No part raises, so that there is no status to look at.
            _, value = context.call_conv.call_function(
                builder, target, signature.return_type, signature.args, values
            )
            return value

        return signature.return_type(given), generate

    return cast(Function, call)
