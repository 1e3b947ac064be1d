"""Opens pages in Chromium, as Qt brings it, and says what happened: run as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["WIDTHS", "opened"]

WIDTHS = (1280, 390)
_SECONDS = 120
_LOOK = """JSON.stringify({
  wide: document.documentElement.scrollWidth, room: window.innerWidth,
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  paper: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  text: document.body.innerText.length,
  clipped: [...document.querySelectorAll('main *, header *, nav *')].filter(one =>
    one.clientWidth && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.outerHTML.slice(0, 80)),
  pictures: [...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().height),
})"""


def opened(pages: list[Path], *, dark: bool, shots: Path | None = None) -> list[dict[str, Any]]:
    """Open pages in each of the widths.

    Args:
        pages: The pages.
        dark: Whether the reader prefers dark colours.
        shots: A folder for pictures of them, if any are wanted.

    Returns:
        For each page and width: what scripts see of it, and what it fetched and said.
    """
    if shots is not None:
        shots.mkdir(parents=True, exist_ok=True)
    given = [json.dumps([str(page) for page in pages]), str(int(dark)), str(shots or "")]
    done = subprocess.run(
        [sys.executable, __file__, *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        env={
            **os.environ,
            "QT_QPA_PLATFORM": "offscreen",
            # tests may run as root, which Chromium's sandbox refuses
            "QTWEBENGINE_DISABLE_SANDBOX": "1",
            "QTWEBENGINE_CHROMIUM_FLAGS": "--disable-gpu --blink-settings=preferredColorScheme="
            f"{0 if dark else 1}",
        },
    )
    assert done.returncode == 0, f"The browser failed:\n{done.stderr}"
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _run(pages: list[str], shots: str) -> list[dict[str, Any]]:
    from PyQt6.QtCore import QTimer, QUrl
    from PyQt6.QtWebEngineCore import (
        QWebEnginePage,
        QWebEngineProfile,
        QWebEngineUrlRequestInterceptor,
    )
    from PyQt6.QtWebEngineWidgets import QWebEngineView
    from PyQt6.QtWidgets import QApplication

    application = QApplication(sys.argv[:1])
    requests: list[str] = []
    messages: list[str] = []

    class Requests(QWebEngineUrlRequestInterceptor):
        def interceptRequest(self, info: Any) -> None:  # noqa: N802 - Qt's name
            requests.append(info.requestUrl().toString())

    class Page(QWebEnginePage):
        def javaScriptConsoleMessage(self, *what: Any) -> None:  # noqa: N802 - Qt's name
            messages.append(str(what[1]))

    profile, interceptor = QWebEngineProfile(), Requests()
    profile.setUrlRequestInterceptor(interceptor)
    view = QWebEngineView()
    page = Page(profile, view)
    view.setPage(page)
    found: list[dict[str, Any]] = []
    waiting = [(path, width) for path in pages for width in WIDTHS]

    def begin() -> None:
        if not waiting:
            application.quit()
            return
        path, width = waiting[0]
        requests.clear()
        messages.clear()
        view.resize(width, 900)
        view.load(QUrl.fromLocalFile(path))

    def loaded(ok: bool) -> None:
        messages.extend([] if ok else ["the page did not load"])
        # what is fetched late, and the layout after the last resize
        QTimer.singleShot(400, look)

    def look() -> None:
        page.runJavaScript(_LOOK, seen)

    def seen(result: str) -> None:
        path, width = waiting.pop(0)
        own = QUrl.fromLocalFile(path).toString()
        others = [request for request in requests if request != own]
        more = {"page": path, "width": width, "requests": others, "messages": list(messages)}
        found.append(json.loads(result) | more)
        if shots:
            scheme = "dark" if found[-1]["dark"] else "light"
            view.grab().save(f"{shots}/{Path(path).stem}-{scheme}-{width}.png")
        begin()

    page.loadFinished.connect(loaded)
    view.show()
    QTimer.singleShot(1000 * _SECONDS, application.quit)
    begin()
    application.exec()
    return found


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(_run(json.loads(sys.argv[1]), sys.argv[3])) + "\n")
    sys.stdout.flush()
    # Qt's own end of a page and its profile, in the wrong order, may crash
    os._exit(0)
