"""Sphinx's settings for the site: `make site`. The pages are put together by tools/site.py."""

project = "autograd, seen from the inside"
author = "The autograd course's authors"
project_copyright = "the course's authors: code BSD-3-Clause, text and pictures CC BY 4.0"
extensions = ["myst_nb"]
exclude_patterns = ["_build"]

nb_execution_mode = "off"  # outputs as they are committed: CI has run every cell
nb_render_markdown_format = "gfm"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "misc.highlighting_failure", "mystnb.unknown_mime_type"]

html_theme = "furo"
html_title = "autograd, seen from the inside"
html_static_path = ["_static"]
html_css_files = ["course.css"]
html_favicon = "_static/node.svg"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#00507F", "color-brand-content": "#00507F"},
    "dark_css_variables": {"color-brand-primary": "#8CC8F0", "color-brand-content": "#8CC8F0"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app):
    """Give the search page what it finds messages with; no other page needs it."""

    def search(app, pagename, *rest):
        if pagename == "search":
            app.add_js_file("messages.js", loading_method="defer")

    app.connect("html-page-context", search)
