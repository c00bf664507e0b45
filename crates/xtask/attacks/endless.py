#!/usr/bin/env python3
"""A model server on loopback that never stops answering.

endless.py MODE [DELAY_MS] prints its port and answers every POST with MODE until its standard input ends.
The wire is chosen by the path that is asked for.
"""
import json
import socket
import sys
import threading
import time

MODE = sys.argv[1]
DELAY = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.0
FILLER = "0123456789abcdef" * 256


def sse(value, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n"


def anthropic(mode):
    """What comes first, and what is repeated."""

    def event(value):
        return sse(value, value["type"])

    def block(content):
        return event({"type": "content_block_start", "index": 0, "content_block": content})

    def delta(content):
        return event({"type": "content_block_delta", "index": 0, "delta": content})

    start = event({"type": "message_start", "message": {"usage": {"input_tokens": 1}}})
    text = block({"type": "text", "text": ""})
    thinking = block({"type": "thinking", "thinking": ""})
    if mode == "text":
        return start + text, delta({"type": "text_delta", "text": FILLER})
    if mode == "letters":
        return start + text, delta({"type": "text_delta", "text": "x"}) * 50
    if mode == "thinking":
        return start + thinking, delta({"type": "thinking_delta", "thinking": FILLER})
    if mode == "signatures":
        return start + thinking, delta({"type": "signature_delta", "signature": FILLER})
    if mode == "arguments":
        call = block({"type": "tool_use", "id": "c", "name": "read", "input": {}})
        return start + call, delta({"type": "input_json_delta", "partial_json": FILLER})
    if mode == "empty":
        return start + text, delta({"type": "text_delta", "text": ""}) * 50
    if mode == "pings":
        return start, event({"type": "ping"}) * 50
    if mode == "calls":
        call = block({"type": "tool_use", "id": "c", "name": "read", "input": {}})
        return start, call + event({"type": "content_block_stop", "index": 0})
    raise SystemExit(f"no mode {mode}")


def openai(mode):
    def chunk(delta):
        return sse({"choices": [{"index": 0, "delta": delta}]})

    def call(index, arguments):
        function = {"name": "read", "arguments": arguments}
        return chunk({"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]})

    if mode == "arguments":
        more = {"tool_calls": [{"index": 0, "function": {"arguments": FILLER}}]}
        return call(0, ""), chunk(more)
    if mode == "calls":
        return "", "".join(call(index, "{}") for index in range(100_000))
    delta = {
        "text": {"content": FILLER},
        "letters": {"content": "x"},
        "thinking": {"reasoning_content": FILLER},
        "empty": {"content": ""},
        "pings": {},
    }[mode]
    return chunk({"role": "assistant", "content": ""}), chunk(delta)


def responses(mode):
    def event(kind, **fields):
        return sse({"type": kind, **fields}, kind)

    if mode == "calls":
        item = {"type": "function_call", "id": "f", "call_id": "c", "name": "read", "arguments": ""}
        added = event("response.output_item.added", output_index=0, item=item)
        return "", added + event("response.output_item.done", output_index=0, item=item)
    if mode == "arguments":
        item = {"type": "function_call", "id": "f", "call_id": "c", "name": "read", "arguments": ""}
        added = event("response.output_item.added", output_index=0, item=item)
        more = event("response.function_call_arguments.delta", output_index=0, item_id="f", delta=FILLER)
        return added, more
    if mode == "thinking":
        return "", event("response.reasoning_summary_text.delta", output_index=0, delta=FILLER)
    if mode == "pings":
        return "", event("response.in_progress", response={}) * 50
    filler = {"text": FILLER, "letters": "x", "empty": ""}[mode]
    return "", event("response.output_text.delta", output_index=0, delta=filler)


def gemini(mode):
    def part(part):
        return sse({"candidates": [{"content": {"role": "model", "parts": [part]}}]})

    parts = {
        "text": {"text": FILLER},
        "letters": {"text": "x"},
        "thinking": {"text": FILLER, "thought": True},
        "empty": {"text": ""},
        "arguments": {"functionCall": {"name": "read", "args": {"path": FILLER}}},
        "calls": {"functionCall": {"name": "read", "args": {}}},
        "signatures": {"text": "x", "thoughtSignature": FILLER},
    }
    if mode == "pings":
        return "", sse({"usageMetadata": {"promptTokenCount": 1}}) * 50
    return "", part(parts[mode])


def wire(path):
    if path.endswith("/messages"):
        return anthropic
    if path.endswith("/responses"):
        return responses
    if "eminiStreamContent" in path or "GenerateContent" in path or "models/" in path:
        return gemini
    return openai


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def answer(client, path):
    if MODE == "headers":
        first, again = HEAD, b"x-more: " + b"y" * 200 + b"\r\n"
    elif MODE == "interim":
        first, again = b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50
    elif MODE == "comments":
        first, again = HEAD + b"\r\n", b": nothing\n" * 400
    elif MODE == "lines":
        first, again = HEAD + b"\r\n", b"\n" * 4096
    elif MODE == "fields":
        first, again = HEAD + b"\r\n", b"event: ping\nid: 1\nretry: 5\n\n" * 200
    elif MODE == "line":
        first, again = HEAD + b"\r\ndata: \"", b"x" * 65536
    elif MODE == "document":
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
        first, again = head + b'{"content":[{"type":"text","text":"', b"x" * 65536
    elif MODE == "chunks":
        first, again = HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n\n\r\n" * 2000
    elif MODE == "refusal":
        first, again = b"HTTP/1.1 400 Bad\r\n\r\n", b"x" * 65536
    else:
        first, again = wire(path)(MODE)
        first, again = HEAD + b"\r\n" + first.encode(), again.encode()
    if not DELAY and len(again) < 65536:
        again *= max(1, 65536 // len(again))
    client.sendall(first)
    while True:
        client.sendall(again)
        if DELAY:
            time.sleep(DELAY)


def serve(client):
    try:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(65536)
            if not piece:
                return
            head += piece
        threading.Thread(target=drain, args=(client,), daemon=True).start()
        answer(client, head.split(b" ")[1].split(b"?")[0].decode())
    except OSError:
        pass
    finally:
        client.close()


def drain(client):
    try:
        while client.recv(65536):
            pass
    except OSError:
        pass


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
