"""Formulas as MathML, which browsers show by themselves: no script, no font, nothing to be fetched."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

BELOW = {"min", "max", "inf", "sup", "argmin", "argmax"}
NAMESPACE = "http://www.w3.org/1998/Math/MathML"


def to_mathml(latex: str, display: str) -> str:
    """Return the formula as a MathML element."""
    ET.register_namespace("", NAMESPACE)
    # The converter leaves the ampersand of an alignment it does not know as it is.
    if "&" in re.sub(r"\\begin\{(array|cases|matrix)\}.*?\\end\{\1\}", "", latex, flags=re.DOTALL):
        raise ValueError(f"an alignment that is not shown rightly, write an array instead: {latex}")
    root = ET.fromstring(convert(latex, display=display))
    if display == "block":
        for part in root.iter(f"{{{NAMESPACE}}}msub"):
            if part[0].text in BELOW:
                part.tag = f"{{{NAMESPACE}}}munder"
    return ET.tostring(root, encoding="unicode")


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f'<div class="math">{to_mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
