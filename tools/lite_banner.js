// Says so where Python cannot come: without this a cell would stay at [*], and nobody would know why.
(() => {
  const from = new URL("FROM", document.currentScript.src); // Pyodide, as the kernel will ask for it
  const own = from.host === location.host;
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), 15000); // a proxy that hangs gives no error

  const say = why => {
    const banner = document.createElement("div");
    banner.id = "python-missing";
    banner.setAttribute("role", "alert");
    banner.style.cssText = "position:fixed;left:0;right:0;bottom:0;z-index:10000;padding:14px 20px;background:#FDE5DA;" +
      "color:#8A2E08;border-top:3px solid #C2410C;font:15px/1.5 sans-serif";
    const words = document.createElement("span");
    words.textContent = `Python cannot be loaded: ${from.host} ${why}, so cells will not run and stay at [*]. ` + (own
      ? "The folder with Pyodide is missing there: build it again with --pyodide FOLDER. "
      : `Try a network that lets your browser reach ${from.host}. Whoever hosts this page can also put Python beside ` +
        "it: make lite ARGS=\"--pyodide FOLDER\" (docs/in_the_browser.md). ") + "Lessons can be read meanwhile. ";
    const again = document.createElement("button");
    again.textContent = "Try again";
    again.onclick = () => location.reload();
    banner.append(words, again);
    document.body.append(banner);
  };

  const told = why => document.body ? say(why) : addEventListener("DOMContentLoaded", () => say(why));
  fetch(from, { mode: own ? "same-origin" : "no-cors", signal: stop.signal })
    .then(answer => own && !answer.ok && told(`answers ${answer.status} for ${from.pathname}`))
    .catch(() => told(stop.signal.aborted ? "has not answered for 15 seconds" : "cannot be reached"))
    .finally(() => clearTimeout(late));
})();
