"""MetricClassifier(loss="soft"): any formula, after cross-entropy, at the share of positives of the data."""

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

import metricfit as mf
from metricfit.sklearn import MetricClassifier
from metricfit.sklearn.soft_training import CROSS_ENTROPY, TEMPERATURE, SoftAfterCrossEntropy


def rows(n=400, cut=1.5):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n, 3))
    return X, (X[:, 0] + 0.5 * draw.normal(size=n) > cut).astype(int)


def test_a_metric_that_cannot_be_played_is_trained_for():
    X, y = rows()
    model = MetricClassifier("jaccard", loss="soft", max_epochs=10, lr=0.01, random_state=0).fit(X, y)
    assert isinstance(model.net_.criterion_, SoftAfterCrossEntropy)
    assert mf.jaccard.score(y, model.predict(X)) > 0.3


def test_cross_entropy_comes_first_and_evaluation_is_not_counted():
    logits, targets = torch.randn(16), torch.arange(16) % 2
    loss = SoftAfterCrossEntropy(mf.f1, warm=2)
    plain = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets.float())
    options = {"temperature": TEMPERATURE, "cross_entropy": CROSS_ENTROPY}
    soft = mf.functional.soft_metric_loss(logits, targets, mf.f1, **options)
    loss.eval()
    torch.testing.assert_close(loss(logits, targets), plain)
    loss.train()
    for expected in (plain, plain, soft, soft):
        torch.testing.assert_close(loss(logits, targets), expected)


def test_repeated_positives_do_not_make_the_precision_look_better():
    """Batches with half positives stand for data with a tenth."""
    logits = torch.tensor([40.0] * 4 + [40.0] * 2 + [-40.0] * 2)
    targets = torch.tensor([1] * 4 + [0] * 4)
    loss = SoftAfterCrossEntropy(mf.precision, warm=0, share=0.1, drawn=0.5)
    # All positives and half of the negatives are predicted positive: 0.1 / (0.1 + 0.45).
    given = logits, targets, "precision", torch.where(targets > 0, 0.2, 1.8)
    with_entropy, alone = (
        mf.functional.soft_metric_loss(*given, temperature=TEMPERATURE, cross_entropy=weight)
        for weight in (CROSS_ENTROPY, 0.0)
    )
    assert 1 - alone.item() == pytest.approx(0.1 / 0.55)
    torch.testing.assert_close(loss(logits, targets), with_entropy)


def test_a_training_that_goes_on_ends_as_one_that_never_stopped(tmp_path):
    X, y = rows(400)
    settings = {"loss": "soft", "lr": 0.01, "random_state": 0, "patience": 50}
    metric = mf.recall_at_precision(0.6)

    class Stopping(Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 4:
                raise KeyboardInterrupt

    whole = MetricClassifier(metric, max_epochs=8, **settings).fit(X, y)
    file = tmp_path / "checkpoint.pt"
    part = MetricClassifier(metric, max_epochs=8, checkpoint=file, callbacks=[Stopping()], **settings)
    assert part.fit(X, y).interrupted_
    again = part.set_params(callbacks=None).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), whole.decision_function(X), rtol=1e-6)
    states = [model.net_.criterion_.state_dict() for model in (again, whole)]
    assert states[0].keys() == states[1].keys()
    torch.testing.assert_close(states[0]["soft.running.multipliers"], states[1]["soft.running.multipliers"])


def test_a_metric_of_one_size_is_refused():
    with pytest.raises(ValueError, match="one size"):
        MetricClassifier("precision@10%", loss="soft").fit(*rows(100))
