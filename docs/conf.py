"""Sphinx configuration: Markdown pages of this folder, and what the code says about itself."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

import reward_learning_ros  # noqa: E402  the source tree comes first
from tools.documents import generated  # noqa: E402

project = 'reward_learning_ros'
author = 'The reward_learning_ros authors'
copyright = f'{author}, Apache-2.0'
version = release = reward_learning_ros.__version__

extensions = [
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx_copybutton',
]
source_suffix = {'.md': 'markdown', '.rst': 'restructuredtext'}
exclude_patterns = ['_static', '_build']
nitpicky = False

myst_enable_extensions = ['attrs_block', 'colon_fence', 'deflist']
myst_heading_anchors = 3
# The scheme of a link that leaves the site; anything else must exist here.
myst_url_schemes = ['http', 'https', 'mailto']

# An argument for each line of a long signature.
maximum_signature_line_length = 80
autodoc_member_order = 'bysource'
autodoc_typehints = 'description'
autodoc_typehints_description_target = 'documented'
autodoc_typehints_format = 'short'
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# Docstrings quote code as Markdown does, with one backtick.
default_role = 'code'

html_theme = 'furo'
html_title = 'reward_learning_ros'
html_static_path = ['_static']
html_css_files = ['site.css']
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {'navigation_with_keys': True}
# A prompt and what a command printed are not copied.
copybutton_prompt_text = '$ '
copybutton_exclude = '.linenos, .gp, .go'
pygments_style = 'friendly'
pygments_dark_style = 'monokai'


def setup(app: object) -> None:
    """Let pages name what is to be generated from the code."""
    generated.setup(app)
