"""The card of a recorded pass: one frame for each step, a picture and a table, to page through.

Without JavaScript (an untrusted notebook, a page made by nbconvert) the frames are <details> to open one by one;
ten lines of script turn them into one frame with a slider. Graphviz places the boxes once a page; the frames of a
page are that one placement with other colours and short words. A long pass has several pages.
"""

import base64
import html
import math
import re

from backscope.graph.model import FREED
from backscope.pictures import layout
from backscope.pictures.drawing import short
from backscope.pictures.style import text_width
from backscope.stepping import step_text

WIDE = 680  # points: a page is ended before it gets wider, and shrunk to 800 pixels
HIGH = 6  # boxes above each other
GAP = 22  # points between two columns
CLIPPED, ON_ARROW = 14, 12  # letters of a value in a box, and on an arrow
LONG_NAME = 104  # points: the name of a node that is wider stands in two lines
FEW = 12  # nodes that are drawn although none of their steps is shown
WRITTEN = "written into"  # such a line is bold, and so a little wider
LINE, SIZE = 12.5, 10  # a line of text in a box

# Colours: what a node does is said by its fill and by a word; what it is, by its border (green: AccumulateGrad).
STYLE = (
    "text{font:10px Arial,'Liberation Sans',Arimo,Helvetica,sans-serif;text-anchor:middle;fill:#111}"
    "rect{stroke-width:1.2;fill:#EEE;stroke:#555}.a{stroke:#00785A;fill:#D5EFE6}"
    ".r{fill:#FFE9B0;stroke:#A86400;stroke-width:2.4}.d{fill:#FFF;stroke:#BBB}.a.d{stroke:#8CC4B4}"
    ".n{fill:#0072B2;stroke:#004B76;stroke-width:2.4}.f{fill:#FBE3D6;stroke:#D55E00;stroke-width:3}"
    ".o{fill:#FAFAFA;stroke:#AAA;stroke-dasharray:4 3}.p{stroke-dasharray:4 3}"
    ".tn{fill:#FFF}.td,.to{fill:#666}.tf,.i{fill:#9C3B00}.b,.i{font-weight:bold}"
    "path{fill:none;stroke:#777}.h{fill:#777;stroke:#777}.s path{stroke:#0072B2;stroke-width:2.4}"
    ".s .h{fill:#0072B2;stroke:#0072B2}.e{fill:#333;font-size:9px}.s .e{fill:#00588A;font-weight:bold}"
)

SCRIPT = """(function(){var me=document.currentScript;
(me?[me.parentNode]:[].slice.call(document.querySelectorAll('.course-step'))).forEach(function(card){
if(card.dataset.on)return;card.dataset.on=1;card.tabIndex=0;card.dataset.lmSuppressShortcuts='true';
var f=card.querySelectorAll('details'),bar=card.querySelector('.course-step-bar'),last=f.length-1,at=0,i;
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
for(i=0;i<=last;i++){f[i].firstElementChild.onclick=function(e){e.preventDefault()};
f[i].firstElementChild.style.cssText+=';list-style:none;cursor:default'}bar.style.display='';go(0)})})()"""

BUTTON = (
    "background:#F2F2F2;color:#111111;border:1px solid #999999;border-radius:4px;padding:2px 10px;"
    "font:13px Arial,sans-serif;cursor:pointer"
)
RANGE = "vertical-align:middle;margin:0 10px;width:40%;accent-color:#0072B2"
CARD = (
    "background-color:#FFFFFF;color:#111111;border:1px solid #BBBBBB;border-radius:6px;padding:10px 12px;"
    "max-width:800px;box-sizing:border-box;font-family:Arial,sans-serif;font-size:13px;line-height:1.45"
)
TABLE = "border-collapse:collapse;width:100%;margin:4px 0 0;font-size:12.5px"
ROW = "border-top:1px solid #E3E3E3;background-color:#FFFFFF;color:#111111"
CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"
LABEL = CELL + ";color:#555555;width:84px"  # JupyterLab fixes the columns: without a width they would overlap


def card(recording, shown):
    """The whole card as HTML."""
    frames = recording.frames(set(shown))
    pages = Pages(recording, frames)
    parts = [line for line in [*recording.notes, step_text.left_out(recording, shown)] if line]
    pages.place(frames)
    body = "".join(one_frame(recording, pages, frame, frame is frames[0]) for frame in frames)
    return (
        f'<div class="course-step" style="{CARD}"><div style="color:#111111">'
        f"<b>{escape(step_text.headline(recording))}</b>"
        + "".join(f"<br>{escape(line)}" for line in parts)
        + '</div><div class="course-step-bar" style="display:none;margin:8px 0 2px" '
        f'data-button="{BUTTON}" data-input="{RANGE}"></div>{body}<script>{SCRIPT}</script></div>'
    )


def escape(text):
    return html.escape(text, quote=False)


def one_frame(recording, pages, frame, is_open):
    """One step: what happened, the picture, the table."""
    title = step_text.title(recording, frame)
    drawn = pages.svg(frame)
    picture = ""
    if drawn:
        data = base64.b64encode(drawn.encode()).decode()
        alt = html.escape(description(recording, frame))
        picture = (
            f'<img alt="{alt}" style="background-color:#FFFFFF;max-width:100%;display:block;margin:4px 0" '
            f'src="data:image/svg+xml;base64,{data}">'
        )
        if pages.caption(frame):
            picture += f'<div style="color:#555555;font-size:12px">{pages.caption(frame)}</div>'
    rows = "".join(
        f'<tr style="{ROW}"><td style="{LABEL}">{name}</td><td style="{CELL}">'
        f"{'<br>'.join(map(escape, lines)) or '–'}</td></tr>"
        for name, lines in table(recording, frame)
    )
    last = frame.number == len(recording.steps)
    over = f'<div style="color:#111111;margin-top:6px">{escape(step_text.ending(recording))}</div>' if last else ""
    return (
        f'<details{" open" if is_open else ""} style="margin:4px 0;color:#111111"><summary style="cursor:pointer;'
        f'color:#111111"><b>{escape(title)}</b></summary>{picture}<table style="{TABLE}">{rows}</table>{over}</details>'
    )


def table(recording, frame):
    """(name, lines) of each row; the same rows in every frame, so that nothing jumps."""
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


def description(recording, frame):
    """The picture in words, for those who cannot see it."""
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
        self.nodes = members + around  # with the neighbours that they get from or give to
        self.edges = []  # (node it leaves, its label, its label with the gradient that goes along it) of each arrow
        self.base = None


class Pages:
    """The nodes whose steps are shown, in the order in which they run, dealt out to pages that can be read."""

    def __init__(self, recording, frames):
        self.recording, self.graph = recording, recording.graph
        ran = list(dict.fromkeys(step.node for step in recording.steps))
        order = list(dict.fromkeys(ran + recording.planned))
        self.place_of = {i: k for k, i in enumerate(order)}
        self.feeders = {}
        for i in order:
            for _, target, _ in self.graph.nodes[i].edges:
                if target is not None:
                    self.feeders.setdefault(target, []).append(i)
        self.last_grads = dict(recording.first_grads)
        for step in recording.steps:
            self.last_grads.update((v, after) for v, _, after in step.grads)
        changed = step_text.a_hook_changed_one(recording)
        self.sent = {(step.node, one.position): "the same" if one.again and changed else one.text
                     for step in recording.steps for one in step.sent}  # fmt: skip
        self.holdings = self.all_holdings(frames)
        self.struck = {i for step in recording.steps for i, _, _ in step.written}
        self.frees = {step.node for step in recording.steps if step.freed}
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

    def all_holdings(self, frames):
        """{node: every line about its buffer that any of the frames shows}."""
        found = {}
        for frame in frames:
            if frame.step is not None:
                found.setdefault(frame.step.node, set()).add(got_line(frame.step))
                for i, before, after in frame.step.written:
                    found.setdefault(i, set()).add(written_line(before, after))
            for i, text in frame.buffers.items():
                found.setdefault(i, set()).add("holds " + clip(text))
        return found

    def deal(self, nodes):
        """As many nodes a page as fit."""
        pages, members = [], []
        for i in nodes:
            gap = members and self.place_of[i] != self.place_of[members[-1]] + 1
            if members and (gap or not self.fits([*members, i])):
                pages.append(members)
                members = []
            members.append(i)
        return [Page(members, self.neighbours(members)) for members in [*pages, members] if members]

    def neighbours(self, members):
        """Nodes that the members give to, and one that feeds each member that would stand alone."""
        inside, found = set(members), {}
        for i in members:
            targets = dict.fromkeys(t for _, t, _ in self.graph.nodes[i].edges if t is not None and t not in inside)
            found.update(dict.fromkeys(list(targets)[:HIGH]))
            feeders = self.feeders.get(i, ())
            if feeders and not inside.intersection(feeders):
                found[feeders[-1]] = None
        return list(found)

    def fits(self, members):
        """True when these nodes and their neighbours make a page of a readable size."""
        nodes = [*members, *self.neighbours(members)]
        columns = self.columns(nodes)
        width = sum(max(self.width(i) for i in column) + GAP for column in columns) - GAP
        return width <= WIDE and all(len(column) <= HIGH for column in columns)

    def columns(self, nodes):
        """The nodes by their distance from where the gradients come from."""
        inside, depth = set(nodes), dict.fromkeys(nodes, 0)
        for i in sorted(nodes, key=lambda i: self.place_of.get(i, len(self.place_of))):
            for _, target, _ in self.graph.nodes[i].edges:
                if target in inside:
                    depth[target] = max(depth[target], depth[i] + 1)
        columns = [[] for _ in range(1 + max(depth.values()))]
        for i in nodes:
            columns[depth[i]].append(i)
        return [column for column in columns if column]

    # --- one box ---

    def name_lines(self, i):
        """The lines of a box that never change: the node's name, and the variable that it has made."""
        node = self.graph.nodes[i]
        if node.accumulates:
            return ["AccumulateGrad"]
        lines = [f"{node.number}  {short(node.name)}"]
        head, backward, rest = node.name.partition("Backward")
        if text_width(lines[0], SIZE) > LONG_NAME and backward and head and not rest.strip("0123456789"):
            lines = [f"{node.number}  {head}", backward + rest]
        made = [value.name for value in self.graph.values if value.node == i and value.named]
        return [*lines, f"grad_fn of {short(made[0])}"] if made else lines

    def grad_line(self, i, grads):
        """What stands in the box of an AccumulateGrad."""
        leaf = self.graph.nodes[i].leaf
        value = self.graph.values[leaf]
        if not value.requires_grad:
            return "requires_grad is off"
        return (f"{short(value.name)}.grad: " if value.named else "grad: ") + clip(grads.get(leaf, "None"))

    def width(self, i):
        """Wide enough for all that will stand in the box in some frame."""
        lines = [*self.name_lines(i), *self.holdings.get(i, ())]
        if self.graph.nodes[i].accumulates:
            lines += [self.grad_line(i, grads) for grads in (self.recording.first_grads, self.last_grads)]
        size = max(text_width(line, SIZE) * (1.08 if line.startswith(WRITTEN) else 1) for line in lines)
        size = max(size, text_width("ready · next", SIZE) * 1.08) * 1.03 + 8
        return 5 * math.ceil(size / 5)  # boxes of about one width look calmer when they have one width

    def height(self, i):
        more = self.graph.nodes[i].accumulates + (i in self.struck) + (i in self.emptied) + (i in self.frees)
        return round(LINE * (len(self.name_lines(i)) + 2 + more) + 9)

    def lines(self, i, frame):
        """(class, name, word, lines) of a box in a frame: what it is, what it does, what it holds."""
        state, word = self.state(i, frame)
        name = self.name_lines(i)
        if self.graph.nodes[i].accumulates:
            name = [*name, self.grad_line(i, frame.grads)]
        held = []
        step = frame.step
        if state in ("n", "f") and step.began:
            held.append((got_line(step), ""))
        elif i in frame.buffers:
            changes = [written_line(before, after) for k, before, after in step.written if k == i] if step else []
            held += [(line, " i") for line in changes]
            held.append(("holds " + clip(frame.buffers[i]), ""))
        if i in frame.freed:
            held.append((f"{frame.freed[i]} freed", ""))
        if i in self.emptied:
            held.append(("slots: FREED", ""))
        return state, name, word, held

    def state(self, i, frame):
        """(letter of the style, word)."""
        if frame.step is not None and frame.step.node == i:
            return ("f", "FAILS") if frame.step.error else ("n", "HAS RUN")
        if i in frame.done:
            return "d", "done"
        if i in frame.ready:
            return "r", "ready · next" if frame.ready[0] == i else "ready"
        if i in frame.waiting:
            return "w", f"waits for {frame.waiting[i]}"
        return "o", "not asked for"

    # --- the picture ---

    def page_for(self, frame):
        """The page on which a frame is drawn."""
        return self.pages[0] if frame.step is None else self.page_of[frame.step.node]

    def svg(self, frame):
        """The picture of a frame, or nothing when no layout engine is at hand."""
        base = self.page_for(frame).base if self.pages else None
        return base.frame(self, frame) if base else ""

    def caption(self, frame):
        """A sentence below the picture, when it does not show the whole graph."""
        if self.whole or not self.pages:
            return ""
        return "Part of the graph: what is dashed runs in other parts."

    def place(self, frames):
        """Have Graphviz place the boxes and arrows of the pages that these frames need, all in one go."""
        pages = list(dict.fromkeys(map(self.page_for, frames))) if self.pages else []
        try:
            sources = [self.source(page) for page in pages]
        except ImportError:
            return
        drawn = DRAWING.findall(layout.render("\n".join(sources))[0] or "")
        if len(drawn) != len(pages):  # an engine that draws only the first of several graphs
            drawn = [layout.render(source)[0] for source in sources]
        for page, svg in zip(pages, drawn, strict=True):
            page.base = svg and Base(svg, page)

    def source(self, page):
        """The DOT text of a page. ImportError without the `graphviz` package."""
        import graphviz

        dot = graphviz.Digraph("step")
        dot.attr("graph", rankdir="RL", nodesep="0.2", ranksep=f"{GAP / 72:.2f}", pad="0.08", fontname="Arial")
        dot.attr("node", shape="box", fixedsize="true", fontname="Arial", fontsize="10")
        dot.attr("edge", arrowsize="0.7", fontname="Arial", fontsize="9")
        inside, members = set(page.nodes), set(page.members)
        for i in page.nodes:
            dot.node(f"n{i}", "", id=f"n{i}", width=f"{self.width(i) / 72:.3f}", height=f"{self.height(i) / 72:.3f}")
        for i in page.nodes:
            several = len(self.graph.nodes[i].edges) > 1
            for k, target, output in self.graph.nodes[i].edges:
                if target in inside and (i in members or target in members):
                    text = ((str(k) if several else "") + (f" (output {output})" if output else "")).strip()
                    full = with_value(text, self.sent.get((i, k), ""))
                    dot.edge(f"n{i}", f"n{target}", label=full, id=f"e{len(page.edges)}")
                    page.edges.append((i, text, full))
        return dot.source


def got_line(step):
    """What the node of a step ran on, and what that was before a hook changed it."""
    return f"hook: {clip(step.held)} → {clip(step.got)}" if step.held else "got " + clip(step.got)


def written_line(before, after):
    """What waits in a box, when it was written into from elsewhere."""
    return f"{WRITTEN}: {clip(before)} → {clip(after)}"


def clip(text, most=CLIPPED):
    """A value short enough for a box."""
    return text if len(text) <= most else text[: most - 1] + "…"


def with_value(label, value):
    """What stands at an arrow while a gradient is on it: which input it is for, and the gradient."""
    return ": ".join(filter(None, [label, clip(value, ON_ARROW)]))


DRAWING = re.compile(r"<svg .*?</svg>", re.S)
GROUP = re.compile(r'<g id="([ne])(\d+)" class="\w+">(.*?)</g>', re.S)
POINTS = re.compile(r'points="([^"]*)"')
SHIFT = re.compile(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)")


def rounded(text):
    """Numbers in a path without decimals."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.0f}", text)


class Base:
    """What the frames of a page share: the places of boxes and arrows."""

    def __init__(self, svg, page):
        self.page = page
        self.width, self.height = layout.size(svg)
        x, y = SHIFT.search(svg).groups()
        self.shift = f"{float(x):g} {float(y):g}"
        self.boxes, self.arrows = {}, []
        for kind, number, body in GROUP.findall(svg):
            if kind == "n":
                xs, ys = zip(*(map(float, p.split(",")) for p in POINTS.search(body)[1].split()), strict=True)
                self.boxes[int(number)] = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
            else:
                tail, *labels = page.edges[int(number)]
                self.arrows.append((tail, *(self.arrow(body, label) for label in labels)))

    def arrow(self, body, label):
        path = rounded(re.search(r' d="([^"]*)"', body)[1])
        head = rounded(POINTS.search(body)[1])
        drawn = f'<path d="{path}"/><polygon class="h" points="{head}"/>'
        if label:
            x, y = re.search(r'<text[^>]* x="([-\d.]+)" y="([-\d.]+)"', body).groups()
            drawn += f'<text class="e" x="{float(x):.0f}" y="{float(y):.0f}">{escape(label)}</text>'
        return drawn

    def frame(self, pages, frame):
        """The SVG of one frame."""
        scale = min(1, layout.WIDEST / self.width)
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width * scale:.1f}pt" '
            f'height="{self.height * scale:.1f}pt" viewBox="0 0 {self.width:g} {self.height:g}"><style>{STYLE}</style>'
            f'<rect width="100%" height="100%" style="fill:#FFF;stroke:none"/><g transform="translate({self.shift})">'
        ]
        running = frame.step.node if frame.step is not None and not frame.step.error else None
        out += [quiet for tail, quiet, _ in self.arrows if tail != running]
        lit = [carrying for tail, _, carrying in self.arrows if tail == running]
        if lit:
            out.append('<g class="s">' + "".join(lit) + "</g>")
        out += [self.box(pages, i, frame) for i in self.boxes]
        return "".join(out) + "</g></svg>"

    def box(self, pages, i, frame):
        x, y, width, height = self.boxes[i]
        state, name, word, held = pages.lines(i, frame)
        here = pages.whole or pages.page_of.get(i) is self.page
        kind = ("a " if pages.graph.nodes[i].accumulates else "") + state + ("" if here else " p")
        lines = [(line, "") for line in name] + [(word, " b"), *held]
        at = y + height / 2 - LINE * len(lines) / 2 + 9.3
        text = "".join(
            f'<text class="t{state}{bold}" x="{x + width / 2:.0f}" y="{at + LINE * k:.1f}">{escape(line)}</text>'
            for k, (line, bold) in enumerate(lines)
        )
        return (
            f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}"/>'
            + text
        )
