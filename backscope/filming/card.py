"""The card of a film in a notebook: the source with the line that has run, the graph after it, what the line changed.

Without a script (an untrusted notebook, GitHub, a page on paper) the frames are steps below each other, each a
<details> with words and a picture. Some lines of script make one frame of them, with buttons, a slider and the arrow
keys. Nothing here has a colour that is only right on white or only right on black: the words take that of the page.
"""

import html

from backscope.filming import words
from backscope.graph.model import FREED
from backscope.pictures.style import HIGHEST, MONO, as_image, escape, in_short

LEFT, GAP = 184, 14  # pixels: the source has at least this much beside the picture; between the two
SMALLEST = 0.85  # to what part of its size a picture may be shrunk to stand beside the source
LARGEST = 360_000  # letters of all pictures together

CARD = (
    "background:rgba(127,127,127,0.07);border:1px solid rgba(127,127,127,0.45);border-radius:10px;padding:10px 12px;"
    "max-width:736px;box-sizing:border-box;font-size:13px;line-height:1.4"
)
BUTTON = (
    "background:rgba(127,127,127,0.12);color:inherit;border:1px solid rgba(127,127,127,0.7);border-radius:6px;"
    "padding:2px 9px;margin-right:5px;font:inherit;cursor:pointer"
)
INPUT = "vertical-align:middle;margin:0 8px 0 3px;width:180px;max-width:40%;accent-color:#1F69A8"
LINE = "white-space:pre-wrap;overflow-wrap:anywhere;padding:1px 4px 1px 32px;text-indent:-28px;border-radius:4px"
NOW, RAISES = "rgba(240,184,74,0.32)", "rgba(214,60,50,0.22)"  # behind the line that has run; behind one that raises
SPOILT, LET_GO = "2px solid #D9541E", "2px solid #7C8790"  # around the line that made a slot STALE; that freed it

SCRIPT = """(function(){var me=document.currentScript;
(me?[me.parentNode]:[].slice.call(document.querySelectorAll('.bs-film'))).forEach(function(card){
if(card.dataset.on)return;card.dataset.on=1;card.tabIndex=0;card.dataset.lmSuppressShortcuts='true';
function all(what){return [].slice.call(card.querySelectorAll(what))}
var f=all('details'),rows=all('.bs-film-line'),says=all('.bs-film-says'),bar=all('.bs-film-bar')[0],
told=all('.bs-film-told')[0],view=all('.bs-film-view')[0],last=f.length-1,at=0,high=0;
function make(tag,does,set){var e=document.createElement(tag);for(var k in set)e[k]=set[k];e[does[0]]=does[1];
if(set.ariaLabel)e.setAttribute('aria-label',set.ariaLabel);
e.style.cssText=bar.getAttribute('data-'+tag);bar.appendChild(e);return e}
function button(words,says,to){return make('button',['onclick',function(){go(to())}],
{type:'button',textContent:words,ariaLabel:says,title:says})}
function within(n,span){span=(span||'0-0').split('-');return n>=+span[0]&&n<=+span[1]}
function tell(k){told.textContent='';told.appendChild(f[k].querySelector('summary b').cloneNode(true));
told.appendChild(says[k].cloneNode(true)).style.display='';high=Math.max(high,told.offsetHeight)}
function go(k){at=Math.max(0,Math.min(last,k));range.value=at;
f.forEach(function(e,i){e.open=i==at;e.style.display=i==at?'':'none'});
tell(at);
rows.forEach(function(e,i){var d=f[at].dataset,n=i+ +card.dataset.first,now=within(n,d.lines);
e.style.background=now?(d.raises?'RAISES':'NOW'):'';if(now)e.setAttribute('aria-current','step');
else e.removeAttribute('aria-current');e.style.outline=within(n,d.spoilt)?(d.freed?'LET_GO':'SPOILT'):''});
view.scrollTop=Math.max(0,+f[at].dataset.y-view.clientHeight/2);
range.setAttribute('aria-valuetext',f[at].firstElementChild.textContent);
b[0].disabled=b[1].disabled=at==0;b[2].disabled=b[3].disabled=at==last}
var b=[button('\\u25C0\\u25C0','first frame',function(){return 0}),
button('\\u25C0 previous','previous frame',function(){return at-1})],
range=make('input',['oninput',function(){go(+range.value)}],{type:'range',min:0,max:last,ariaLabel:'frame'});
b.push(button('next \\u25B6','next frame',function(){return at+1}),
button('\\u25B6\\u25B6','last frame',function(){return last}));
card.addEventListener('keydown',function(e){var k={ArrowRight:at+1,ArrowLeft:at-1,Home:0,End:last}[e.key];
if(k===undefined||e.altKey||e.ctrlKey||e.metaKey)return;go(k);e.preventDefault();e.stopPropagation()});
function screen(on){f.forEach(function(e,i){e.open=!on||i==at;e.style.display=!on||i==at?'':'none';
e.firstElementChild.style.display=on?'none':''});says.forEach(function(e){e.style.display=on?'none':''});
told.style.display=bar.style.display=on?'':'none';view.style.maxHeight=on?'HIGHESTpx':''}
window.addEventListener('beforeprint',function(){screen(false)});
window.addEventListener('afterprint',function(){screen(true)});
screen(true);says.forEach(function(e,i){tell(i)});told.style.minHeight=high+'px';go(0)})})()"""
SCRIPT = SCRIPT.replace("RAISES", RAISES).replace("NOW", NOW).replace("SPOILT", SPOILT).replace("LET_GO", LET_GO)
SCRIPT = SCRIPT.replace("HIGHEST", str(HIGHEST)).replace("\n", "")


def card(film) -> str:
    """Return the whole card as HTML."""
    head = "".join(f"<div>{escape(note)}</div>" for note in film.notes)
    title = f"<b>{escape(words.headline(film.reel, film.error))}</b>" if len(film) or not film.notes else ""
    if not len(film):
        return f'<div class="bs-film bs-panel" style="{CARD}">{title}{head}</div>'
    wide = film.pages[0].width if film.pages else 480
    images, left_out = images_of(film, wide)
    if left_out:
        head += f"<div>{escape(left_out)}</div>"
    frames = "".join(frame(film, k, image) for k, image in enumerate(images))
    return (
        f'<div class="bs-film bs-panel" data-first="{film.first}" style="{CARD}"><div>{title}{head}</div>'
        f'<div class="bs-film-bar" style="display:none;margin:8px 0 2px" data-button="{BUTTON}" data-input="{INPUT}">'
        f'</div><div style="display:flex;flex-wrap:wrap;gap:{GAP}px;margin-top:8px">'
        f'<div style="flex:1 1 {LEFT}px;min-width:0">{listing(film)}'
        '<div class="bs-film-told" aria-live="polite" style="display:none;margin-top:10px"></div></div>'
        f'<div class="bs-film-view" style="flex:100 1 {SMALLEST * wide:.0f}px;'
        f'max-width:{wide:.0f}px;min-width:0;overflow:auto">{frames}</div></div>'
        f"<script>{SCRIPT}</script></div>"
    )


def listing(film) -> str:
    """Return the source with line numbers."""
    rows = film.source.split("\n")
    lines = "".join(
        f'<div class="bs-film-line" style="{LINE}"><span style="opacity:0.65">{number(n)}</span>{escape(row)}</div>'
        for n, row in enumerate(rows, film.first)
    )
    return f'<div style="font-family:{html.escape(MONO)};font-size:12px;line-height:1.4">{lines}</div>'


def number(n) -> str:
    """Return a line's number, and the room after it."""
    return f"{n:>2}  ".replace(" ", "&#160;")


def images_of(film, wide) -> tuple:
    """Return (one image for each frame, a sentence on those that are left out to keep the card small)."""
    scale = min([1, *(HIGHEST / page.height for page in film.pages)])  # one for all frames, which have one layout
    wide *= scale
    images = [as_image(page.svg(scale), alt(film, k)) for k, page in enumerate(film.pages)] or [""] * len(film)
    size = f"margin:0;width:100%;min-width:{SMALLEST * wide:.0f}px;max-width:{wide:.0f}px"
    images = [image.replace("max-width:100%", size, 1) for image in images]
    room, kept = LARGEST - len(images[-1]), 0
    while kept < len(images) - 1 and room >= len(images[kept]):
        room -= len(images[kept])
        kept += 1
    if kept == len(images) - 1:
        return images, ""
    says = (
        f"Frames {kept + 1} to {len(images) - 1} are in words: the card would be too large. enter=False, or a part of "
    )
    return [*images[:kept], *[""] * (len(images) - 1 - kept), images[-1]], says + "the program, has pictures for all."


def alt(film, k) -> str:
    """Return a frame for those who cannot see it."""
    seen = film.reel.frames[k]
    line = f"{seen.title}: {words.code_of(film, seen)}".rstrip(": ") + "."
    return in_short([line, *(one.rstrip(".") + "." for one in film.changes(k))])


def frame(film, k, picture) -> str:
    """Return one frame: what the line did, and the picture."""
    seen, says = film.reel.frames[k], film.changes(k)
    title = f"frame {k + 1}, {seen.title}"
    code = words.code_of(film, seen)
    told = "".join(f"<li>{escape(one)}</li>" for one in says)
    data = f' data-lines="{seen.lines[0]}-{seen.lines[1]}" data-y="{film.focus(k):.0f}"'
    data += ' data-raises="1"' * bool(seen.error)
    if seen.culprit and seen.culprit[2][0]:
        data += ' data-spoilt="{}-{}"'.format(*seen.culprit[2]) + ' data-freed="1"' * (seen.culprit[3] == FREED)
    return (
        f'<details{data}{" open" * (k == len(film) - 1)} style="margin:0"><summary style="cursor:pointer">'
        f"<b>{escape(title)}</b> <code>{escape(code)}</code></summary>"
        f'<div class="bs-film-says">'
        f'<ul style="margin:3px 0 0;padding-left:17px">{told}</ul></div>{picture}</details>'
    )
