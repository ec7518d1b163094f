"""Loaded by pytest before anything else (`-p tests.quick_start`): saves each test process more than a second.

nbformat reads jsonschema, and jsonschema builds a grammar of international web addresses. No notebook here has one.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)
