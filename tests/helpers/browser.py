"""A page in Chromium that a test talks to: through a pipe, without a package for it."""

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path

from helpers import chromium

PATIENCE = 60.0
"""Seconds; a page that has not done it by then does not do it."""


class Browser:
    """One page. What it asks for and what its console says is collected; no name but the given host is resolved."""

    def __init__(self, profile: Path, host: str = "127.0.0.1") -> None:
        to_it, from_it = os.pipe(), os.pipe()
        options = [
            one for one in chromium.OPTIONS if not one.startswith(("--virtual-time", "--enable-logging"))
        ]
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec 3<&{to_it[0]} 4>&{from_it[1]}; exec "$@"',
                "browser",
                chromium.find(),
                *options,
                "--remote-debugging-pipe",
                f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {host}",
                f"--user-data-dir={profile}",
            ],
            pass_fds=(to_it[0], from_it[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_it[0])
        os.close(from_it[1])
        self._out, self._in = to_it[1], from_it[0]
        self._rest, self._number, self._session = b"", 0, None
        self.requests: list[str] = []
        self.console: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        try:
            self.ask("Browser.close")
            self._process.wait(10)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    # -- the pipe ------------------------------------------------------------------------------

    def ask(self, method: str, **parameters):
        """What the browser answers to one command."""
        self._number += 1
        told = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            told["sessionId"] = self._session
        os.write(self._out, json.dumps(told).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _next(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\0")
        told = json.loads(first)
        self._note(told.get("method"), told.get("params", {}))
        return told

    def _note(self, method, told) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Log.entryAdded":
            self.console.append(
                f"{told['entry']['level']}: {told['entry']['text']} {told['entry'].get('url', '')}"
            )
        elif method == "Runtime.exceptionThrown":
            self.console.append(f"exception: {told['exceptionDetails']}")
        elif method == "Runtime.consoleAPICalled":
            self.console.append(f"{told['type']}: {told['args']}")

    # -- what a person does --------------------------------------------------------------------

    def forget(self) -> None:
        """Leave the page, and what was collected."""
        self.open("about:blank")
        self.requests.clear()
        self.console.clear()

    def open(self, address: str) -> None:
        """Go to a page."""
        found = self.ask("Page.navigate", url=address)
        assert "errorText" not in found, found

    def run(self, script: str):
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str):
        """Wait until an expression is true in the page; its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.run(f"(() => {{ try {{ return {script}; }} catch {{ return null; }} }})()")
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}\n{self.console}\n{self.run('document.body.innerText')}")

    def type(self, text: str, enter: bool = True) -> None:
        """Type into what has the focus."""
        self.ask("Input.insertText", text=text)
        if enter:
            self.press("Enter", "\r")

    def press(self, key: str, text: str = "") -> None:
        """Press a key."""
        code = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}[key]
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text
            )

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """The size of the window, and the scheme."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, whole: bool = True) -> None:
        """What is seen, as PNG."""
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))
