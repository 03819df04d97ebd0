"""How the site is built; `make docs` does it, and needs no network."""

from __future__ import annotations

import sys
from pathlib import Path

import metricfit as mf

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "metricfit"
author = "The metricfit authors"
project_copyright = "the metricfit authors"
version = release = mf.__version__

extensions = [
    "command_line",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext"]
nitpicky = True
smartquotes = False  # --resume is not –resume
# Names of other projects, whose sites are not asked for while this one is built.
nitpick_ignore_regex = [("py:.*", r"(sklearn|skorch|sympy|torch|numpy)\..*")]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "metricfit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
pygments_style = "friendly"


sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "subsection_order": ["../examples/gallery", "../examples/recipes"],
    # Every script is run but this one, which torchrun has to start.
    "filename_pattern": r"(?<!data_parallel)\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1000,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "pictures.set_style"),
}
