#!/usr/bin/env python3
"""{{name}}: an extension of zot. `print` writes to its log: `zot ext logs {{name}}`."""
from typing import Annotated

from zot_ext import Display, Extension

ext = Extension("{{name}}", "0.1.0")


@ext.command("{{word}}", "say hello")
def say_hello(args: str):
    """Prompt, Insert, Panel and Noop do other things than Display."""
    return Display(f"Hello, {args or 'world'}!")


@ext.tool("{{word}}_greet", "Greets someone by name.")
def greet(name: Annotated[str, "whom to greet"]) -> str:
    return f"Hello, {name}!"


if __name__ == "__main__":
    ext.run()
