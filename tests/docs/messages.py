"""The sentences that the library refuses with, as they stand in its source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import metricfit

SOURCE = Path(metricfit.__file__).parent
# What a caller of the public interface can meet. The command line explains itself, and kernels raise nothing.
LAYERS = ("metrics", "game", "solving", "loss", "boosting", "sklearn")
# These take the words of a message, too.
HELPERS = {"_unsupported", "_not_understood", "_warn", "warn"}
# And these return one.
WRITERS = ("_blame", "_why", "_sentence")


def sentences() -> Iterator[tuple[str, str]]:
    """Yield where a message is made, and the longest part of it that does not change."""
    for layer in LAYERS:
        for path in sorted((SOURCE / layer).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for text in _texts(node):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", text


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        # An AssertionError is a defect of the library, which no user can cause.
        if _called(node.exc) != "AssertionError":
            yield from _messages(node.exc)
    elif isinstance(node, ast.Call) and _called(node) in HELPERS:
        yield from _messages(node)
    elif isinstance(node, ast.FunctionDef) and node.name.startswith(WRITERS):
        for part in ast.walk(node):
            if isinstance(part, ast.Return) and part.value is not None:
                yield _longest_part(part.value)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _messages(call: ast.Call) -> Iterator[str]:
    for argument in call.args:
        text = _longest_part(argument)
        if len(text) >= 12:
            yield text


def _longest_part(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return max(
            (part.value for part in node.values if isinstance(part, ast.Constant)), key=len, default=""
        )
    return ""


def plain(text: str) -> str:
    """Text with every run of blanks as one, for a page may break a message anywhere."""
    return re.sub(r"\s+", " ", text)
