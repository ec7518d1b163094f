"""The claims of part 16b, a carried state, on our engine and on real PyTorch."""

from coursekit.judge.discovery import import_from_lessons
from lessons.claims_kit import CHANGED, FREED, from_lesson, raises
from lessons.three_questions import slopes

STAGE = import_from_lessons("16b_a_carried_state.stage")


def test_c16b_1_a_carried_state(torch):
    """A state of an LSTM that is carried from pass to pass raises in the second pass unless both of its tensors
    are detached; with retain_graph=True and a step of the weights in between, the pass into the window before
    raises about versions."""
    own = from_lesson(torch, "16b", "Echo", "both", "only_h", "as_it_is")
    STAGE.listened(torch, own.Echo(), own.both, windows=10)
    for carried in (own.as_it_is, own.only_h, lambda state: (state[0], state[1].detach())):
        raises(FREED, lambda carried=carried: STAGE.listened(torch, own.Echo(), carried, windows=2))
    raises(CHANGED, lambda: STAGE.listened(torch, own.Echo(), own.as_it_is, windows=2, retain_graph=True))


def test_c16b_2_where_to_cut(torch):
    """Detached after each step, a window's gradient is not the measured slope of its loss; detached between
    windows, it is."""
    own = from_lesson(torch, "16b", "Echo", "both", "CutInside")
    for kind in (own.Echo, own.CutInside):
        torch.manual_seed(0)
        model, ((first, _), (second, target)) = kind(), STAGE.signal(torch, 2)
        carried = own.both(model(first, STAGE.silence(torch))[1])

        def loss(model=model, carried=carried, second=second, target=target):
            return ((model(second, carried)[0] - target) ** 2).mean()

        assert slopes(torch, loss, list(model.parameters())).endswith("the same") == (kind is own.Echo)
