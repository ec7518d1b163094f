"""The legend: one line for each kind of box and arrow, with the words and colours of the pictures."""

import re

from course_lib.teach import draw
from course_lib.teach.instruments import step_picture
from course_lib.teach.pictures import dotsource
from course_lib.teach.pictures.legend import SAMPLES


def test_the_legend_is_a_table_and_a_text():
    """Every sample stands in both, in the same order."""
    shown = draw.legend()._repr_mimebundle_()

    assert len(SAMPLES) == len(shown["text/plain"].splitlines())
    for _, name, words in SAMPLES:
        assert name in shown["text/html"]
        assert words in shown["text/plain"]


def test_each_colour_is_one_of_the_pictures():
    """No colour of the samples is missing from the pictures' own."""
    ours = {value for value in vars(dotsource).values() if isinstance(value, str) and value.startswith("#")}
    ours |= set(re.findall("#[0-9A-F]{6}", step_picture.STYLE))
    used = set(re.findall("#[0-9A-F]{6}", "".join(sample for sample, _, _ in SAMPLES)))

    assert used <= ours | {"#FFFFFF"}
