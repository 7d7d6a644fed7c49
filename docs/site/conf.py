"""Sphinx's settings of the site; build.py calls it."""

import inspect
import pathlib
import re

VERSION = (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()

project = "linac"
version = release = VERSION
copyright = "the authors of linac, Apache-2.0"
html_title = f"linac {VERSION}"  # beside each page
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_last_updated_fmt = None  # the same sources make the same site
html_copy_source = False
smartquotes = False  # two dashes are an option
exclude_patterns = []
nb_execution_mode = "off"  # notebooks.py has done it
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
copybutton_exclude = ".linenos, .gp, .go"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
suppress_warnings = ["misc.highlighting_failure"]  # pieces of files


def fields(app, what, name, thing, options, lines):
    """Docstrings are plain text for an editor: of a function `x: ...` and `x, y: ...` begin the words on arguments, what is in backticks is code, and so
    are indented lines behind an empty one."""
    try:
        arguments = set(inspect.signature(thing).parameters) if callable(thing) else set()
    except (TypeError, ValueError):
        arguments = set()
    made, of_argument, of_code = [], False, False
    for text in lines:
        line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text).replace("*", "\\*")
        begun = re.match(r"([a-z_]\w*(?:, [a-z_]\w*)*): (.*)$", line)
        indented, behind = text.startswith("    "), bool(made) and not made[-1].strip()
        if of_code and (indented or not text.strip()):
            line = text
        elif indented and behind and not of_argument:
            made += ["::", ""]
            line, of_code = text, True
        elif begun and arguments.issuperset(begun[1].split(", ")):
            if made and made[-1].strip() and not made[-1].startswith((":", " ")):
                made.append("")
            # A blank in the name would make its first word a type.
            line, of_argument, of_code = f":param {begun[1].replace(' ', '')}: {begun[2]}", True, False
        elif not text.strip():
            of_argument = False
        elif of_argument and not indented:
            line = "    " + line
        else:
            of_code = False
        made.append(line)
    lines[:] = made


def setup(app):
    app.connect("autodoc-process-docstring", fields)
