"""Tools written in Python, as a private extension of one zot process.

zot starts a relay, which connects to a socket in a directory that only this user may enter; the
functions run here. The socket is removed after one connection, so that nothing that the agent runs
can call the functions without zot.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import functools
import inspect
import json
import logging
import os
import pkgutil
import shutil
import socket
import sys
import tempfile
import threading
from typing import Any, Callable, Coroutine, Dict, Iterator, List, Optional, Set

from zot_ext import Extension, ToolError
from zot_ext.content import HandlerError, tool_result_frame
from zot_ext.registry import Handler, make_tool
from zot_ext.registry import Tool as RegisteredTool

NAME = "python-tools"

# The path of a Unix socket is limited to 104 bytes on macOS, 108 on Linux.
_MAX_SOCKET_PATH = 100

_logger = logging.getLogger("zot")

Spawn = Callable[[Coroutine[Any, Any, Any]], "concurrent.futures.Future[Any]"]


class Tools:
    """The functions of one client; `spawn` runs coroutines."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._tools: Dict[str, RegisteredTool] = {}
        self._running: Set[concurrent.futures.Future[Any]] = set()
        self._lock = threading.Lock()
        self.revision = 0

    def add(
        self,
        function: Callable[..., Any],
        name: Optional[str] = None,
        description: Optional[str] = None,
        schema: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Adds a function. Raises TypeError when its signature has no JSON Schema."""
        tool = make_tool(function, name, description, schema)
        with self._lock:
            self._tools[tool.name] = dataclasses.replace(tool, handler=Handler(self._guard(tool.name, function)))
            self.revision += 1

    def all(self) -> List[RegisteredTool]:
        with self._lock:
            return list(self._tools.values())

    def names(self) -> List[str]:
        return [tool.name for tool in self.all()]

    def cancel_running(self) -> None:
        """Cancels the running coroutines; a plain function cannot be stopped."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()

    def _guard(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*positional: Any, **named: Any) -> Any:
            try:
                result = function(*positional, **named)
                if inspect.isawaitable(result):
                    result = self._wait(result)
                if not isinstance(result, str):
                    tool_result_frame("", result)  # Fails here, where it is logged, if there is no JSON form.
                return result
            except HandlerError:
                raise
            except (asyncio.CancelledError, concurrent.futures.CancelledError):
                raise ToolError("cancelled: the prompt was aborted") from None
            except Exception as error:
                _logger.exception("tool %s failed", name)
                text = str(error)
                raise ToolError(f"{type(error).__name__}: {text}" if text else type(error).__name__) from error

        return run

    def _wait(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        future = self._spawn(wait())
        with self._lock:
            self._running.add(future)
        try:
            return future.result()
        finally:
            with self._lock:
                self._running.discard(future)


class PrivateExtension:
    """The directory with manifest and socket for one process."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._listener: Optional[socket.socket] = None
        self._connections: Set[socket.socket] = set()
        self._closed = False
        self._revision = tools.revision
        self.directory = tempfile.mkdtemp(prefix="zot-")
        if len(os.fsencode(self._socket_path)) > _MAX_SOCKET_PATH:
            os.rmdir(self.directory)
            self.directory = tempfile.mkdtemp(prefix="zot-", dir="/tmp")
        try:
            source = pkgutil.get_data(__package__, "relay.py")
            with open(os.path.join(self.directory, "relay.py"), "wb") as file:
                file.write(source or b"")
            self._write_manifest()
            if tools.all():
                self.listen()
        except BaseException:
            self.close()
            raise

    @property
    def is_stale(self) -> bool:
        """Whether tools were added that zot has not loaded."""
        return self._revision != self._tools.revision

    @contextlib.contextmanager
    def reloading(self) -> Iterator[None]:
        """Wraps `reload_ext`, which starts a new relay."""
        revision = self._tools.revision
        self._write_manifest()
        if self._tools.all():
            self.listen()
        yield
        self._revision = revision

    def listen(self) -> None:
        with self._lock:
            if self._closed or self._listener is not None:
                return
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.bind(self._socket_path)
                os.chmod(self._socket_path, 0o600)
                listener.listen(1)
            except BaseException:
                listener.close()
                raise
            self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), name="zot-tools", daemon=True).start()

    def close(self) -> None:
        """Removes everything. Safe to call twice."""
        with self._lock:
            self._closed = True
            listener, self._listener = self._listener, None
            connections = list(self._connections)
        if listener is not None:
            self._wake_accept()
        for connection in connections:
            _shut(connection)
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def _socket_path(self) -> str:
        return os.path.join(self.directory, "socket")

    def _write_manifest(self) -> None:
        manifest = {
            "name": NAME,
            "version": "1.0.0",
            "description": "functions of the program that started zot",
            "exec": sys.executable,
            # Isolated and without site packages: it starts faster and loads no code of the user's.
            "args": ["-I", "-S", "-B", "relay.py"],
            "enabled": bool(self._tools.all()),
        }
        path = os.path.join(self.directory, "extension.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        os.replace(path + ".new", path)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # Closed.
        with self._lock:
            if self._listener is listener:
                self._listener = None
                os.unlink(self._socket_path)
            closed = self._closed
            self._connections.add(connection)
        listener.close()
        try:
            if not closed:
                self._serve(connection)
        finally:
            with self._lock:
                self._connections.discard(connection)
                is_last = not self._connections
            connection.close()
            if is_last:
                self.listen()  # zot restarts a relay that crashed.

    def _wake_accept(self) -> None:
        # On some systems neither closing nor shutting down a listener wakes a thread in accept.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(self._socket_path)
            except OSError:
                pass  # A relay has connected first.

    def _serve(self, connection: socket.socket) -> None:
        extension = Extension(NAME, "1.0.0")
        for tool in self._tools.all():
            extension.add_tool(tool)
        extension.serve(connection.fileno(), connection.fileno())


def _shut(endpoint: socket.socket) -> None:
    try:
        endpoint.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # Not connected, or no longer.
