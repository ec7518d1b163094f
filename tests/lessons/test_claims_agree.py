"""A claim stands in three places: the title cell, a tagged cell that shows it, and a test's docstring."""

from notebook_rules import LESSONS, ROOT, claims, every_lesson, load, report


@every_lesson
def test_claims_agree(stem):
    """Every claim of a lesson is in all three places, in the same words, and nothing else is."""
    path = ROOT / "tests" / "claims" / f"test_claims_{stem[:2]}.py"
    source = path.read_text(encoding="utf-8") if path.exists() else None
    problems = claims(load(stem), int(stem[:2]), source)

    assert not problems, report(stem, problems)


def test_no_claims_without_a_lesson():
    """Each file of claims tests belongs to a lesson."""
    files = {p.stem[-2:] for p in (ROOT / "tests" / "claims").glob("test_claims_*.py")}

    assert files == {stem[:2] for stem in LESSONS}
