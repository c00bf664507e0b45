"""An MCP server that does what it should not: `hostile.py MODE`."""

import json
import os
import sys
import threading
import time

mode = sys.argv[1]
out = sys.stdout.buffer
lock = threading.Lock()


def raw(data):
    with lock:
        out.write(data)
        out.flush()


def send(message):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def tool(name, description="d", **more):
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def page(number):
    if mode == "huge_descriptions":
        more = {"nextCursor": str(number + 1)} if number < 5 else {}
        return {"tools": [tool("huge%d" % number, "x" * 10_000_000)], **more}
    if mode == "many":
        more = {"nextCursor": str(number + 1)} if number < 20 else {}
        return {"tools": [tool("tool_%d_%d" % (number, index)) for index in range(100)], **more}
    if mode == "endless_pages":
        return {"tools": [tool("page%d" % number)], "nextCursor": str(number + 1)}
    if mode == "same_cursor":
        return {"tools": [tool("one")], "nextCursor": "1"}
    if mode == "bad_tools":
        deep = {"type": "object", "properties": {}}
        for _ in range(60):
            deep = {"type": "object", "properties": {"a": deep}}
        return {"tools": [1, "two", None, {"name": 3}, {"name": ""}, {"name": "n" * 1000}, tool("fine"), tool("fine"),
                          {"name": "noschema"}, {"name": "wrong", "inputSchema": 7},
                          {"name": "wide", "inputSchema": {"type": "object", "title": "y" * 100_000}},
                          {**tool("deep"), "inputSchema": deep}]}
    if mode == "not_a_list":
        return {"tools": {"name": "x"}}
    if mode == "churn":
        return {"tools": [tool("churn%f" % time.time())]}
    return {"tools": [tool("go"), tool("echo")]}


def flood(data):
    def work():
        while True:
            raw(data)
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()


def churn():
    while True:
        send({"method": "notifications/tools/list_changed"})
        time.sleep(0.01)


def go(identifier):
    if mode == "liar":
        for wrong in (0, -1, 999999, "1", str(identifier), 1.5, [], {}, None):
            send({"id": wrong, "result": {"content": [{"type": "text", "text": "a lie"}]}})
        send({"id": identifier})
        send({"id": identifier, "method": "ping"})
        send({"method": "notifications/progress", "params": {"progressToken": 424242, "progress": 1}})
        send({"method": "notifications/progress", "params": {"progressToken": "x"}})
        send({"method": "notifications/progress", "params": []})
        send({"method": "notifications/cancelled", "params": {"requestId": identifier}})
        send({"method": "notifications/made/up"})
        send({"id": identifier, "result": {"content": [{"type": "text", "text": "the truth"}]}})
        send({"id": identifier, "result": {"content": [{"type": "text", "text": "again"}]}})
        return
    if mode == "long_line":
        with lock:
            out.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % identifier)
            for _ in range(64):
                out.write(b"x" * 1_000_000)
            out.write(b'"}]}}\n')
            out.flush()
        return
    if mode == "garbage":
        raw(b"\x00\xff\xfe\x80\n" * 50 + b"[" * 100_000 + b"\n" + b'{"a":' * 10_000 + b"\n" + b"\r\n\n\n{}\n[]\n[1,2]\nnull\n42\n")
        raw(b'{"jsonrpc":"2.0","id":1e400,"result":{}}\n{"id":99999999999999999999999,"result":{}}\n')
        send({"id": identifier, "result": {"content": [
            {"type": "text"}, {"type": "image", "data": "%%%"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            7, {"type": "resource"}, {"type": "text", "text": "\u001b[31mred"}], "structuredContent": "x"}})
        return
    if mode == "many_requests":
        for number in range(5_000):
            send({"id": number, "method": "elicitation/create", "params": {"message": "m" * 100, "requestedSchema": {"type": "object"}}})
        return
    if mode == "bad_question":
        send({"id": "q", "method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "file:///etc/passwd"}})
        return
    if mode == "huge_error":
        send({"id": identifier, "error": {"code": -32000, "message": "e" * 5_000_000, "data": "d" * 5_000_000}})
        return
    if mode == "noisy":
        data = b"noise " * 10_000 + b"\n"
        for _ in range(20):
            sys.stderr.buffer.write(data)
        send({"id": identifier, "result": {"content": [{"type": "text", "text": "quiet"}]}})
        return
    if mode == "progress_forever":
        def work():
            while True:
                send({"method": "notifications/progress", "params": {"progressToken": identifier, "progress": 1, "message": "p" * 5000}})
                time.sleep(0.001)
        threading.Thread(target=work, daemon=True).start()
        return
    if mode == "flood_after_call":
        flood(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n' * 100)


if mode == "flood":
    flood(b"garbage on the output, over and over\n" * 1000)
if mode == "ignores_end":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    message = json.loads(line)
    method, identifier = message.get("method"), message.get("id")
    if mode in ("silent", "flood"):
        continue
    if method is None:
        if mode == "bad_question":
            send({"id": call, "result": {"content": [{"type": "text", "text": json.dumps(message)}]}})
        continue
    if method == "initialize":
        send({"id": identifier, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                                           "serverInfo": {"name": "n" * 100_000, "version": "v"},
                                           "instructions": "i" * 1_000_000}})
        if mode == "churn":
            threading.Thread(target=churn, daemon=True).start()
    elif method == "tools/list":
        if "TRACE" in os.environ:
            open(os.environ["TRACE"], "a").write(line)
        send({"id": identifier, "result": page(int((message.get("params") or {}).get("cursor", "0")))})
    elif method == "tools/call":
        call = identifier
        if message["params"]["name"] == "echo":
            send({"id": identifier, "result": {"content": [{"type": "text", "text": "echo"}]}})
        else:
            go(identifier)
if mode == "ignores_end":
    while True:
        time.sleep(1)
