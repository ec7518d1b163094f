"""What JupyterLab calls before it saves a notebook."""

import contextlib
import json

from coursekit.cli import paths


def keep_metadata(model, path, **more):
    """JupyterLab calls this before it saves: a published lesson keeps the metadata that it has on disk.

    Lab writes the kernel's version into any notebook that it opens, and saves it. Without this, looking at a
    published lesson would change a file that git tracks, and the next `git pull` would stop.
    """
    if model.get("type") == "notebook" and path.strip("/").startswith("notebooks/"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads((paths.ROOT / path.strip("/")).read_text(encoding="utf-8"))["metadata"]
            model["content"]["metadata"] = kept
