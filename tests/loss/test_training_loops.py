"""The examples for other people's training loops run, and what they train is good."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "recipes"

pytestmark = pytest.mark.filterwarnings("default")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lightning():
    assert example("lightning_module").main(epochs=3) > 0.9


def test_skorch():
    assert example("skorch_net").main(epochs=5) > 0.85


@pytest.mark.slow
def test_hugging_face_trainer():
    assert example("hugging_face_trainer").main() > 0.6
