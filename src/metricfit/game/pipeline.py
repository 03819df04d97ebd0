"""How Numba compiles the functions of this library: to what it would anyway, in four fifths of the time.

- For every ``+`` and every index Numba compares, one by one, all options of the function it is compiling with
  those of functions before. Here functions with the same options share them, and the comparison is over when
  both are the same object.
- It optimises every function, makes machine code of it, and optimises it again as a part of its caller. Here
  functions that only compiled functions call are handed over as they are written.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

__all__ = ["Apart", "Frugal", "Within"]


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


class Written(JITCodeLibrary):
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
