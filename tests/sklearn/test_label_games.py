"""Games of rare labels: which rows they have, and that training for them is worth it."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import metricfit as mf
from metricfit.sklearn import MetricClassifier
from metricfit.sklearn.decisions import LabelDecision
from metricfit.sklearn.label_games import LabelGames


def batch(shares, n=64, seed=0):
    random = np.random.default_rng(seed)
    targets = torch.from_numpy((random.random((n, len(shares))) < shares).astype(np.int64))
    return torch.from_numpy(random.normal(size=(n, len(shares)))).requires_grad_(), targets


def test_a_game_has_all_rare_positives_and_the_share_of_frequent_ones():
    _, targets = batch([0.02, 0.5, 0.9], n=640)
    games = LabelGames(share=0.1, size=32, metric="f1")
    targets[:, 0] = 0
    targets[5:8, 0] = 1
    rows = games._rows(targets)
    assert rows.shape == (32, 3)
    assert all(len(set(column.tolist())) == 32 for column in rows.T)
    kept = targets.gather(0, rows).sum(0)
    assert kept[0] == 3
    assert kept[1] == round(32 * int(targets[:, 1].sum()) / 640)
    assert kept[2] == round(32 * int(targets[:, 2].sum()) / 640)


def test_with_too_few_negatives_the_game_is_filled_with_positives():
    targets = torch.ones(40, 1, dtype=torch.int64)
    targets[:3] = 0
    games = LabelGames(share=0.1, size=32, metric="f1")
    assert games._rows(targets).shape == (32, 1)
    assert games._rows(targets[:20]).shape == (20, 1)


def test_a_game_of_a_small_batch_has_all_its_rows():
    logits, targets = batch([0.1, 0.3])
    games = LabelGames(share=0.1, metric="f1")
    expected = mf.MetricLoss("f1", group_size=None)(logits, targets)
    assert games(logits, targets).item() == pytest.approx(expected.item(), abs=1e-4)


def test_every_negative_is_drawn_equally_often():
    targets = torch.zeros(64, 1, dtype=torch.int64)
    targets[0] = 1
    games = LabelGames(share=0.1, size=32, metric="f1")
    torch.manual_seed(0)
    seen = torch.zeros(64)
    for _ in range(800):
        seen[games._rows(targets)[:, 0]] += 1
    assert seen[0] == 800
    np.testing.assert_allclose(seen[1:] / 800, 31 / 63, atol=0.08)


def test_labels_without_positives_have_no_gradient():
    logits, targets = batch([0.1, 0.1])
    targets[:, 1] = 0
    LabelGames(share=0.1, metric="f1")(logits, targets).backward()
    assert logits.grad[:, 0].abs().sum() > 0
    assert not logits.grad[:, 1].any()
    empty = LabelGames(share=0.1, metric="f1")(logits, torch.zeros_like(targets))
    assert empty.item() == 0.0
    empty.backward()


def test_in_evaluation_mode_all_rows_are_played():
    logits, targets = batch([0.1, 0.3])
    games = LabelGames(share=0.1, metric="f1").eval()
    expected = mf.MetricLoss("f1", group_size=64)(logits, targets)
    assert games(logits, targets).item() == pytest.approx(expected.item())


def rare_labels(rows, seed):
    random = np.random.default_rng(seed)
    directions = np.random.default_rng(9).normal(size=(12, 8))
    X = random.normal(size=(rows, 12))
    latent = X @ directions / np.linalg.norm(directions, axis=0) + 0.5 * random.normal(size=(rows, 8))
    return X, (latent > np.sqrt(1.25) * np.linspace(1.65, 2.33, 8)).astype(int)


def test_rare_labels_are_learned_better_than_with_cross_entropy_and_a_cut_tuned_for_each():
    """Labels of 1 to 5 % positives; thresholds that are tuned one by one follow the noise."""
    (X, y), (new, truth) = rare_labels(600, 0), rare_labels(8000, 1)
    assert 0.005 < y.mean(axis=0).min() < y.mean(axis=0).max() < 0.07
    games, plain = (
        f1_score(
            truth,
            MetricClassifier("f1", loss=loss, random_state=0).fit(X, y).predict(new),
            average="macro",
            zero_division=0.0,
        )
        for loss in ("metric", "cross-entropy")
    )
    tuned = []
    for column, actual in zip(y.T, truth.T, strict=True):
        model = LogisticRegression().fit(X[:400], column[:400])
        scores = model.decision_function(X[400:])
        values = [f1_score(column[400:], scores >= cut, zero_division=0.0) for cut in scores]
        predicted = model.decision_function(new) >= scores[int(np.argmax(values))]
        tuned.append(f1_score(actual, predicted, zero_division=0.0))
    assert games > plain
    assert games > np.mean(tuned)


def test_labels_without_positives_among_the_held_out_rows_do_not_decide():
    """Predicting nothing is the best for them there, and must not become the decision for all labels."""
    random = np.random.default_rng(0)
    y = (random.random((300, 4)) < [0.2, 0.2, 0.0, 0.0]).astype(int)
    logits = 3.0 * y - 1.5 + random.normal(size=y.shape)
    decision = LabelDecision.fit(mf.f1.macro(), logits, y, None, "empirical", calibrated=True, prior=np.inf)
    assert f1_score(y[:, :2], decision.predict(logits)[:, :2], average="macro") > 0.7
