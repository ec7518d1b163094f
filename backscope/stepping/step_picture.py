"""The card of a recorded pass: one frame for each step, a picture and a sentence, to page through.

Without JavaScript (an untrusted notebook, a page made by nbconvert) the frames are <details> to open one by one;
ten lines of script turn them into one frame with a slider. A picture is `draw`'s lane of nodes, placed once a page;
its frames differ in colours and short words. A long pass has several pages.
"""

import copy

from backscope.graph.model import FREED
from backscope.pictures.cards import Card, Drawer
from backscope.pictures.drawing import Drawing, named, short
from backscope.pictures.lanes import Step
from backscope.pictures.style import HIGHEST, WIDEST, as_image, escape
from backscope.stepping import step_text

WHOLE, PART = 0.9 * HIGHEST, 0.65 * HIGHEST  # pixels: how high a pass on one page may be, and a page of several
CLIPPED, ON_ARROW = 14, 12  # letters of a value in a box, and on an arrow
FEW = 12  # nodes that are drawn although none of their steps is shown
MANY = 6  # neighbours of a node that are drawn with it

# What a node does: (kind of its box, kind of the drawer that says so, colour of its words).
LOOKS = {
    "runs": ("run", "run", "run_t"), "fails": ("fails", "fails", "error"), "done": ("done", "done", "ink2"),
    "ready": (None, "slot", "ink"), "waits": (None, "slot", "ink2"), "out": ("ghost", "gone", "ink2"),
}  # fmt: skip

SCRIPT = """(function(){var me=document.currentScript;
(me?[me.parentNode]:[].slice.call(document.querySelectorAll('.course-step'))).forEach(function(card){
if(card.dataset.on)return;card.dataset.on=1;card.tabIndex=0;card.dataset.lmSuppressShortcuts='true';
var f=card.querySelectorAll('details:not(.course-step-more)'),
more=card.querySelectorAll('.course-step-more'),bar=card.querySelector('.course-step-bar'),last=f.length-1,at=0,i;
function make(tag,does,set){var e=document.createElement(tag);for(var k in set)e[k]=set[k];e[does[0]]=does[1];
e.style.cssText=bar.getAttribute('data-'+tag);bar.appendChild(e);return e}
function go(k){at=Math.max(0,Math.min(last,k));for(i=0;i<=last;i++){f[i].open=i==at;f[i].style.display=i==at?'':'none'}
range.value=at;range.setAttribute('aria-valuetext',f[at].firstElementChild.textContent);
back.disabled=at==0;next.disabled=at==last}
var back=make('button',['onclick',function(){go(at-1)}],{type:'button',textContent:'\u25C0 previous'}),
range=make('input',['oninput',function(){go(+range.value)}],{type:'range',min:0,max:last,ariaLabel:'step'}),
next=make('button',['onclick',function(){go(at+1)}],{type:'button',textContent:'next \u25B6'});
card.addEventListener('keydown',function(e){var k={ArrowRight:at+1,ArrowLeft:at-1,Home:0,End:last}[e.key];
if(k===undefined||e.altKey||e.ctrlKey||e.metaKey)return;go(k);e.preventDefault();e.stopPropagation()});
more.forEach(function(m){m.addEventListener('toggle',function(){more.forEach(function(n){n.open=m.open})})});
for(i=0;i<=last;i++){f[i].firstElementChild.onclick=function(e){e.preventDefault()};
f[i].firstElementChild.style.cssText+=';list-style:none;cursor:default'}bar.style.display='';go(0)})})()"""

BUTTON = (
    "background:rgba(127,127,127,0.12);color:inherit;border:1px solid #8A8A8A;border-radius:6px;padding:4px 12px;"
    "font:600 13px sans-serif;cursor:pointer"
)
RANGE = "vertical-align:middle;margin:0 12px;width:40%"
CARD = (
    "border:1px solid #8A8A8A;border-radius:10px;padding:12px 16px;max-width:736px;box-sizing:border-box;"
    "font-size:14px;line-height:1.5"
)
TABLE = "border-collapse:collapse;width:100%;margin:4px 0 0;font-size:13px"
CELL = "text-align:left"  # else JupyterLab sets it to the right
LABEL = CELL + ";width:96px"  # JupyterLab fixes the columns: without a width they would overlap


def card(recording, shown) -> str:
    """Return the whole card as HTML."""
    frames = recording.frames(set(shown))
    pages = Pages(recording, frames)
    parts = [line for line in [*recording.notes, step_text.left_out(recording, shown)] if line]
    body = "".join(one_frame(recording, pages, frame, frame is frames[0]) for frame in frames)
    return (
        f'<div class="course-step bs-panel" style="{CARD}"><div>'
        f"<b>{escape(step_text.headline(recording))}</b>"
        + "".join(f"<br>{escape(line)}" for line in parts)
        + '</div><div class="course-step-bar" style="display:none;margin:8px 0 2px" '
        f'data-button="{BUTTON}" data-input="{RANGE}"></div>{body}<script>{SCRIPT}</script></div>'
    )


def one_frame(recording, pages, frame, is_open) -> str:
    """Return one step: what happened, the picture, a sentence; the engine's bookkeeping is folded."""
    title = step_text.title(recording, frame)
    picture = as_image(pages.svg(frame), description(recording, frame)) if pages.pages else ""
    said = [step_text.sentence(recording, frame), pages.caption(frame)]
    if frame.number == len(recording.steps):
        said.append(step_text.ending(recording))
    words = "".join(f'<div style="margin:4px 0">{escape(line)}</div>' for line in said if line)
    rows = "".join(
        f'<tr><td style="{LABEL}">{name}</td><td style="{CELL}">{"<br>".join(map(escape, lines)) or "–"}</td></tr>'
        for name, lines in table(recording, frame)
    )
    return (
        f'<details{" open" if is_open else ""} style="margin:4px 0"><summary style="cursor:pointer">'
        f"<b>{escape(title)}</b></summary>{picture}{words}"
        f'<details class="course-step-more"><summary style="cursor:pointer">What the engine keeps</summary>'
        f'<table style="{TABLE}">{rows}</table></details></details>'
    )


def table(recording, frame) -> list:
    """Return (name, lines) of each row; the same rows in every frame, so that nothing jumps."""
    words, step = step_text, frame.step
    rows = []
    if step is not None:
        rows.append(("gets", [words.got_words(step), *words.written_words(recording, step)]))
        if step.error:
            rows.append(("error", [step.error, *filter(None, [words.culprit(recording, step)])]))
        else:
            stores = recording.graph.nodes[step.node].accumulates
            lines = [*words.sent_words(recording, frame), *words.change_words(recording, step)]
            rows.append(("stores" if stores else "sends", lines))
            rows.append(("frees", [words.some(step.freed)] if step.freed else []))
    else:
        seeds = recording.seeds.items()
        rows.append(("starts with", [f"{recording.graph.node_title(i)}: {text}" for i, text in seeds]))
    ready = set(frame.ready)
    holding = [i for i in frame.ready if i in frame.buffers] + [i for i in frame.buffers if i not in ready]
    rows.append(("ready queue", [words.queue_words(recording, frame)]))
    rows.append(("waiting", [words.waiting_words(recording, frame, 6)] if frame.waiting else []))
    rows.append(("buffers", [words.buffer_words(recording, frame, holding, 6)] if holding else []))
    rows.append((".grad", [words.grad_words(recording, frame.grads)] if frame.grads else []))
    return rows


def description(recording, frame) -> str:
    """Return the picture in words, for those who cannot see it."""
    words = step_text
    parts = [words.title(recording, frame)]
    parts.append("ready: " + words.queue_words(recording, frame))
    parts.append("waiting: " + words.waiting_words(recording, frame))
    return ". ".join(parts) + "."


# --- pages -------------------------------------------------------------------------------------------------


class Page:
    """Nodes that are drawn together."""

    def __init__(self, members, around):
        self.members = members  # nodes whose steps are shown on this page, in order
        self.nodes = sorted({*members, *around})  # with the neighbours that they get from or give to
        self.drawing = None


class Pages:
    """The nodes whose steps are shown, in the order in which they run, dealt out to pages that can be read."""

    def __init__(self, recording, frames):
        self.recording, self.graph, self.frames = recording, recording.graph, frames
        ran = list(dict.fromkeys(step.node for step in recording.steps))
        order = list(dict.fromkeys(ran + recording.planned))
        self.place_of = {i: k for k, i in enumerate(order)}
        self.feeders = {}
        for i in order:
            for _, target, _ in self.graph.nodes[i].edges:
                if target is not None:
                    self.feeders.setdefault(target, []).append(i)
        changed = step_text.a_hook_changed_one(recording)
        self.sent = {(step.node, one.position): "the same" if one.again and changed else clip(one.text, ON_ARROW)
                     for step in recording.steps for one in step.sent}  # fmt: skip
        emptied = [any(slot.state == FREED for slot in node.slots) for node in self.graph.nodes]
        self.emptied = {i for i, empty in enumerate(emptied) if empty}  # by an earlier pass
        nodes = dict.fromkeys(frame.step.node for frame in frames if frame.step is not None)
        if frames and frames[0].step is None:
            nodes |= dict.fromkeys(order[:FEW])
        if frames and frames[-1].number == len(recording.steps):
            nodes |= dict.fromkeys(order[len(ran) :][:FEW])  # what did not run any more
        self.pages, self.page_of = self.deal(sorted(nodes, key=self.place_of.get)), {}
        for page in self.pages:
            self.page_of.update(dict.fromkeys(page.members, page))
        self.whole = len(self.pages) == 1 and set(order) <= set(self.pages[0].nodes)  # nothing is left out

    def deal(self, nodes) -> list:
        """Put as many nodes on a page as fit."""
        everything = self.page(nodes, WHOLE)
        if nodes and everything.drawing is not None:
            return [everything]
        pages, members, best = [], [], None
        for i in nodes:
            gap = members and self.place_of[i] != self.place_of[members[-1]] + 1
            wider = None if gap else self.page([*members, i])
            if members and (wider is None or wider.drawing is None):
                pages.append(best)
                members, wider = [], self.page([i])
            members, best = [*members, i], wider
        pages += [best] if members else []
        for page in pages:
            page.drawing = page.drawing or StepDrawing(self, page, False)
        return pages

    def page(self, members, high=PART) -> Page:
        """Return these nodes and their neighbours, and their drawing if that fits: time to the right, or down."""
        page = Page(list(members), self.neighbours(members))
        for lies in (True, False):
            drawing = StepDrawing(self, page, lies)
            if drawing.width <= WIDEST - 52 and drawing.height <= high:
                page.drawing = drawing
                break
        return page

    def neighbours(self, members) -> list[int]:
        """Nodes that the members give to, and one that feeds each member that would stand alone."""
        inside, found = set(members), {}
        for i in members:
            targets = dict.fromkeys(t for _, t, _ in self.graph.nodes[i].edges if t is not None and t not in inside)
            found.update(dict.fromkeys(list(targets)[:MANY]))
            feeders = self.feeders.get(i, ())
            if feeders and not inside.intersection(feeders):
                found[feeders[-1]] = None
        return list(found)

    def page_for(self, frame) -> Page:
        """Return the page on which a frame is drawn."""
        return self.pages[0] if frame.step is None else self.page_of[frame.step.node]

    def svg(self, frame) -> str:
        """Return the picture of a frame."""
        return self.page_for(frame).drawing.frame(frame)

    def caption(self, frame) -> str:
        """Return a sentence below the picture, when it does not show the whole graph."""
        if self.whole or not self.pages:
            return ""
        return "Part of the graph: what is dashed runs in other parts."

    # --- one box ---

    def card(self, i, frame, lies, page) -> Card:
        """Write the card of a node in a frame: what it is, what it does, what it holds."""
        node = self.graph.nodes[i]
        does, word = self.state(i, frame)
        kind, drawer, colour = LOOKS[does]
        quiet = does in ("done", "out")
        if node.accumulates:
            ink = "ink2" if quiet else "run_t" if does == "runs" else "acc_t"
            lines = [[(node.name, "news", ink)], [(self.grad_line(i, frame.grads), "value", ink)]]
            number = ""
        else:
            lines, number = named(node, lies)
            made = [value.name for value in self.graph.values if value.node == i and value.named]
            if made:
                lines = [*lines, [(f"grad_fn of {short(made[0])}", "small", "ink2")]]
        says = [[(word, "strong", colour)], *([(line, "value", colour)] for line in self.held(i, frame))]
        if not lies:
            says = [[span for line in says for span in line]]
        elsewhere = i not in page.members
        kind = kind or ("acc" if node.accumulates else "node")
        return Card(kind, lines, [Drawer(says, drawer)], number, dashed=elsewhere or does == "out")

    def grad_line(self, i, grads) -> str:
        """Write the line in the box of an AccumulateGrad."""
        leaf = self.graph.nodes[i].leaf
        value = self.graph.values[leaf]
        if not value.requires_grad:
            return "requires_grad is off"
        return (f"{short(value.name)}.grad: " if value.named else "grad: ") + clip(grads.get(leaf, "None"))

    def held(self, i, frame) -> list[str]:
        """Return the lines on what a node got or holds, and on what was freed."""
        found = []
        step = frame.step
        if step is not None and step.node == i and step.began:
            found.append(got_line(step))
        elif i in frame.buffers:
            found += [written_line(before, after) for k, before, after in (step.written if step else ()) if k == i]
            found.append("holds " + clip(frame.buffers[i]))
        if i in frame.freed:
            found.append(f"{frame.freed[i]} freed")
        if i in self.emptied:
            found.append("slots: FREED")
        return found

    def state(self, i, frame) -> tuple:
        """Return (what a node does, the word for it)."""
        if frame.step is not None and frame.step.node == i:
            return ("fails", "FAILS") if frame.step.error else ("runs", "has just run")
        if i in frame.done:
            return "done", "done"
        if i in frame.ready:
            return "ready", "ready · next" if frame.ready[0] == i else "ready"
        if i in frame.waiting:
            return "waits", f"waits for {frame.waiting[i]}"
        return "out", "not asked for"


class StepDrawing(Drawing):
    """The lane of nodes of a page, with room in each box for what it says in any frame."""

    compact = True

    def __init__(self, pages, page, lies):
        self.pages, self.page, self.now = pages, page, None
        graph = copy.copy(pages.graph)
        graph.nodes = [node if i in page.nodes else None for i, node in enumerate(graph.nodes)]
        graph.values, graph.memories, graph.other_counter, graph.parts = [], [], [], {}
        super().__init__(graph, 0, lies)

    def node_cards(self, i) -> list:
        if i not in self.page.nodes:
            return []
        return [self.pages.card(i, frame, self.lies, self.page) for frame in self.pages.frames]

    def make_boxes(self) -> None:
        super().make_boxes()
        boxes = self.node_box.values()  # of one size: what changes from frame to frame is words and colours
        side = "height" if self.lies else "width"
        for box in boxes:
            setattr(box, side, max(getattr(one, side) for one in boxes))

    def steps(self) -> list:
        return [Step(self.node_box[i]) for i in self.page.nodes]

    def share_columns(self, steps) -> list:
        return steps

    def connect(self) -> None:
        inside, members = set(self.page.nodes), set(self.page.members)
        for i in self.page.nodes:
            edges = self.graph.nodes[i].edges
            for k, target, output in edges:
                if target in inside and (i in members or target in members):
                    text = (str(k) if len(edges) > 1 else "") + (f" (output {output})" if output else "")
                    more = {"label": text.strip(), "pill": self.pages.sent.get((i, k), "")}
                    self.plan.connect("next", self.node_box[i], self.node_box[target], **more)

    def title(self) -> list:
        return []

    def card_of(self, box) -> Card:
        card = self.pages.card(int(box.key[1:]), self.now, self.lies, self.page)
        card.head = self.head
        return card

    def carries(self, route) -> bool:
        """Return True for an arrow along which the node of this frame has sent a gradient."""
        step = self.now.step
        return step is not None and not step.error and route.tail is self.node_box[step.node] and bool(route.pill)

    def write_route(self, page, r, kind=None) -> None:
        super().write_route(page, r, "carry" if self.carries(r) else "back")

    def write_words(self, page, r) -> None:
        pill, r.pill = r.pill, r.pill if self.carries(r) else ""
        super().write_words(page, r)
        r.pill = pill

    def frame(self, frame) -> str:
        """Return the SVG of one frame."""
        self.now = frame
        page = self.svg()
        return page.svg(min(1, (WIDEST - 32) / page.width, HIGHEST / page.height))


def got_line(step) -> str:
    """Say what the node of a step ran on, and what that was before a hook changed it."""
    return f"hook: {clip(step.held)} → {clip(step.got)}" if step.held else "got " + clip(step.got)


def written_line(before, after) -> str:
    """Say what waits in a box, when it was written into from elsewhere."""
    return f"written into: {clip(before)} → {clip(after)}"


def clip(text, most=CLIPPED) -> str:
    """Return a value short enough for a box."""
    return text if len(text) <= most else text[: most - 1] + "…"
