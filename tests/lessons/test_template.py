"""Every lesson follows the template, so that learners always know where they are."""

from notebook_rules import every_lesson, load, report, template


@every_lesson
def test_template(stem):
    """Title cell, sections in order, an early picture, short cells, enough prose, imports in one place."""
    problems = template(load(stem), int(stem[:2]))

    assert not problems, report(stem, problems)
