# SPDX-License-Identifier: LGPL-2.1-or-later
"""A headless Chromium, by its DevTools protocol over a pair of pipes, which needs nothing but Python."""

import base64
import contextlib
import json
import os
import select
import signal
import subprocess
import time

PROGRAMS = ("chromium-headless-shell", "chromium")


class Trouble(Exception):
    pass


class Browser:
    def __init__(self, program, directory, timeout=60):
        self.timeout = timeout
        ours, theirs = os.pipe(), os.pipe() # commands, answers
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" 3<&"$IN" 4>&"$OUT"', "bash", program, "--headless", "--no-sandbox",
             "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
             "--disable-extensions", "--no-first-run", "--hide-scrollbars", "--window-size=1280,800",
             f"--user-data-dir={directory}"],
            pass_fds=(ours[0], theirs[1]), env={**os.environ, "IN": str(ours[0]), "OUT": str(theirs[1])},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(ours[0])
        os.close(theirs[1])
        self.commands, self.answers = ours[1], theirs[0]
        self.buffer, self.last, self.session = b"", 0, None
        self.events = [] # all that the page told

    def stop(self):
        self.process.terminate()
        self.process.wait()
        # Its helpers write into the directory for a moment longer, which is about to be removed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        os.close(self.commands)
        os.close(self.answers)

    def __receive(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                return None
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise Trouble("the browser has ended")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.timeout
        while answer := self.__receive(until):
            if answer.get("id") != self.last:
                self.events.append(answer)
            elif "error" in answer:
                raise Trouble(f"{method}: {answer['error']}")
            else:
                return answer["result"]
        raise Trouble(f"{method}: no answer")

    def open(self, url):
        """In a new tab, from which all is told."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        result = self.call("Page.navigate", url=url)
        if "errorText" in result:
            raise Trouble(f"{url}: {result['errorText']}")
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def run(self, expression):
        """The value of an expression of JavaScript in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Trouble(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, expected=True):
        """Until it has that value. Returns what it had last."""
        until = time.monotonic() + self.timeout
        while True:
            value = self.run(expression)
            if value == expected or time.monotonic() > until:
                return value
            time.sleep(0.02)

    def press(self, key, modifiers=0):
        """A key, as a keyboard sends it."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowDown": 40, "ArrowUp": 38}
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else None)
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the page has done wrong: exceptions, refused by the content security policy, not found."""
        for event in self.events:
            p = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = p["exceptionDetails"]
                yield details.get("exception", {}).get("description", details["text"])
            elif event.get("method") == "Log.entryAdded" and p["entry"]["level"] in {"error", "warning"}:
                yield f"{p['entry']['text']} {p['entry'].get('url', '')}"
            elif event.get("method") == "Runtime.consoleAPICalled" and p["type"] in {"error", "warning"}:
                yield " ".join(str(a.get("value", a.get("description"))) for a in p["args"])

    def sent(self):
        """The frames that the page has sent over web sockets."""
        return [event["params"]["response"]["payloadData"] for event in self.events
                if event.get("method") == "Network.webSocketFrameSent"]
