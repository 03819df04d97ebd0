"""Parts of the solver: compiled and cached one by one, and called by their addresses.

Numba compiles a function together with all that it calls, and LLVM optimises each of those anew in every
caller. A *part* is compiled once, on its own; who calls it finds its address in the workspace. That saves
a third of the time to compile the solver, and lets several processes share the work.

A part is written, and called by compiled code, like any other function. Its annotations must tell the
types of its parameters, the workspace ``w`` among them.

Named tuples of arrays are hundreds of numbers, which Numba would hand over one by one at every call. So they
are :func:`pinned` by who makes them: written to memory once, with their own address in the field ``here``, and
it is the address that a part is given.
"""

from collections.abc import Callable
from functools import cache, cached_property
from inspect import get_annotations
from types import FunctionType
from typing import Annotated, Any, Protocol, TypeVar, cast, get_args, get_origin

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from metricfit.game.compiled import remember

from .state import HERE, LEAN, Parts

__all__ = ["addresses", "part", "pinned"]

Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")

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


def is_pinned(kind: Any) -> bool:
    """Whether parts get the address of such things instead of the things."""
    return isinstance(kind, nb.types.NamedTuple) and "here" in kind.fields


def load_all(builder: Any, pointer: Any) -> Any:
    """Load what a pointer points to, number by number: what nobody uses then costs nothing."""
    shape = pointer.type.pointee
    if not isinstance(shape, ir.Aggregate):
        return builder.load(pointer)
    value = ir.Constant(shape, ir.Undefined)
    for index in range(len(shape)):
        value = builder.insert_value(
            value, load_all(builder, cgutils.gep_inbounds(builder, pointer, 0, index)), index
        )
    return value


def pin(builder: Any, kind: Any, value: Any) -> Any:
    """Write down a named tuple, and before it those within, where the caller keeps its variables."""
    for index, inside in enumerate(kind.types):
        if is_pinned(inside):
            value = builder.insert_value(
                value, pin(builder, inside, builder.extract_value(value, index)), index
            )
    place = cgutils.alloca_once(builder, value.type)
    here = builder.ptrtoint(place, ir.IntType(64))
    value = builder.insert_value(value, here, kind.fields.index("here"))
    builder.store(value, place)
    return value


class Pinning(Protocol):
    """Takes a named tuple and returns the same, for parts to use until the calling function returns."""

    def __call__(self, value: Value, /) -> Value: ...


def _pinned(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        written = pin(builder, signature.args[0], arguments[0])
        return impl_ret_borrowed(context, builder, signature.return_type, written)

    return value(value), generate


pinned = cast(Pinning, intrinsic(_pinned))


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
                        shape = context.get_value_type(own).as_pointer()
                        values[index] = load_all(builder, builder.inttoptr(values[index], shape))
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
