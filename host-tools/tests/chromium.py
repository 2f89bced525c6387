# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium with a page, asked and clicked through the pipe of its DevTools protocol."""

import itertools
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from lab.common import proc

# The browser reads file 3 and writes file 4; messages end with a zero byte.
START = 'exec "${@:3}" 3<&"$1" 4>&"$2" </dev/null >/dev/null 2>&1'
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


class Chromium:
    """A page in a window of this width, light or dark."""

    def __init__(self, program: str, page: Path, width: int, scheme: str, profile: Path):
        ours, theirs = os.pipe(), os.pipe()
        window = [f"--window-size={width},900", f"--user-data-dir={profile}", "about:blank"]
        words: list[proc.Word] = ["bash", "-c", START, "-", str(ours[0]), str(theirs[1]), program, *OPTIONS, *window]
        self.child = proc.start(words, pass_fds=(ours[0], theirs[1]))
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.answers, self.numbers = ours[1], os.fdopen(theirs[0], "rb"), itertools.count(1)
        self.rest, self.session, self.faults = b"", "", list[str]()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Runtime.enable")
        self.ask("Page.enable")
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=f"file://{page}")
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self.to)
        proc.end(self.child)
        self.answers.close()

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.answers.fileno(), 1 << 16)
            assert more, "the browser has ended"
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.faults.append(text.decode())
        return message

    def ask(self, method: str, **words: Any) -> dict[str, Any]:
        """What a method of the protocol answers."""
        number = next(self.numbers)
        question: dict[str, Any] = {"id": number, "method": method, "params": words}
        question.update({"sessionId": self.session} if self.session else {})
        os.write(self.to, json.dumps(question).encode() + b"\0")
        while (message := self._message()).get("id") != number:
            pass
        assert "error" not in message, message
        answer: dict[str, Any] = message["result"]
        return answer

    def value(self, script: str) -> Any:
        """What an expression is in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def key(self, key: str) -> None:
        """Press a key, by its name; one character is text."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        code = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def click(self, element: str) -> None:
        """Click in the middle of an element, an expression."""
        self.value(f"{element}.scrollIntoView({{ block: 'center' }})")
        middle = "(r => ({ x: r.x + r.width / 2, y: r.y + r.height / 2 }))"
        at = self.value(f"{middle}({element}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
