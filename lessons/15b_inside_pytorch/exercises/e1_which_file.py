"""Exercise 15b.1: which file?"""

from coursekit.judge.exercise import Mistake
from lessons.words import Words

RIGHT = {
    "A": "derivatives.yaml", "B": "engine.cpp", "C": "saved_variable.cpp", "D": "accumulate_grad.h",
    "E": "VariableTypeUtils.h", "F": "functions/tensor.cpp", "G": "python_function.cpp", "H": "ExpandUtils.h",
}  # fmt: skip
CHOICES = (*RIGHT.values(), "python_hook.cpp", "GradMode.h", "TensorImpl.h")

EXERCISE = Words(
    id="15b.1", kind="diagnose", title="Which file?", minutes=6, difficulty=1,
    question="In which file of PyTorch's would you look? A: what the gradient of tanh is. B: why one node runs before "
    "another. C: who writes the words \"expected version\". D: whether .grad takes a gradient over or copies it. E: "
    "why a write into a leaf is refused. F: what happens to the history of the whole when a part is written to. G: "
    "what is done with the tuple that my own backward returns. H: how a broadcast is undone.",
    name="files",
    hints=(
        "The table in the lesson has our files on the left. In which of our files would you look?",
        "A write is refused by check_inplace; the history of the whole is the business of CopySlices; sum_to adds up "
        "what a broadcast has repeated.",
    ),
    right=RIGHT,
    why="Formulas stand in the table, the order in the engine, the version check in the saved variable, and so on: the "
    "files are cut as the lessons of this course are.",
    alternatives=(
        'files = {"A": "tools/autograd/derivatives.yaml", "B": "torch/csrc/autograd/engine.cpp", '
        '"C": "torch/csrc/autograd/saved_variable.cpp", "D": "torch/csrc/autograd/functions/accumulate_grad.h", '
        '"E": "torch/csrc/autograd/VariableTypeUtils.h", "F": "torch/csrc/autograd/functions/tensor.cpp", '
        '"G": "torch/csrc/autograd/python_function.cpp", "H": "aten/src/ATen/ExpandUtils.h"}',
    ),
    choices=CHOICES, truth=lambda torch: RIGHT, ask="the name of a file",
    shown="you know where to look, and what not to read.",
    mistakes=(
        Mistake("the formula in the engine", "The engine runs nodes and knows no formula. Formulas stand in a table, "
                "from which the nodes are written.", {"A": ("engine.cpp", "functions/tensor.cpp")}),
        Mistake("the order in the table", "The table says what a node computes. Which one is next, the engine decides.",
                {"B": "derivatives.yaml"}),
        Mistake("the order in a tensor", "A tensor, and a hook, know nothing of other nodes. Who holds the queue?",
                {"B": ("python_hook.cpp", "TensorImpl.h", "saved_variable.cpp")}),
        Mistake("the counter", "TensorImpl.h holds the counter and VariableTypeUtils.h counts. The two numbers are "
                "compared where a saved tensor is read.", {"C": ("TensorImpl.h", "VariableTypeUtils.h", "engine.cpp")}),
        Mistake("the end of a path", "The engine hands the gradient to the leaf's node. What that does with it stands "
                "in that node's own file.",
                {"D": ("engine.cpp", "saved_variable.cpp", "python_hook.cpp", "TensorImpl.h")}),
        Mistake("refused before it is saved", "The write is refused when the operation is called, before anything is "
                "saved or computed: look for check_inplace.",
                {"E": ("saved_variable.cpp", "GradMode.h", "engine.cpp", "TensorImpl.h")}),
        Mistake("a node of its own", "The node that joins the history of a part and of the whole is called CopySlices.",
                {"F": ("VariableTypeUtils.h", "saved_variable.cpp", "derivatives.yaml", "ExpandUtils.h")}),
        Mistake("your backward is Python", "The engine calls a node, and yours is one whose apply goes into Python. "
                "Its file says so in its name.", {"G": ("engine.cpp", "python_hook.cpp", "functions/tensor.cpp")}),
        Mistake("shapes", "The engine asks for it when it checks a gradient's shape. What is done then is a sum, and "
                "it stands with the rules of broadcasting.",
                {"H": ("engine.cpp", "derivatives.yaml", "functions/tensor.cpp")}),
    ),
)  # fmt: skip
