"""The site: `make docs` builds it into build/site, without a network."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import paddle_flags

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "paddle_flags"
release = paddle_flags.__version__
html_title = f"{project} {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "pages", "c_reference", "python_reference"]
exclude_patterns = ["_*"]
default_role = "py:obj"  # `name` in a docstring links to what it names
nitpicky = False  # names of native types and of the standard library have no page here
myst_heading_anchors = 4  # the anchors that a repository's viewer makes, too
myst_links_external_new_tab = False
suppress_warnings = ["misc.highlighting_failure"]  # `...` and placeholders in examples

python_maximum_signature_line_length = 90
c_maximum_signature_line_length = 90
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
autodoc_mock_imports = [
    name for name in ("openfeature", "prometheus_client") if not find_spec(name)
]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark-dark.svg",
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7ab8ff",
        "color-brand-content": "#7ab8ff",
    },
}
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
pygments_style = "tango"
pygments_dark_style = "native"
