"""The S3 server of moto, answering one request at a time: its conditional writes are not atomic.

``python moto_server.py PORT`` listens on loopback.
"""

from __future__ import annotations

import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from moto.server import main

_answer = DomainDispatcherApplication.__call__
_lock = threading.Lock()


def _answer_alone(app, environ, start_response):  # type: ignore[no-untyped-def]
    with _lock:
        return _answer(app, environ, start_response)


DomainDispatcherApplication.__call__ = _answer_alone  # type: ignore[method-assign]

if __name__ == "__main__":
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
