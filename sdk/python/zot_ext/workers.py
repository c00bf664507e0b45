"""Where handlers run: threads for plain functions, one event loop for coroutines."""

from __future__ import annotations

import queue
import threading
import traceback
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Optional

from .transport import log

if TYPE_CHECKING:
    import asyncio
    import concurrent.futures

# Jobs that may wait in a lane, so that a hanging handler cannot use up memory.
MAX_WAITING_JOBS = 1024


class Lane:
    """Runs jobs on daemon threads, started on demand; with one thread the jobs keep their order."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._max_threads = threads
        self._jobs: queue.SimpleQueue[Optional[Callable[[], None]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0

    def submit(self, job: Callable[[], None]) -> bool:
        """Queues a job; returns False if too many are waiting."""
        with self._lock:
            if self._unfinished >= MAX_WAITING_JOBS:
                return False
            self._unfinished += 1
            grow = self._threads < min(self._max_threads, self._unfinished)
            self._threads += grow
            self._jobs.put(job)
        if grow:
            threading.Thread(target=self._work, name=f"zot-{self._name}", daemon=True).start()
        return True

    def close(self) -> None:
        """Ends idle threads; one that hangs ends with the process."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            try:
                job()
            except BaseException:
                log(f"a {self._name} job failed\n{traceback.format_exc()}")
            finally:
                with self._lock:
                    self._unfinished -= 1


class Loop:
    """An asyncio event loop on its own thread, started by the first coroutine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._closed = False

    def start(self) -> asyncio.AbstractEventLoop:
        """Starts the loop if needed and returns it. Raises RuntimeError after `close`."""
        # Imported late: asyncio costs more than the rest of the start-up.
        import asyncio

        with self._lock:
            if self._closed:
                raise RuntimeError("the extension is shutting down")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._run, args=(self._loop,), name="zot-async", daemon=True).start()
            return self._loop

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        import asyncio

        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self.start())
        except RuntimeError:
            coroutine.close()
            raise

    def cancel_all(self, seconds: float) -> None:
        """Cancels all tasks, including the author's own, and waits for their clean-up, at most `seconds`."""
        with self._lock:
            loop = self._loop
        if loop is None:
            return
        import asyncio

        async def cancel() -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=seconds)

        try:
            asyncio.run_coroutine_threadsafe(cancel(), loop).result(seconds)
        except BaseException as error:
            log(f"coroutines still running at shutdown: {type(error).__name__}")

    def close(self) -> None:
        with self._lock:
            self._closed = True
            loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        import asyncio

        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()
