"""Named tuples of arrays at fixed places in memory.

Numba hands a named tuple over number by number, several hundred for a workspace. One that is *pinned* lies in
memory as Numba lays it out, with its own address in the field ``here``. To Numba it is of another type, of
which functions are handed the address and read what they use. Numbers and pointers alike take eight bytes.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import get_annotations
from typing import Annotated, Any, Generic, Protocol, TypeVar, cast, get_args, get_origin

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, models, register_model
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray

__all__ = ["Held", "kind", "kinds_of", "pinned", "reader"]

Value = TypeVar("Value", bound=tuple[Any, ...])

SCALARS = {float: nb.float64, int: nb.int64, bool: nb.boolean, None: nb.void}
DTYPES = {inside: as_dtype(inside) for inside in (nb.float64, nb.int64, nb.boolean)}


@cache
def kind(annotation: Any) -> Any:
    """Return the Numba type that an annotation stands for."""
    if annotation in SCALARS:
        return SCALARS[annotation]
    if get_origin(annotation) is Annotated:
        return annotation.__metadata__[0]
    if get_origin(annotation) is tuple:
        return nb.types.Tuple([kind(item) for item in get_args(annotation)])
    fields = get_annotations(annotation)
    make = Pinned if "here" in fields else nb.types.BaseTuple.from_types
    return make([kind(field) for field in fields.values()], annotation)


def kinds_of(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the Numba types of a function's parameters."""
    annotations = get_annotations(function)
    return tuple(kind(annotation) for name, annotation in annotations.items() if name != "return")


class Pinned(nb.types.NamedTuple):
    """The type of a named tuple that is handed over by its address."""

    def __init__(self, types: Sequence[Any], cls: type) -> None:
        make: Any = super().__init__
        make(types, cls)
        self.name = f"pinned {self.name}"


@register_model(Pinned)
class PinnedModel(models.TupleModel):
    """How Numba hands it over."""

    def get_argument_type(self) -> Any:
        """Return the type of an address."""
        return ir.IntType(64)

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the address."""
        return builder.extract_value(value, self.fe_type.fields.index("here"))

    def from_argument(self, builder: Any, address: Any) -> Any:
        """Read all of it."""
        return _read(builder, self, address, self.fe_type.fields)


def _read(builder: Any, model: Any, address: Any, fields: Sequence[str]) -> Any:
    """Read these fields number by number: what nobody uses then costs nothing but time to compile."""

    def read(pointer: Any, wanted: Iterable[int]) -> Any:
        shape = pointer.type.pointee
        if not isinstance(shape, ir.Aggregate):
            return builder.load(pointer)
        value = ir.Constant(shape, None)  # zeros: Numba counts references, and there are none to nothing
        for index in wanted:
            place = cgutils.gep_inbounds(builder, pointer, 0, index)
            count = len(place.type.pointee) if isinstance(place.type.pointee, ir.Aggregate) else 0
            value = builder.insert_value(value, read(place, range(count)), index)
        return value

    pointer = builder.inttoptr(address, model.get_value_type().as_pointer())
    return read(pointer, [model.fe_type.fields.index(field) for field in fields])


def reader(annotation: type[Value], *fields: str) -> Callable[[int], Value]:
    """Return a function, for compiled code, of the address of what is read.

    If only some fields are, the others must not be used. A part that is handed the result reads them itself.
    """

    @intrinsic
    def read(typing: Any, address: Any) -> Any:
        result = kind(annotation)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            model = context.data_model_manager[result]
            return _read(builder, model, arguments[0], (*fields, "here") if fields else result.fields)

        return result(nb.int64), generate

    return cast(Callable[[int], Value], read)


class Pinning(Protocol):
    """Takes a named tuple and returns the same, pinned until the calling function returns."""

    def __call__(self, value: Value, /) -> Value: ...


def _pinned_type(kind: Any) -> Any:
    if not (isinstance(kind, nb.types.NamedTuple) and "here" in kind.fields):
        return kind
    return Pinned([_pinned_type(inside) for inside in kind.types], kind.instance_class)


def _pin(builder: Any, kind: Any, value: Any) -> Any:
    """Write down a named tuple, after those within, where the calling function has its variables."""
    for index, inside in enumerate(kind.types):
        if isinstance(inside, Pinned):
            own = _pin(builder, inside, builder.extract_value(value, index))
            value = builder.insert_value(value, own, index)
    place = cgutils.alloca_once(builder, value.type)
    here = builder.ptrtoint(place, ir.IntType(64))
    value = builder.insert_value(value, here, kind.fields.index("here"))
    builder.store(value, place)
    return value


def _pinned(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        written = _pin(builder, signature.return_type, arguments[0])
        return impl_ret_borrowed(context, builder, signature.return_type, written)

    return _pinned_type(value)(value), generate


pinned = cast(Pinning, intrinsic(_pinned))


class Held(Generic[Value]):
    """A named tuple of Python's that is pinned as long as this object lives.

    Attributes
    ----------
    value : NamedTuple
        Arrays and numbers. The last field is ``here``.
    address : int
        Where it is.
    """

    def __init__(self, value: Value) -> None:
        words: list[int] = []
        places: list[tuple[int, int]] = []
        _write(words, places, kind(type(value)), value)
        self.value = value
        self._words = np.array(words)
        self.address = _address(self._words)
        for place, first in places:
            self._words[place] = self.address + first * self._words.itemsize


def _address(array: NDArray[Any]) -> int:
    return cast(int, array.__array_interface__["data"][0])


def _write(words: list[int], places: list[tuple[int, int]], kind: Any, value: tuple[Any, ...]) -> None:
    """Append the words of a tuple of this type, and where ``here`` is and what it is the place of."""
    first = len(words)
    for inside, field in zip(kind, value, strict=True):
        if isinstance(field, np.ndarray):
            expected = inside.ndim, DTYPES[inside.dtype], True
            assert (field.ndim, field.dtype, field.flags.c_contiguous) == expected, "it would be misread"
            # Numba counts references to memory of its own only, which this is not.
            words += 0, 0, field.size, field.itemsize, _address(field), *field.shape, *field.strides
        elif isinstance(field, tuple):
            _write(words, places, inside, field)
        elif isinstance(field, float):
            words += struct.unpack("q", struct.pack("d", field))
        else:
            words.append(field)
    if isinstance(kind, Pinned):
        places.append((len(words) - 1, first))
