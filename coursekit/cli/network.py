"""Ask whether the place that pip installs from answers, before a set-up begins, so that it does not hang."""

import contextlib
import dataclasses
import json
import queue
import subprocess
import sys
import threading
from typing import IO

TO_BEGIN, TO_ANSWER = 4.0, 3.1  # seconds: until it is known whom to ask, on a slow machine, and until one answers

# Runs in a process of its own, which can be ended whatever it hangs on: a name server, a proxy, pip's own imports.
# pip is the one that knows where packages come from: its settings, its variables, and where it looks by itself.
ASK = r"""
import glob, json, os, socket, sys, sysconfig, threading, urllib.error, urllib.parse, urllib.request
try:
    import pip
except ImportError:  # as ensurepip brings it
    import ensurepip
    folders = sysconfig.get_config_var("WHEEL_PKG_DIR"), os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")
    sys.path += [name for folder in folders if folder for name in glob.glob(os.path.join(folder, "pip-*.whl"))]
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI

settings = Configuration(isolated=False)
settings.load()
chosen = {}
for section in ("global", "install", ":env:"):  # the later ones count
    chosen.update({key[len(section) + 1:]: value for key, value in settings.items() if key.startswith(section + ".")})
places = [] if "no-index" in chosen else [chosen.get("index-url") or PyPI.simple_url]
places += chosen.get("extra-index-url", "").split() + chosen.get("find-links", "").split()
remote = [place for place in places if place.startswith(("http:", "https:"))]
proxies = dict.fromkeys(("http", "https"), chosen["proxy"]) if "proxy" in chosen else urllib.request.getproxies()
opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
hosts = [urllib.parse.urlsplit(place).hostname for place in remote]
print(json.dumps({"local": len(remote) < len(places), "hosts": hosts}), flush=True)

def ask(place):
    parts = urllib.parse.urlsplit(place)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # no password is sent from here
    try:
        if parts.scheme in proxies and not urllib.request.proxy_bypass(parts.hostname):
            opener.open(urllib.request.Request(bare, method="HEAD"), timeout=3).close()
        else:  # a connection is enough: on a slow line the rest can take longer than anybody waits here
            port = parts.port or {"http": 80, "https": 443}[parts.scheme]
            socket.create_connection((parts.hostname, port), timeout=3).close()
    except urllib.error.HTTPError as error:
        if error.code in (502, 503, 504):  # a proxy's words
            return
    except Exception as error:
        if "CERTIFICATE" not in str(error).upper():  # somebody answers: pip says what is wrong with the certificate
            return
    print('"answers"', flush=True)

for place in remote:
    threading.Thread(target=ask, args=(place,)).start()
"""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer of the places that pip installs from."""

    silent: bool | None  # none of the hosts answers; None: that could not be found out
    hosts: list[str]
    local: bool  # one of the places is a folder: no host is needed for what lies there


def ask_index() -> Answer:
    """Ask the hosts that pip would install from whether they answer. It takes a few seconds at most."""
    asking = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", ASK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    said: queue.Queue = queue.Queue()
    threading.Thread(target=listen, args=(asking.stdout, said), daemon=True).start()
    try:
        places = said.get(timeout=TO_BEGIN)
        hosts, local = places["hosts"], places["local"]
        with contextlib.suppress(queue.Empty):
            return Answer(bool(hosts) and said.get(timeout=TO_ANSWER) != "answers", hosts, local)
        return Answer(bool(hosts), hosts, local)
    except (queue.Empty, TypeError):
        return Answer(None, [], False)
    finally:
        asking.kill()
        asking.wait()


def listen(stream: IO[bytes], said: queue.Queue) -> None:
    """Pass on what is said, a JSON value a line, and None at its end."""
    with stream, contextlib.suppress(ValueError):
        for line in stream:
            said.put(json.loads(line))
    said.put(None)
