"""The course's style sheet for JupyterLab: the colours of the pictures, words that can be read, classes that exist."""

import json
import re

from backscope.pictures.style import DARK, LIGHT, contrast
from coursekit.cli.server import LAB
from coursekit.judge import exercise as ex
from coursekit.notebook import card

CSS = (LAB / "custom" / "custom.css").read_text(encoding="utf-8")
NAMES = {"grey": "plain_e", "link": "notyet"}  # where the sheet has another name for a colour


def colours(selector):
    """{name: colour} of the variables that a rule of the sheet sets."""
    (rule,) = re.findall(re.escape(selector) + r" \{(.*?)\n\}", CSS, re.DOTALL)
    return dict(re.findall(r"--(?:ag|jp-mirror-editor)-([\w-]+): (#\w{6});", rule))


def test_colours_are_those_of_the_pictures():
    """A page and a picture on it have one paper, one ink, one green: by the same numbers, light and dark."""
    for selector, tokens in (("body[data-jp-theme-light]", LIGHT), ('body[data-jp-theme-light="false"]', DARK)):
        found = colours(selector)
        comment = found.pop("comment-color")

        assert len(found) >= 11
        assert found == {name: tokens[NAMES.get(name, name)].lower() for name in found}
        for words in ("ink", "ink2", "ok", "almost", "notyet", "error", "noted"):
            assert min(contrast(found[words], found[ground]) for ground in ("paper", "wash")) >= 4.5, words
        assert contrast(comment, found["wash"]) >= 4.5


def test_every_class_of_a_card_has_its_rule():
    """What a card is called by its class is set by the sheet, for each outcome."""
    made = "".join(card.verdict(ex.Result("07.1", outcome, "`x` is", ["line"], "a")).html for outcome in ex.OUTCOMES)
    made += card.solution("text", "07.1", "Title", "x = 1\n", "Because.").html + card.error("RuntimeError: no").html
    used = {name for names in re.findall(r'class="(ck-[\w -]+)"', made) for name in names.split()}

    assert len(used) >= 8
    assert {name for name in used if f".{name}" not in CSS} == set()


def test_settings_can_be_read():
    """JupyterLab drops a file of settings that is no JSON without a word."""
    for path in LAB.rglob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8")), path.name
