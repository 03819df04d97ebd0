"""Formulas as text: what hypothesis draws of the supported family, and their value by plain arithmetic."""

from __future__ import annotations

import math

import mpmath
from hypothesis import strategies as st

CELLS = ["tp", "fp", "fn", "tn"]
SUMS = ["pp", "pn", "ap", "an", "all"]

BUILT_IN_FORMULAS = {
    "accuracy": "(tp+tn)/all",
    "precision": "tp/(tp+fp)",
    "recall": "tp/(tp+fn)",
    "specificity": "tn/(tn+fp)",
    "npv": "tn/(tn+fn)",
    "f1": "2*tp/(2*tp+fp+fn)",
    "f2": "5*tp/(5*tp+4*fn+fp)",
    "fbeta(0.5)": "1.25*tp/(1.25*tp+0.25*fn+fp)",
    "gm_precision_recall": "tp/sqrt((tp+fp)*(tp+fn))",
    "balanced_accuracy": "(tp/(tp+fn)+tn/(tn+fp))/2",
    "informedness": "tp/(tp+fn)+tn/(tn+fp)-1",
    "markedness": "tp/(tp+fp)+tn/(tn+fn)-1",
    "kappa": "((tp+tn)/all-(ap*pp+an*pn)/all**2)/(1-(ap*pp+an*pn)/all**2)",
    "mcc": "(tp*tn-fp*fn)/sqrt(ap*an*pp*pn)",
}

# Not affine in tp: these have a score and no table.
SOFT_ONLY_FORMULAS = {
    "jaccard": "tp/(tp+fp+fn)",
    "g_mean": "sqrt(tp/(tp+fn)*tn/(tn+fp))",
}


def value_of(formula: str, tp: int, k: int, l: int, n: int) -> float | None:
    """Evaluate a formula on counts to 40 digits, or return None where it divides by zero."""
    counts = {"tp": tp, "fp": k - tp, "fn": l - tp, "tn": n - k - l + tp}
    counts |= {"pp": k, "pn": n - k, "ap": l, "an": n - l, "all": n}
    with mpmath.workdps(40):
        names = {name: mpmath.mpf(count) for name, count in counts.items()}
        names |= {"sqrt": mpmath.sqrt, "log": mpmath.log, "exp": mpmath.exp, "__builtins__": {}}
        try:
            value = eval(formula, names)
        except ZeroDivisionError:
            return None
        return None if mpmath.isinf(value) or mpmath.isnan(value) else float(value)


def by_the_rule(value: float | None, k: int, l: int, n: int) -> float:
    """Fill in what a metric is where it is undefined: 1 if prediction and truth cannot differ, else 0."""
    if value is None:
        return float(k == l and k in (0, n))
    return value


def close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)


constants = st.one_of(
    st.integers(1, 5).map(str),
    st.sampled_from(["0.1", "0.25", "1.5", "2.75"]),
    st.sampled_from(["1/3", "2/7"]),
)


@st.composite
def factors(draw: st.DrawFn) -> str:
    """Draw what a cell may be multiplied by or divided by: positive wherever pp and ap are not 0 or all."""
    sums = st.sampled_from(SUMS)
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return draw(sums)
    if kind == 1:
        return f"({draw(constants)}*{draw(sums)}+{draw(constants)}*{draw(sums)})"
    if kind == 2:
        return f"({draw(sums)}+{draw(constants)})"
    if kind == 3:
        return f"sqrt({draw(sums)}*{draw(sums)})"
    if kind == 4:
        return f"{draw(sums)}**{draw(st.sampled_from(['2', '0.5', '1.5']))}"
    if kind == 5:
        return f"log(2+{draw(sums)})"
    return f"exp({draw(sums)}/all)"


@st.composite
def supported_formulas(draw: st.DrawFn) -> str:
    """Draw a formula that is affine in tp: cells times factors over factors, plus a part without cells."""
    terms = []
    for _ in range(draw(st.integers(1, 3))):
        sign = draw(st.sampled_from(["+", "-"]))
        above, below = draw(factors()), draw(factors())
        terms.append(f"{sign}({draw(constants)})*{draw(st.sampled_from(CELLS))}*{above}/{below}")
    if draw(st.booleans()):
        terms.append(f"+{draw(factors())}/{draw(factors())}")
    return f"({''.join(terms)})/{draw(factors())}"
