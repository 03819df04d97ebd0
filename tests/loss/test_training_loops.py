"""The examples for other people's training loops run, and what they train is good."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

import metricfit as mf

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


@pytest.mark.parametrize("name", ["cross-entropy", "MetricLoss", "SoftMetricLoss"])
def test_multi_class(name):
    recipe = example("multi_class")
    assert recipe.main(recipe.LOSSES[name], epochs=10) > 0.9


def test_multi_label():
    recipe = example("multi_label")
    usual, trained = (recipe.main(model).mean() for model in recipe.MODELS.values())
    assert trained > usual + 0.03


@pytest.mark.slow
def test_hugging_face_trainer():
    assert example("hugging_face_trainer").main() > 0.6


@pytest.mark.parametrize("last", [8, 5], ids=["even batches", "a short last batch"])
def test_hugging_face_gradients_of_accumulated_batches_are_those_of_their_mean(tmp_path, last):
    from transformers import Trainer, TrainerCallback, TrainingArguments, default_data_collator

    recipe = example("hugging_face_trainer")
    rows = recipe.sentences(24 + last, seed=1)
    torch.manual_seed(0)
    model = recipe.make_model().eval()  # without dropout, so that both gradients are of the same function
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    criterion = mf.MetricLoss(mf.f1)
    found = {}

    class Gradients(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, **kwargs):
            found.update({name: value.grad.clone() for name, value in kwargs["model"].named_parameters()})

    batches = []

    def collate(batch):
        batches.append(default_data_collator(batch))
        return batches[-1]

    for dropout in (module for module in model.modules() if isinstance(module, torch.nn.Dropout)):
        dropout.p = 0.0
    arguments = TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=1,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        max_grad_norm=0.0,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model,
        arguments,
        train_dataset=rows,
        data_collator=collate,
        compute_loss_func=recipe.trainer_loss(criterion),
        callbacks=[Gradients()],
    )
    trainer.train()

    model.load_state_dict(weights)
    model.zero_grad()
    assert sorted(len(batch["labels"]) for batch in batches) == sorted([8, 8, 8, last])
    for batch in batches:
        logits = model(input_ids=batch["input_ids"]).logits
        (len(batch["labels"]) / len(rows) * criterion(logits, batch["labels"])).backward()
    for name, value in model.named_parameters():
        torch.testing.assert_close(found[name], value.grad, rtol=1e-4, atol=1e-6, msg=name)
