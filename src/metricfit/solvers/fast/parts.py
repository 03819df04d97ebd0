"""Parts of the solver: compiled and cached one by one, and called by their addresses.

Numba compiles a function together with all that it calls, and LLVM optimises each of those anew in every
caller. A *part* is compiled once, on its own; who calls it finds its address in the workspace. That saves
a third of the time to compile the solver, and lets several processes share the work.

A part is written, and called by compiled code, like any other function. Its annotations must tell the
types of its parameters, the workspace ``w`` among them.
"""

from collections.abc import Callable
from functools import cache
from inspect import get_annotations
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import numba as nb
from numba.core import cgutils
from numba.extending import intrinsic

from metricfit.game.compiled import remember

from .state import HERE, LEAN, Parts

__all__ = ["addresses", "part"]

Function = TypeVar("Function", bound=Callable[..., Any])

SCALARS = {float: nb.float64, int: nb.int64, bool: nb.boolean, None: nb.void}


@cache
def kind(annotation: Any) -> Any:
    """Return the Numba type that an annotation stands for."""
    if annotation in SCALARS:
        return SCALARS[annotation]
    if get_origin(annotation) is Annotated:
        return annotation.__metadata__[0]
    if get_origin(annotation) is tuple:
        return nb.types.Tuple([kind(item) for item in get_args(annotation)])
    fields = get_annotations(annotation).values()
    return nb.types.BaseTuple.from_types([kind(field) for field in fields], annotation)


def kinds_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the Numba types of a function's parameters."""
    annotations = get_annotations(function)
    return tuple(kind(annotation) for name, annotation in annotations.items() if name != "return")


def compile_kernel(function: Any) -> bool:
    """Compile a kernel for the types in its annotations, or load it from disk; whether it was there."""
    function.compile(kinds_of(function.py_func))
    return not function.stats.cache_misses


class Part:
    """A compiled function with the types it is compiled for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.compiled = remember(nb.njit(**LEAN)(function), HERE)

    @property
    def signature(self) -> Any:
        return kind(get_annotations(self.function)["return"])(*kinds_of(self.function))

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
        signature = own.signature
        place = signature.args[workspace].fields.index("parts")

        def generate(context: Any, builder: Any, _: Any, packed: Any) -> Any:
            values = cgutils.unpack_tuple(builder, packed[0])
            shape = context.call_conv.get_function_type(signature.return_type, signature.args)
            address = builder.extract_value(values[workspace], [place, index])
            target = builder.inttoptr(address, shape.as_pointer())
            # No part raises, so that there is no status to look at.
            _, value = context.call_conv.call_function(
                builder, target, signature.return_type, signature.args, values
            )
            return value

        return signature.return_type(nb.types.StarArgTuple.from_types(signature.args)), generate

    return cast(Function, call)
