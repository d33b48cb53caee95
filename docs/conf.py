"""Sphinx: the site that `make docs` writes to build/site."""

import re

import argosy

project = "Argosy"
version = release = argosy.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
html_theme = "furo"
html_title = f"Argosy {version}"
exclude_patterns = ["_build"]
suppress_warnings = ["myst.header", "myst.xref_missing"]
myst_heading_anchors = 3
# Pages link to files of the repository.
myst_all_links_external = False

html_copy_source = False

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
napoleon_custom_sections = ["Shape", "Shapes", "Paper"]


def escape_formulas(app, what, name, obj, options, lines):
    """Docstrings are plain text: `*` and `|` in them are products, lists of shapes and norms."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = line.split("``")
        for k in range(0, len(parts), 2):
            parts[k] = re.sub(r"(?<!\\)([*|])", r"\\\1", parts[k])
        lines[i] = "``".join(parts)


def setup(app):
    # Before napoleon, which makes lists and emphasis of its own.
    app.connect("autodoc-process-docstring", escape_formulas, priority=100)
