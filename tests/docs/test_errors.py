"""The page of error messages has every message of the code, word for word."""

import pytest

from docs.messages import plain, sentences
from docs.pages import DOCS, snippets

PAGE = plain((DOCS / "errors.md").read_text(encoding="utf-8"))
# Not for users: what a solver hands over, and what HiGHS or a compiler says.
INTERNAL = ("game/linear_program.py", "game/strategy.py", "solving/device/")
CASES = sorted({(where, text) for where, text in sentences() if not where.startswith(INTERNAL)})


def test_messages_are_found_in_the_source():
    assert len(CASES) > 90


@pytest.mark.parametrize(("where", "text"), CASES, ids=[where for where, _ in CASES])
def test_the_page_explains_the_message(where, text):
    assert plain(text).strip() in PAGE


def test_nearly_all_messages_are_shown_by_running_code():
    shown = plain("".join(session.code for session in snippets(DOCS / "errors.md", "pycon")))
    only_quoted = [where for where, text in CASES if plain(text).strip() not in shown]
    assert len(only_quoted) <= 6, only_quoted
