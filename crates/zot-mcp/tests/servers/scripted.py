"""An MCP server for tests: `scripted.py legacy|modern|dual`.

`dual` knows both eras and keeps to that of the first request, like servers on the Python SDK.
Every line it receives is appended to the file in $TRACE.
"""

import base64
import json
import os
import sys
import threading
import time

PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5"
       "ErkJggg==")
META = "io.modelcontextprotocol/"
FORM = {"message": "Who are you?", "requestedSchema": {
    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
URL = {"mode": "url", "message": "Please sign in", "url": "https://example.com/sign-in", "elicitationId": "e1"}

era = None
mode = os.environ.get("MODE", sys.argv[1])
writing = threading.Lock()
waiting = {}
tools = [
    "echo", "add", "parts", "slow", "hang", "ask", "ask_url", "long", "fail", "refuse", "task", "crash", "roots",
    "change", "where", "sample", "unknown_kind", "null", "endless",
]
tasks = {}


def send(message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def notify(method, params=None):
    send({"method": method, **({"params": params} if params is not None else {})})


def ask_client(method, params):
    """A request to the client, as the legacy era has them."""
    number = "s%d" % (len(waiting) + 1)
    event = threading.Event()
    waiting[number] = (event, [])
    send({"id": number, "method": method, "params": params})
    event.wait(30)
    return waiting[number][1][0]


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def call(identifier, params):
    name = params["name"]
    arguments = params.get("arguments") or {}
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "add":
        total = {"sum": arguments["a"] + arguments["b"]}
        return text(json.dumps(total), structuredContent=total)
    if name == "parts":
        return {"content": [
            {"type": "text", "text": "first"},
            {"type": "image", "mimeType": "image/png", "data": PNG},
            {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"RIFFxxxx").decode()},
            {"type": "resource_link", "uri": "file:///a.txt", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "memo://1", "text": "embedded"}},
            {"type": "resource", "resource": {"uri": "memo://2", "blob": "AAEC", "mimeType": "application/zip"}},
            {"type": "hologram"},
        ], "structuredContent": {"more": [1, 2]}}
    if name == "slow":
        for step in range(1, 4):
            notify("notifications/progress", {"progressToken": token, "progress": step, "total": 3,
                                              "message": "step %d" % step})
            time.sleep(arguments.get("pause", 0.05))
        return text("done")
    if name == "hang":
        return None
    if name == "long":
        return text("\n".join("line %d" % number for number in range(20000)))
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "refuse":
        if params.get("arguments", {}).get("nameless"):
            send({"id": None, "error": {"code": -32600}})
            return None
        return {"error": {"code": -32602, "message": "no such thing"}}
    if name == "crash":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "where":
        return text(json.dumps({"cwd": os.getcwd(), "env": os.environ.get("SPECIAL"), "named": os.environ.get(os.environ.get("SPECIAL_NAME", "")), "pid": os.getpid()}))
    if name == "change":
        if arguments["name"] not in tools:
            tools.append(arguments["name"])
        if era == "modern":
            notify("notifications/tools/list_changed",
                   {"_meta": {META + "subscriptionId": subscription}})
        else:
            notify("notifications/tools/list_changed")
        return text("changed")
    if name == "unknown_kind":
        return {"resultType": "surprise"} if era == "modern" else text("no kinds here")
    if name == "null":
        return "null"
    return asking(name, params) if era == "legacy" else rounds(name, params)


def asking(name, params):
    if name == "ask":
        return text(json.dumps(ask_client("elicitation/create", FORM)))
    if name == "ask_url":
        if params.get("visited"):
            return text("visited")
        answer = ask_client("elicitation/create", URL)
        return text(json.dumps(answer))
    if name == "endless":
        return {"error": {"code": -32042, "message": "visit first", "data": {"elicitations": [URL]}}}
    if name == "roots":
        return text(json.dumps([ask_client("roots/list", {}), ask_client("ping", {})]))
    if name == "sample":
        return text(json.dumps(ask_client("sampling/createMessage", {"messages": [], "maxTokens": 1})))
    if name == "task":
        tasks["t1"] = {"taskId": "t1", "status": "working", "pollInterval": 100, "polls": 0,
                       "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 1000}
        return {"task": {key: value for key, value in tasks["t1"].items() if key != "polls"}}
    return {"error": {"code": -32602, "message": "unknown tool"}}


def rounds(name, params):
    answers = params.get("inputResponses")
    if name == "ask":
        if answers is None:
            return {"resultType": "input_required", "requestState": "state \u00e4",
                    "inputRequests": {"who": {"method": "elicitation/create", "params": {"mode": "form", **FORM}}}}
        return text(json.dumps([answers, params.get("requestState")]))
    if name == "ask_url":
        if answers is None:
            return {"resultType": "input_required", "inputRequests": {"page": {"method": "elicitation/create", "params": URL}}}
        return text(json.dumps([answers, "requestState" in params]))
    if name == "endless":
        return {"resultType": "input_required", "requestState": "again"}
    if name == "roots":
        if answers is None:
            return {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}
        return text(json.dumps(answers))
    if name == "sample":
        return {"resultType": "input_required", "inputRequests": {"s": {"method": "sampling/createMessage", "params": {}}}}
    if name == "task":
        tasks["t1"] = {"taskId": "t1", "status": "working", "statusMessage": "warming up", "pollIntervalMs": 50,
                       "ttlMs": None, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
                       "polls": 0, "mode": params["arguments"].get("mode")}
        return {"resultType": "task", **task_state("t1")}
    return {"error": {"code": -32602, "message": "unknown tool"}}


def task_state(identifier):
    return {key: value for key, value in tasks[identifier].items() if key not in ("polls", "mode")}


def poll(identifier):
    task = tasks[identifier]
    task["polls"] += 1
    if era == "legacy":
        if task["polls"] >= 2:
            task["status"] = "completed"
        return task_state(identifier)
    if task["mode"] == "forever":
        return task_state(identifier)
    if task["polls"] == 2:
        task["statusMessage"] = "half way"
    if task["polls"] == 3 and task["mode"] == "ask":
        task["status"] = "input_required"
        task["inputRequests"] = {"who": {"method": "elicitation/create", "params": FORM}}
    elif task["polls"] >= 3 and task["status"] == "working":
        if task["mode"] == "fail":
            task["status"] = "failed"
            task["error"] = {"code": -32000, "message": "the task broke"}
        else:
            task["status"] = "completed"
            task["result"] = text("task result")
    return task_state(identifier)


def capabilities():
    lists = {"listChanged": True}
    common = {"tools": lists, "prompts": lists, "resources": lists, "logging": {}}
    if era == "legacy":
        return {**common, "tasks": {"requests": {"tools": {"call": {}}}}}
    return {**common, "extensions": {META + "tasks": {}}}


def listed(name):
    tool = {"name": name, "description": "Does " + name, "inputSchema": {"type": "object"}}
    if name == "echo":
        tool["annotations"] = {"readOnlyHint": True, "title": "Echo"}
    if name == "task" and era == "legacy":
        tool["execution"] = {"taskSupport": "required"}
    return tool


def cached(result):
    if era == "modern":
        result.update(ttlMs=int(os.environ.get("TTL", "60000")), cacheScope="private")
    return result


subscription = None


def answer(method, identifier, params):
    global subscription
    if method == "ping":
        return {}
    if method == "tools/list":
        # Two pages, to be put together.
        start = int(params.get("cursor", "0"))
        page = {"tools": [listed(name) for name in tools[start:start + 10]]}
        if start + 10 < len(tools):
            page["nextCursor"] = str(start + 10)
        return cached(page)
    if method == "prompts/list":
        return cached({"prompts": [{"name": "greet", "title": "Greeting", "description": "Says hello",
                                    "arguments": [{"name": "who", "required": True}]}]})
    if method == "prompts/get":
        notify("notifications/message", {"level": "info", "logger": "prompts", "data": {"asked": params["name"]}})
        return {"messages": [
            {"role": "user", "content": {"type": "text", "text": "Hello " + params["arguments"]["who"]}},
            {"role": "assistant", "content": {"type": "text", "text": "Hi"}}]}
    if method == "resources/list":
        return cached({"resources": [{"uri": "memo://1", "name": "memo", "mimeType": "text/plain", "size": 5}]})
    if method == "resources/templates/list":
        return cached({"resourceTemplates": [{"uriTemplate": "memo://{id}", "name": "memos"}]})
    if method == "resources/read":
        if params["uri"] != "memo://1":
            return {"error": {"code": -32602, "message": "Resource not found"}}
        return cached({"contents": [{"uri": "memo://1", "mimeType": "text/plain", "text": "memo"},
                                    {"uri": "memo://1/picture", "mimeType": "image/png", "blob": PNG}]})
    if method == "tasks/get":
        return poll(params["taskId"])
    if method == "tasks/result":
        return text("legacy task result")
    if method == "tasks/update":
        tasks[params["taskId"]].update(status="working", polls=10)
        tasks[params["taskId"]].pop("inputRequests", None)
        return {}
    if method == "tasks/cancel":
        return {}
    if method == "subscriptions/listen":
        subscription = identifier
        notify("notifications/subscriptions/acknowledged",
               {"notifications": params["notifications"], "_meta": {META + "subscriptionId": identifier}})
        if os.environ.get("CUT") == "1":
            notify("notifications/cancelled", {"requestId": identifier})
        return None
    if method == "tools/call":
        return call(identifier, params)
    return {"error": {"code": -32601, "message": "Method not found"}}


def begin(method, identifier, params):
    """The first requests; returns whether it was one of them."""
    global era
    if method == "initialize":
        if mode == "modern" or era == "modern":
            send({"id": identifier, "error": {"code": int(os.environ.get("REFUSAL", "-32022")),
                                              "message": "Unsupported protocol version",
                                              "data": {"supported": ["2026-07-28"], "requested": params["protocolVersion"]}}})
            return True
        era = "legacy"
        send({"id": identifier, "result": {
            "protocolVersion": os.environ.get("VERSION", params["protocolVersion"]), "capabilities": capabilities(),
            "serverInfo": {"name": "scripted", "version": "1"}, "instructions": "Use it well."}})
        return True
    if method == "server/discover":
        if mode == "legacy" or era == "legacy":
            send({"id": identifier, "error": {"code": -32601, "message": "Method not found"}})
            return True
        era = "modern"
        send({"id": identifier, "result": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
            "instructions": "Use it well.", "ttlMs": 0, "cacheScope": "public",
            "_meta": {META + "serverInfo": {"name": "scripted", "title": "Scripted", "version": "2"}}}})
        return True
    return False


def handle(message):
    method = message.get("method")
    identifier = message.get("id")
    params = message.get("params") or {}
    if method is None:
        event, answers = waiting[identifier]
        answers.append(message.get("result", message.get("error")))
        event.set()
        return
    if identifier is None or begin(method, identifier, params):
        return
    meta = params.get("_meta", {})
    if era == "modern" and not (meta.get(META + "protocolVersion") == "2026-07-28"
                                and META + "clientCapabilities" in meta):
        send({"id": identifier, "error": {"code": -32602, "message": "_meta is missing"}})
        return

    def work():
        result = answer(method, identifier, params)
        if result is None:
            return
        if result == "null":
            send({"id": identifier, "result": None})
        elif set(result) == {"error"}:
            send({"id": identifier, **result})
        else:
            if era == "modern":
                result.setdefault("resultType", "complete")
            send({"id": identifier, "result": result})

    threading.Thread(target=work, daemon=True).start()


print("starting", file=sys.stderr, flush=True)
print("a stray line, as careless servers print it", flush=True)
trace = open(os.environ["TRACE"], "a") if "TRACE" in os.environ else None
for line in sys.stdin:
    if trace:
        trace.write(line)
        trace.flush()
    handle(json.loads(line))
