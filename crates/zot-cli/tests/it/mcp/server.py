"""A small MCP server (2025-11-25). Its options are a JSON object in the first argument:

tools         more tools than echo and ask: a number, or a list of tools
gate          a file without which `initialize` is not answered
silent        nothing is ever answered
instructions  what it says about its use
log           a file to which the name of every received method is written
"""

import json
import os
import sys
import time

OPTIONS = json.loads(sys.argv[1])
OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [
    {"name": "echo", "description": "Returns its arguments", "inputSchema": OBJECT},
    {"name": "ask", "description": "Asks the user for a colour", "inputSchema": OBJECT},
]
MORE = OPTIONS.get("tools", 0)
if isinstance(MORE, list):
    TOOLS += MORE
else:
    filler = "It has a long description, as tools of servers do. " * 4
    TOOLS += [
        {
            "name": f"widget_{number}",
            "description": f"Makes a widget of kind {number}. {filler}",
            "inputSchema": OBJECT,
        }
        for number in range(MORE)
    ]
FORM = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    if OPTIONS.get("log"):
        with open(OPTIONS["log"], "a") as log:
            log.write(message.get("method", "response") + "\n")
    return message


def ask():
    params = {"message": "Which colour?", "requestedSchema": FORM}
    send({"id": "question", "method": "elicitation/create", "params": params})
    while True:
        message = receive()
        if message.get("id") == "question":
            return message.get("result", message.get("error"))


def call(params):
    arguments = params.get("arguments", {})
    if params["name"] == "ask":
        return json.dumps(ask(), sort_keys=True)
    return params["name"] + " " + json.dumps(arguments, sort_keys=True)


def answer(method, params):
    if method == "initialize":
        while OPTIONS.get("gate") and not os.path.exists(OPTIONS["gate"]):
            time.sleep(0.01)
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        }
        if OPTIONS.get("instructions"):
            result["instructions"] = OPTIONS["instructions"]
        return result
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params)}]}
    if method == "ping":
        return {}
    return None


while True:
    request = receive()
    if "id" not in request or "method" not in request or OPTIONS.get("silent"):
        continue
    result = answer(request["method"], request.get("params") or {})
    if result is None:
        error = {"code": -32601, "message": "Method not found"}
        send({"id": request["id"], "error": error})
    else:
        send({"id": request["id"], "result": result})
