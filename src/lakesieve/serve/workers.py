"""What each worker process of a server does besides answering."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_SECONDS = 10.0
"""How long a worker without a parent goes on with the answers that are under way."""


def end_with_parent() -> None:
    """End this process when its parent process has ended for any reason.

    A parent that is killed cannot end its workers. They would go on answering, with old settings,
    and hold the port.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait, args=(parent,), daemon=True, name="parent").start()


def _wait(parent: BaseProcess) -> None:
    parent.join()
    # as at a stop by hand: the answers that are under way end first
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS)
    os._exit(1)
