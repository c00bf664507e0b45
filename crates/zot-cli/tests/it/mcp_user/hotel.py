"""An MCP server (2025-11-25) with tools that ask, a prompt and a resource."""

import json
import sys

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name"},
        "email": {"type": "string", "format": "email"},
        "room": {"type": "string", "enum": ["single", "double"], "default": "single"},
        "breakfast": {"type": "boolean"},
    },
    "required": ["name", "email"],
}
OBJECT = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "book", "description": "Books a room", "inputSchema": OBJECT},
    {"name": "pay", "description": "Pays on a page", "inputSchema": OBJECT},
    {"name": "count", "description": "Reports progress", "inputSchema": OBJECT},
]
ARGUMENTS = [{"name": "city", "required": True}, {"name": "days"}]
PROMPTS = [{"name": "trip", "description": "Plans a trip", "arguments": ARGUMENTS}]
MEMO = {"uri": "memo://first", "name": "first", "title": "The first memo"}
CAPABILITIES = {"tools": {}, "prompts": {}, "resources": {}}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(params):
    send({"id": "question", "method": "elicitation/create", "params": params})
    while True:
        message = receive()
        if message.get("id") == "question":
            return message.get("result", message.get("error"))


def call(params):
    if params["name"] == "book":
        return ask({"message": "Who is coming?", "requestedSchema": FORM})
    if params["name"] == "pay":
        url = "https://pay.example/start?room=1"
        request = {"mode": "url", "elicitationId": "1"}
        return ask({**request, "message": "Pay there.", "url": url})
    token = params.get("_meta", {}).get("progressToken")
    for step in range(3):
        progress = {"progressToken": token, "progress": step, "total": 3}
        send({"method": "notifications/progress", "params": progress})
    # The user has seen it by now.
    return ask({"message": "Go on?", "requestedSchema": OBJECT})


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": CAPABILITIES,
            "serverInfo": {"name": "hotel", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = "answer " + json.dumps(call(params), sort_keys=True)
        return {"content": [{"type": "text", "text": text}]}
    if method == "prompts/list":
        return {"prompts": PROMPTS}
    if method == "prompts/get":
        values = params["arguments"]
        text = f"Plan {values.get('days', 'some')} days in {values['city']}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    if method == "resources/list":
        return {"resources": [MEMO]}
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read" and params["uri"] == MEMO["uri"]:
        return {"contents": [{"uri": MEMO["uri"], "text": "the memo says 42\n"}]}
    return {} if method == "ping" else None


while True:
    request = receive()
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params") or {})
    if result is None:
        error = {"code": -32602, "message": "no such thing"}
        send({"id": request["id"], "error": error})
    else:
        send({"id": request["id"], "result": result})
