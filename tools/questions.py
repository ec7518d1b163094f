"""Tell which lesson, cell and exercise answers what people ask a search engine: docs/questions.md.

    python tools/questions.py [--check]     (make puzzles writes this table, too)

The answer in the table is the claim itself, word for word: a sentence that stands in a lesson, is shown by a cell and
is tested on our engine and on PyTorch. So no sentence of the table can go stale. With --check nothing is written; it
ends with 1, and says what is missing, when a claim or an exercise is not there or the table on disk is another one.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from coursekit.judge.discovery import exercises_module, lesson_numbers  # noqa: E402
from coursekit.judge.moved import new_number  # noqa: E402

TABLE = ROOT / "docs" / "questions.md"

# heading: (question, claims that answer it, an exercise that asks for it). The numbers are those of 0.9.0, or today's
# of what is new; lessons/moved.toml says which of the old ones have changed since.
QUESTIONS = {
    "The first questions": (
        ("what does loss.backward() do in PyTorch", ("C00.4", "C00.3"), "00.4"),
        ("what is grad_fn in PyTorch", ("C00.1",), "00.1"),
        ("what is a leaf tensor in PyTorch", ("C02.2",), "02.1"),
        ("PyTorch dynamic computational graph: when is it built", ("C00.5", "C00.6"), "01.2"),
        ("what does requires_grad=True do", ("C02.1", "C02.5"), "02.2"),
        ("grad can be implicitly created only for scalar outputs", ("C03.1", "C03.2"), "03.1"),
        ("what is the gradient argument of backward()", ("C03.2", "C03.3"), "03.1"),
        ("why reverse mode instead of forward mode automatic differentiation", ("C03.8",), "03.6"),
        ("derivative of matrix multiplication backpropagation", ("C03.7",), "03.2"),
        ("how does PyTorch sum the gradient of a broadcast tensor", ("C03.6",), "03.3"),
        ("in which order does autograd execute the nodes of the graph", ("C04.2", "C04.3"), "04.1"),
    ),
    "Gradients that are missing, or too large": (
        (".grad is None after backward", ("C02.7", "C02.8"), "02.3"),
        ("can't optimize a non-leaf Tensor", ("C02.12",), "02.4"),
        ("element 0 of tensors does not require grad and does not have a grad_fn", ("C02.5", "C02.11"), "02.2"),
        ("how to get the gradient of an intermediate tensor", ("C02.9", "C12.1"), "05.1"),
        ("why do we call optimizer.zero_grad()", ("C05.1", "C05.7"), "05.2"),
        ("zero_grad set_to_none=True or False", ("C05.2", "C05.9"), "05.5"),
        ("gradient accumulation with a smaller last batch", ("C05.6",), "05.3"),
        ("one of the differentiated tensors appears to not have been used in the graph", ("C03.10",), "03.1"),
    ),
    "Saved tensors and memory": (
        ("what is save_for_backward", ("C11.3", "C11.4"), "11.1"),
        ("save_for_backward vs ctx attribute", ("C11.4", "C11.5"), "11.2"),
        ("can save_for_backward be called twice, with None, with a list", ("C11.2",), "11.1"),
        ("which tensors does PyTorch save for backward", ("C06.1", "C07.6"), "06.1"),
        ("Trying to backward through the graph a second time", ("C06.6", "C06.8"), "06.3"),
        ("what does retain_graph=True do", ("C06.7", "C06.14"), "06.2"),
        ("GPU memory grows every iteration, total_loss += loss", ("C09.8",), "09.5"),
        ("gradient checkpointing: memory against time", ("C14.8", "C14.9"), "14.2"),
        ("none of the inputs have requires_grad=True, gradients will be None (checkpoint)", ("C14.13",), "14.7"),
        ("saved_tensors_hooks: save activations on CPU or in half precision", ("C14.1", "C14.5"), "14.1"),
    ),
    "In-place operations and views": (
        ("one of the variables needed for gradient computation has been modified by an inplace operation",
         ("C07.5", "C07.6"), "07.2"),
        ("is at version 1; expected version 0 instead", ("C07.1", "C07.5"), "07.1"),
        ("a leaf Variable that requires grad is being used in an in-place operation", ("C07.7",), "07.2"),
        ("a view of a leaf Variable that requires grad is being used in an in-place operation", ("C08.9",), "08.4"),
        ("output 0 of AsStridedBackward0 modified by inplace operation in a loop", ("C08.13",), "08.6"),
        ("Output 0 of UnbindBackward0 is a view and is being modified inplace", ("C08.10",), "08.2"),
        ("does nn.ReLU(inplace=True) break backward", ("C07.15", "C07.14"), "07.2"),
        ("PyTorch view vs copy: which operations share memory", ("C08.1", "C08.2"), "08.1"),
        ("detach() vs .data vs clone()", ("C09.1", "C09.2", "C09.3"), "09.1"),
        ("torch.no_grad vs inference_mode vs eval()", ("C09.4", "C09.5", "C09.10"), "09.2"),
        ("how to find the in-place operation: set_detect_anomaly", ("C07.13", "C07.16"), "07.3"),
    ),
    "Training loops": (
        ("optimizer.step() before or after loss.backward()", ("C10.1", "C10.6"), "10.2"),
        ("when to call scheduler.step()", ("C10.8",), "10.6"),
        ("hidden state of an RNN between batches: detach or retain_graph", ("C09.7",), "09.3"),
        ("GAN: detach the generator's output", ("C09.9",), "09.4"),
        ("nn.LSTMCell inputs, outputs and states: which shapes", ("C09.11",), "09.6"),
        ("truncated backpropagation through time in PyTorch: detach both LSTM states", ("C09.12",), "09.6"),
        ("what does a DataLoader do: dataset, sampler, collate_fn", ("C10.14", "C10.15"), "10.7"),
        ("softmax before CrossEntropyLoss", ("C10.16",), "10.6"),
        ("model.eval() forgotten: predictions depend on the batch", ("C10.18", "C10.19"), "10.8"),
        ("BatchNorm running_mean: train() and eval()", ("C10.12",), "10.1"),
        ("clip_grad_norm_ with gradient accumulation", ("C10.7",), "10.3"),
        ("frozen layers still change with weight decay or momentum", ("C10.5", "C10.4"), "10.6"),
        ("best model state_dict changes during training", ("C10.9",), "10.5"),
    ),
    "Functions, hooks, higher derivatives": (
        ("backward method of nn.Module is never called", ("C11.17",), "11.10"),
        ("torch.gather explained: index along dim, and its gradient", ("C11.18",), "11.8"),
        ("cross entropy with gather: log_softmax and targets", ("C11.19",), "11.9"),
        ("register_backward_hook or register_full_backward_hook", ("C12.14", "C12.15"), "12.7"),
        ("custom autograd Function: how many gradients must backward return", ("C11.9",), "11.1"),
        ("mark_dirty and mark_non_differentiable", ("C11.11", "C11.12"), "11.6"),
        ("setup_context and staticmethod forward without ctx", ("C11.14",), "11.4"),
        ("save an intermediate result of forward for backward", ("C11.6", "C11.7"), "11.4"),
        ("order of hooks: register_hook, register_prehook, post_accumulate_grad_hook", ("C12.4",), "12.1"),
        ("register_full_backward_hook grad_input is None", ("C12.10",), "12.2"),
        ("gradient penalty: create_graph=True", ("C13.1", "C13.7"), "13.2"),
        ("Hessian-vector product in PyTorch", ("C13.4",), "13.3"),
        ("memory leak with create_graph=True in backward()", ("C13.9",), "13.4"),
    ),
    "PyTorch's own source, and what is put around a model": (
        ("what does AddmmBackward0, TBackward0, SumBackward1 mean", ("C15.1", "C15.2"), "15.1"),
        ("where in PyTorch's C++ source is backward implemented", ("C15.7",), "15.3"),
        ("what does autocast put into the graph, ToCopyBackward0", ("C15.13",), "15.1"),
        ("CompiledFunctionBackward: what torch.compile makes of the graph", ("C15.14",), "15.2"),
        ("what does DistributedDataParallel add to the autograd graph", ("C15.15",), "15.5"),
        ("why does attention need so much memory: softmax, dropout mask", ("C15.5",), "15.7"),
    ),
    "Several machines": (
        ("distributed training: how gradients are averaged over ranks", ("C17.1", "C17.2"), "17.2"),
        ("DDP two forwards one backward: modified by an inplace operation", ("C17.4", "C17.5"), "17.1"),
        ("SyncBatchNorm backward: sum_dy and sum_dy_xmu", ("C17.6",), "17.3"),
        ("pipeline parallel: weight stashing and versions", ("C17.7", "C17.8", "C17.9", "C17.10"), "17.4"),
    ),
}


def claims() -> dict:
    """Read {claim: (its sentence, the lesson's file, the heading above its cell, the cell's number)}."""
    found = {}
    for path in sorted((ROOT / "lessons").glob("[0-8][0-9]*_*/lesson.py")):
        source = path.read_text(encoding="utf-8")
        sentences = dict(re.findall(r"^# - \*\*(C\d\d[a-z]?\.\d+)\*\* (.+)$", source, re.MULTILINE))
        heading = ""
        parts = re.split(r"^# %%(.*)$", source, flags=re.MULTILINE)
        for number, (head, body) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
            for tag in re.findall(r'"(C\d\d[a-z]?\.\d+)"', head):
                if tag in sentences:
                    found.setdefault(tag, (sentences[tag], path.parent.name, heading, number))
            if "[markdown]" in head:
                headings = re.findall(r"^# ## (.+)$", body, re.MULTILINE)
                heading = headings[-1] if headings else heading
    return found


def exercises() -> dict:
    """Return {exercise: its title}."""
    modules = [exercises_module(number) for number in lesson_numbers()]
    return {record.id: record.title for module in modules for record in module.EXERCISES}


def complaints() -> list[str]:
    """List what is missing, one sentence each."""
    known, asked, said = claims(), exercises(), []
    for question, ids, exercise in every_question():
        said += [f"{question!r}: there is no claim {each}, or no cell shows it." for each in ids if each not in known]
        if exercise not in asked:
            said.append(f"{question!r}: there is no exercise {exercise}.")
    return said


def every_question() -> list:
    """Return (question, claims, exercise) in the order of the table, with the numbers of today."""
    return [entry for entries in QUESTIONS.values() for entry in map(today, entries)]


def today(entry) -> tuple:
    """Give a line of the table the numbers of today."""
    question, ids, exercise = entry
    return question, tuple(map(new_number, ids)), new_number(exercise)


def table() -> str:
    """Write docs/questions.md."""
    known, asked = claims(), exercises()
    lines = [
        f"# {len(every_question())} questions that people ask, and where the course answers them",
        "",
        "Written by `make puzzles`; do not edit by hand. Each answer is a claim of a lesson: a cell shows it, and",
        "`claims.py` in the lesson's folder runs it on our engine and on PyTorch. The link leads to the lesson, the",
        "cell's number counts from 0, and the exercise lets you try whether you could have said it.",
    ]
    for heading, entries in QUESTIONS.items():
        lines += ["", f"## {heading}", "", "| you ask | in short | shown in | try it |", "| --- | --- | --- | --- |"]
        for question, ids, exercise in map(today, entries):
            answer = " ".join(known[each][0] for each in ids).replace("|", "\\|")
            places = {}
            for each in ids:
                _, lesson, place, number = known[each]
                places.setdefault((lesson, place), []).append(number)
            shown = "; ".join(
                f"[{lesson.partition('_')[0]}](../notebooks/{lesson}.ipynb) *{place or 'the beginning'}*, "
                f"cell {', '.join(map(str, dict.fromkeys(numbers)))}"
                for (lesson, place), numbers in places.items()
            )
            lines.append(f"| {question} | {answer} | {shown} | {exercise} {asked[exercise]} |")
    return "\n".join(lines) + "\n"


def main(arguments=None) -> int:
    """Write the table, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the table is not up to date")
    options = parser.parse_args(arguments)
    said = complaints()
    text = "" if said else table()
    if options.check and not said and (not TABLE.exists() or TABLE.read_text(encoding="utf-8") != text):
        said.append("docs/questions.md is not up to date: run `make puzzles`.")
    if not options.check and not said:
        TABLE.write_text(text, encoding="utf-8")
        print(f"docs/questions.md: {len(every_question())} questions answered")
    for sentence in said:
        print(sentence, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
