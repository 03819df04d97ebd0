"""
Hugging Face: a Trainer for F1
==============================

The ``Trainer`` takes the loss as ``compute_loss_func``. The model needs one output per label:
``num_labels=1`` here.

With ``gradient_accumulation_steps`` the gradients of several batches are added up. The ``Trainer`` does not
divide a loss of your own by their number, so the loss function does: each batch counts by its share of the
items.

The model starts from random weights and the sentences are made up, so that nothing has to be fetched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import metricfit as mf

VOCABULARY, LENGTH, WORD = 50, 12, 7


def sentences(n: int, seed: int) -> list[dict[str, Any]]:
    """Random words; the rare positives are those in which one word occurs twice or more."""
    words = torch.randint(1, VOCABULARY, (n, LENGTH), generator=torch.Generator().manual_seed(seed))
    words[::5, :2] = WORD
    labels = (words == WORD).sum(dim=1) >= 2
    return [{"input_ids": row, "labels": int(label)} for row, label in zip(words, labels, strict=True)]


def trainer_loss(criterion: mf.MetricLoss) -> Callable[..., torch.Tensor]:
    """Return a loss for ``compute_loss_func`` that is right under gradient accumulation as well."""

    def compute_loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
        loss = criterion(outputs.logits, labels)
        # The number of items in all batches of one step, not in this batch alone.
        return loss if num_items_in_batch is None else loss * labels.numel() / num_items_in_batch

    return compute_loss


def make_model() -> BertForSequenceClassification:
    """Return a small model with random weights."""
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        num_labels=1,
    )
    return BertForSequenceClassification(config)


def train(epochs: int) -> list[float]:
    """Train and return the F1 score on held-out sentences after each epoch."""
    torch.manual_seed(0)

    def compute_metrics(prediction: Any) -> dict[str, float]:
        return {"f1": mf.f1.score(prediction.label_ids, prediction.predictions > 0)}

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            report_to=[],
            save_strategy="no",
            eval_strategy="epoch",
            use_cpu=True,
            disable_tqdm=True,
            seed=0,
        )
        trainer = Trainer(
            make_model(),
            arguments,
            train_dataset=sentences(600, seed=1),
            eval_dataset=sentences(200, seed=2),
            compute_loss_func=trainer_loss(mf.MetricLoss(mf.f1)),
            compute_metrics=compute_metrics,
        )
        trainer.train()
    return [entry["eval_f1"] for entry in trainer.state.log_history if "eval_f1" in entry]


def main(epochs: int = 6) -> float:
    """Train and return the F1 score on held-out sentences."""
    return train(epochs)[-1]


# %%
# A sentence is positive if one word occurs in it at least twice. One layer of attention learns that within a
# few epochs.

if __name__ == "__main__":
    scores = train(epochs=8)
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axis.plot(range(1, len(scores) + 1), scores, "o-")
    axis.set(xlabel="epoch", ylabel="F1 of held-out sentences", ylim=(0, 1))
    plt.show()
