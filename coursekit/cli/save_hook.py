"""The hook that JupyterLab calls before it saves a notebook."""

import contextlib
import json
from typing import Any

from coursekit.cli import paths


def keep_metadata(model: dict[str, Any], path: str, **more: object) -> None:
    """Keep the metadata that a published lesson has on disk: JupyterLab calls this before it saves.

    Lab writes the kernel's version into any notebook that it opens, and saves it. Without this, looking at a
    published lesson would change a file that git tracks, and the next `git pull` would stop.
    """
    if model.get("type") == "notebook" and path.strip("/").startswith("notebooks/"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads((paths.ROOT / path.strip("/")).read_text(encoding="utf-8"))["metadata"]
            model["content"]["metadata"] = kept
