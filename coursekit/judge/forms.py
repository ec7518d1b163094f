"""The spelling of an answer never decides. An answer that is a value is brought to the form of the record's solution.

A learner may write `("C",)`, `["c"]`, `{"C"}` or `"C"`; `3`, `3.0`, `"3"` or a 0-d tensor; `"none"` or `None`. Each
means one thing. `fitted` does this for every exercise at once: checks read one form, and none is stricter than another.
What cannot be read stays as it is, and the check says what it wants.
"""

import ast
import math
from collections.abc import Iterator

DEEPEST = 6
EMPTY = ("none", "nothing", "neither")  # a list of names that names none
LONGEST = 1000  # elements of one container, characters of one text


def fitted(answer, known) -> object:
    """Bring `answer` into the form of `known[0]`, the solution's value; words as the record's values spell them."""
    words = vocabulary(known)
    if isinstance(answer, str) and isinstance(known[0], (list, tuple, set, frozenset)):
        letters = unquoted(answer)
        if all(len(word) == 1 for word in texts(known[0], 0)) and all(key(each) in words for each in letters):
            answer = list(letters)  # "abcg" for ["a", "b", "c", "g"]
        elif letters.isalpha() and key(letters) in {key(each) for each in known if isinstance(each, str)}:
            return words[key(letters)]  # "error", where others give a list
    return fit(answer, known[0], words, 0)


def fits(answer, known) -> bool:
    """Tell whether a fitted answer has the form of an answer at all: numbers, lists and known words in their places."""
    return has_form(answer, known[0], vocabulary(known).values(), 0)


def too_long(answer) -> bool:
    """Return True for what nobody can have meant as an answer: a huge tensor, list or text."""
    shape = getattr(answer, "shape", None) if hasattr(type(answer), "tolist") else None
    if shape is not None:
        return math.prod(shape) > LONGEST
    return isinstance(answer, (str, list, tuple, set, frozenset, dict)) and len(answer) > LONGEST


# ----------------------------------------------------------------------------------------- one value


def fit(value, like, words, depth) -> object:
    """Bring one value, or one part of it, into the form of `like`."""
    value = plain(value)
    if depth > DEEPEST or too_long(value):
        return value
    if isinstance(like, dict):
        return fit_dict(value, like, words, depth)
    if isinstance(like, (list, tuple, set, frozenset)):
        return fit_sequence(value, like, words, depth)
    if isinstance(like, str) and is_letters(like):
        return fit_letters(value, words)
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return fit(value[0], like, words, depth + 1)
    if isinstance(value, str):
        return fit_text(value, like, words)
    if isinstance(like, bool) and type(value) in (int, float) and value in (0, 1):
        return bool(value)
    return value


def fit_text(text, like, words) -> object:
    """Read a text that means a word of the record, or None, True, False, or a number, where such a thing belongs."""
    text = unquoted(text)
    if key(text) in words:
        return words[key(text)]
    constants = {"none": None, "true": True, "false": False}
    if not isinstance(like, str) and text.lower() in constants:
        return constants[text.lower()]
    number = as_number(text)
    return text if number is None else number


def fit_letters(value, words) -> object:
    """Read an order such as "DBCA", which may be written with blanks, commas, arrows, or as a list of letters."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) and len(each.strip()) == 1 for each in value):
        value = "".join(value)
    if not isinstance(value, str):
        return value
    letters = "".join(each for each in value if each.isalnum())
    if key(letters) in words:
        return words[key(letters)]
    word = words.get(key(unquoted(value)))
    return word or (letters.upper() if letters.isalpha() and len(letters) < 30 else value)


def fit_sequence(value, like, words, depth) -> object:
    """Read a list, tuple or set of the solution's kind; a single word is a list of one."""
    if isinstance(value, str) and means_none(value, like, words):
        value = []  # "none", where a list of names is wanted
    if isinstance(value, str):
        value = parts(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and len(like) == 1:
        value = [value]
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if not isinstance(value, (list, tuple)):
        return value
    pattern = list(like)
    if isinstance(like, (set, frozenset)):
        pattern = sorted(like, key=repr)
    places = [(each, like_at(pattern, place)) for place, each in enumerate(value)]
    fitting = [each if is_column(each, one, value) else fit(each, one, words, depth + 1) for each, one in places]
    try:
        return type(like)(fitting)
    except TypeError:  # something in it cannot be in a set
        return fitting


def is_column(each, like, value) -> bool:
    """Tell whether a list holds one list in each place: [[11], [22]] says something about shape, [11, 22] does not."""
    return type(each) in (list, tuple) and len(each) == 1 < len(value) and not isinstance(like, (list, tuple, set))


def means_none(text, like, words) -> bool:
    """Does a text say that a list of names names none? (Where the record knows the word itself, it is that word.)"""
    said = key(unquoted(text))
    return said in EMPTY and said not in words and all(isinstance(each, str) for each in like)


def fit_dict(value, like, words, depth) -> object:
    """Spell the keys of a dictionary as the solution does."""
    if isinstance(value, str):
        value = literal(value)
    if not isinstance(value, dict):
        return value
    keys = vocabulary([list(like)])
    numbers = {str(each): each for each in like if not isinstance(each, str)}
    result = {}
    for each, inside in value.items():
        name = keys.get(key(unquoted(each)), numbers.get(each.strip(), each)) if isinstance(each, str) else each
        result[name] = fit(inside, like[name], words, depth + 1) if name in like else inside
    return result


def like_at(pattern, place) -> object:
    """Return what an element at this place should look like; a longer list goes on as it ended."""
    return pattern[min(place, len(pattern) - 1)] if pattern else ""


# ---------------------------------------------------------------------------------------- reading text


def plain(value) -> object:
    """Tensors, arrays and NumPy numbers as Python values."""
    if hasattr(type(value), "tolist") and hasattr(value, "shape") and not too_long(value):
        value = value.tolist()
    if isinstance(value, (range, type({}.keys()), type({}.values()))):
        value = list(value)
    return value


def parts(text) -> list | tuple:
    """Read a text as a list: a Python literal such as "(3, 1)" or "3,1", or else its words."""
    found = literal(text)
    if isinstance(found, (list, tuple, set)):
        return found
    if found is not None:
        return [found]
    inside = unquoted(text).strip("[](){}").replace(" and ", ", ")
    pieces = inside.split(",") if "," in inside else inside.split()
    return [unquoted(piece) for piece in pieces if piece.strip()]


def literal(text) -> object:
    """Read a text as a Python literal; None when it is none."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def unquoted(text) -> str:
    text = " ".join(text.split())
    while len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`":
        text = text[1:-1].strip()
    return text


def as_number(text) -> float | None:
    """Return the number that a text writes, an int where it can be; None for any other text."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return None


def is_letters(like) -> bool:
    """Is the solution an order of letters, such as "DBCA"?"""
    return len(like) > 1 and like.isalpha() and like.isupper()


# ------------------------------------------------------------------------------------ the record's words


def vocabulary(known) -> dict:
    """Return {folded: as written} for all words in the record's values, as the solution spells them.

    Where one value holds both "x" and "X", case says which is meant, so neither is folded.
    """
    words, apart = {}, set()
    for value in known:
        spelled = {}
        for word in texts(value, 0):
            words.setdefault(key(word), word)
            if spelled.setdefault(key(word), word) != word:
                apart.add(key(word))
    return {folded: word for folded, word in words.items() if folded not in apart}


def texts(value, depth) -> Iterator:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and depth <= DEEPEST:
        for each in (*value.keys(), *value.values()):
            yield from texts(each, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)) and depth <= DEEPEST:
        for each in value:
            yield from texts(each, depth + 1)


def key(word) -> str:
    return " ".join(word.lower().split())


def has_form(value, like, words, depth) -> bool:
    """Does a value have the form of `like`? Any word of the record may stand where a number may."""
    if isinstance(value, str):
        return not isinstance(like, (dict, list, tuple, set, frozenset)) and (value in words or isinstance(like, str)
                                                                             and is_letters(like))  # fmt: skip
    if isinstance(like, dict):
        return isinstance(value, dict) and all(
            has_form(value.get(name), inside, words, depth + 1) for name, inside in like.items()
        )
    if isinstance(like, (list, tuple, set, frozenset)):
        if not isinstance(value, (list, tuple, set, frozenset)):
            return False
        pattern = list(like)
        return all(has_form(each, like_at(pattern, place), words, depth + 1) for place, each in enumerate(value))
    return value is None or isinstance(value, (bool, int, float))
