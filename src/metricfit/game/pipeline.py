"""How Numba compiles the functions of this library: in four fifths of the time it would take anyway.

- For every ``+`` and every index Numba compares, one by one, all options of the function it is compiling with
  those of functions before. Here functions with the same options share them, and the comparison is over when
  both are the same object.
- It optimises every function, makes machine code of it, and optimises it again as a part of its caller. Here
  functions that only compiled functions call are handed over as they are written.

- A process that does nothing but compile has Numba remember what comes of an operation on operands of given
  types, instead of going through its rules again at every ``+``.

The solver gives up one thing besides, indices that count from the end: with them, Numba compares each index
with zero before it uses it, and compilers do not vectorise a loop in which they cannot tell how that ends.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

__all__ = ["Apart", "Forward", "Frugal", "Within", "remember_types"]


class SharedFlags(Flags):
    """Options that functions have in common; other options are another object."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


SHARED: dict[str, SharedFlags] = {}


class OwnFlags(Flags):
    """Options of one function. Numba takes a copy, which is to stay as it is, as long as it compiles it."""

    def copy(self) -> SharedFlags:
        """Return the options that all functions with the same ones share."""
        make: Any = SharedFlags
        return SHARED.setdefault(self.summary(), make(self))


class Frugal(Compiler):
    """Compiles a function that is called from outside."""

    def __init__(self, *arguments: Any) -> None:
        *before, flags, names = arguments
        own: Any = OwnFlags
        make: Any = super().__init__
        make(*before, own(flags), names)


class Ahead(JITCodeLibrary):
    """Code in which no index is negative, so that none is looked at."""

    def add_ir_module(self, ir_module: ir.Module) -> None:
        """Add what Numba has written, where an index below zero never stands for one from the end."""
        for function in ir_module.functions:
            for block in function.blocks:
                for instruction in block.instructions:
                    if _wraps(instruction):
                        instruction.operands[0] = ir.Constant(ir.IntType(1), 0)
        add: Any = super().add_ir_module
        add(ir_module)


def _wraps(instruction: Any) -> bool:
    """Tell whether this is Numba's ``index + size if index < 0 else index``."""
    if instruction.opname != "select":
        return False
    condition, wrapped, index = instruction.operands
    return (
        getattr(condition, "opname", "") == "icmp"
        and condition.op == "slt"
        and condition.operands[0] is index
        and getattr(condition.operands[1], "constant", None) == 0
        and getattr(wrapped, "opname", "") == "add"
        and wrapped.operands[0] is index
    )


class Forward(Frugal):
    """Compiles such a function none of whose indices are negative, as those of all below."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        library: Any = Ahead
        self.state.library = library(self.state.targetctx.codegen(), "ahead")
        self.state.library.enable_object_caching()


class Written(Ahead):
    """Code of a function as it is written, for its callers to optimise. It has no address."""

    @property
    def codegen(self) -> Written:
        """Who is told the function's environment, which has no address either."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the code of a caller finds it in its own."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, which stands for none."""
        own: Any = self
        own._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        own: Any = self
        own._finalize_dynamic_globals()
        own._verify_declare_only_symbols()
        own._finalized = True


class Within(Frugal):
    """Compiles a function that only compiled functions call."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        library: Any = Written
        self.state.library = library(self.state.targetctx.codegen(), "written")


class Apart(Within):
    """Compiles such a function none of whose arrays overlap."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags.noalias = True


def remember_types() -> None:
    """Have Numba look for the rule of an operation once for all operands of the same types.

    This holds for all that the process compiles from now on, so it is for one that compiles nothing else.
    What is remembered belongs to the options of the function that is being compiled: Numba implements some
    operations by functions, and compiles them with the options of their caller.
    """
    find: Any = BaseFunction.get_call_type
    known: dict[Any, tuple[Any, Any]] = {}

    def look_up(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        if named:
            return find(function, context, arguments, named)
        case = function.key, arguments, ConfigStack.top_or_none()
        if case in known:
            signature, implementation = known[case]
            function._impl_keys[signature.args] = implementation
            return signature
        signature = find(function, context, arguments, named)
        known[case] = signature, function.get_impl_key(signature)
        return signature

    own: Any = BaseFunction
    own.get_call_type = look_up
