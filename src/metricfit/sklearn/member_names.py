"""Members of an ensemble by name, and their settings as settings of the ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["NamedEstimators", "named"]


def named(estimators: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return (name, classifier) pairs; classifiers without a name get that of their class.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> members = [LogisticRegression(), LogisticRegression(C=2), ("mine", LogisticRegression())]
    >>> [name for name, _ in named(members)]
    ['logisticregression-1', 'logisticregression-2', 'mine']
    """
    if isinstance(estimators, str) or not isinstance(estimators, Sequence) or not len(estimators):
        raise TypeError("estimators must be a list of classifiers, or of pairs of a name and a classifier")
    given = [_pair(estimator) for estimator in estimators]
    classes = [type(estimator).__name__.lower() for _, estimator in given]
    unnamed = Counter(kind for (name, _), kind in zip(given, classes, strict=True) if name is None)
    seen = Counter[str]()
    pairs: list[tuple[str, Any]] = []
    for (name, estimator), kind in zip(given, classes, strict=True):
        if name is None:
            seen[kind] += 1
            name = kind if unnamed[kind] == 1 else f"{kind}-{seen[kind]}"
        pairs.append((name, estimator))
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"the names of the members must differ, got {', '.join(names)}")
    return pairs


def _pair(estimator: Any) -> tuple[str | None, Any]:
    if isinstance(estimator, tuple):
        name, classifier = estimator
        if not isinstance(name, str) or "__" in name:
            raise ValueError(
                f"a member's name must be a string without two underscores in a row, got {name!r}"
            )
    else:
        name, classifier = None, estimator
    if isinstance(classifier, type):
        raise TypeError(f"a member must be a classifier, not its class; give {classifier.__name__}()")
    if not hasattr(classifier, "fit") or not hasattr(classifier, "get_params"):
        raise TypeError(f"a member must be a classifier, not {classifier!r}")
    return name, classifier


class NamedEstimators(BaseEstimator):
    """Gives an estimator with a list `estimators` the settings of its members, as ``name__setting``."""

    estimators: Sequence[Any] | None

    def _named_members(self) -> list[tuple[str, Any]]:
        """Return the members, or none if `estimators` is not a list of them; `fit` raises an error then."""
        try:
            return [] if self.estimators is None else named(self.estimators)
        except (TypeError, ValueError):
            return []

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; with `deep` also the members by name, and their settings."""
        settings: dict[str, Any] = super().get_params(deep=False)
        if not deep:
            return settings
        for name, member in self._named_members():
            settings[name] = member
            settings |= {f"{name}__{key}": value for key, value in member.get_params(deep=True).items()}
        return settings

    def set_params(self, **settings: Any) -> Self:
        """Change settings: of the ensemble, of a member by ``name__setting``, or a member by its name."""
        own = super().get_params(deep=False)
        super().set_params(**{name: settings.pop(name) for name in list(settings) if name in own})
        members = dict(self._named_members())
        inner: dict[str, dict[str, Any]] = {}
        for key, value in settings.items():
            name, _, setting = key.partition("__")
            if name not in members:
                raise ValueError(
                    f"{key!r} is not a setting of {type(self).__name__}; it has {', '.join([*own, *members])}"
                )
            if setting:
                inner.setdefault(name, {})[setting] = value
            else:
                members[name] = value
        if settings:
            self.estimators = list(members.items())
        for name, changes in inner.items():
            members[name].set_params(**changes)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what the members can take, all of them."""
        tags = super().__sklearn_tags__()
        inner = [member.__sklearn_tags__().input_tags for _, member in self._named_members()]
        tags.input_tags.allow_nan = all(kind.allow_nan for kind in inner)
        tags.input_tags.sparse = bool(inner) and all(kind.sparse for kind in inner)
        return tags
