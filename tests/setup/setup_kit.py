"""What several tests beside this file need."""


def raising(error):
    """A function that takes anything and fails so."""

    def fail(*ignored, **settings):
        raise error

    return fail
