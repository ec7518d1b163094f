"""Exercise 09.p3: the shapes of an LSTM cell."""

from course_lib.teach.exercises.shared import as_number
from course_lib.teach.practice.exercise import Mistake
from course_lib.teach.practice.predict import Predict


def truth(torch):
    state = torch.get_rng_state()
    cell = torch.nn.LSTMCell(3, 4)
    h, c = cell(torch.randn(2, 3))
    torch.set_rng_state(state)
    return [tuple(each.shape) for each in (h, c, cell.weight_ih, cell.weight_hh)]


def read(answer):
    """Four shapes as tuples; None when it is anything else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != 4:
        return None
    shapes = [tuple(as_number(n) for n in shape) if isinstance(shape, (list, tuple)) else None for shape in answer]
    return None if None in shapes or any(None in shape for shape in shapes) else shapes


EXERCISE = Predict(
    id="09.p3", title="Four shapes", minutes=3, difficulty=2,
    question="`LSTMCell(3, 4)` gets a batch of two samples with three numbers each. What are the shapes of h, of c, of "
    "weight_ih and of weight_hh? A list of four tuples.",
    hints=(
        "Each sample has states of its own. How many samples are there, and how many numbers has a state?",
        "There are three gates and a fourth piece, and each of them has as many numbers as the state. One product "
        "computes all of them.",
    ),
    solution="answer = [(2, 4), (2, 4), (16, 3), (16, 4)]",
    why="Two samples, four numbers in each state. The product gives four pieces of four numbers, 16 in all: from the "
    "three numbers of the input, and from the four of the hidden state.",
    alternatives=("answer = ([2, 4], [2, 4], [16, 3], [16, 4])", 'answer = [("2", "4"), (2, 4), (16, 3), (16, 4)]'),
    read=read, truth=truth, wanted="A list of four shapes is wanted, each a tuple of numbers.",
    shown="a row of the state for each sample, and four pieces in each matrix.",
    otherwise="First the rows and columns of the states, then what goes into each product, and what comes out.",
    mistakes=(
        Mistake("one piece", "Your matrices compute as many numbers as the state has. There are three gates and a "
                "fourth piece to be computed.", [(2, 4), (2, 4), (4, 3), (4, 4)]),
        Mistake("three pieces", "You have counted the three gates. There is a fourth piece, with what might be added.",
                [(2, 4), (2, 4), (12, 3), (12, 4)]),
        Mistake("turned round", "As in a Linear layer, the first number of a weight's shape counts what comes out.",
                [(2, 4), (2, 4), (3, 16), (4, 16)], also=([(2, 4), (2, 4), (3, 4), (4, 4)],)),
        Mistake("the size of the input", "The states have the size that the second argument of LSTMCell says. The "
                "first is that of the input.", [(2, 3), (2, 3), (16, 3), (16, 4)],
                also=([(2, 3), (2, 3), (12, 4), (12, 3)],)),
        Mistake("one state for all", "Each sample of the batch has a state of its own, so there are two rows.",
                [(4,), (4,), (16, 3), (16, 4)], also=([(1, 4), (1, 4), (16, 3), (16, 4)],)),
        Mistake("all pieces shown", "The pieces are used up inside of the cell: they make the new c, and h. A state "
                "has four numbers for each sample.", [(2, 16), (2, 16), (16, 3), (16, 4)]),
        Mistake("two states of two sizes", "The two states have the same shape: a gate is multiplied with tanh of "
                "c, number by number, and that is h.", [(2, 4), (2, 16), (16, 3), (16, 4)],
                also=([(2, 3), (2, 4), (16, 3), (16, 4)],)),
        Mistake("the same input twice", "weight_hh is for the hidden state, which has four numbers, and not for the "
                "input.", [(2, 4), (2, 4), (16, 3), (16, 3)]),
    ),
    reveals=("[(2, 4), (2, 4), (16, 3), (16, 4)]", "The matrices have 16 rows"),
)  # fmt: skip
