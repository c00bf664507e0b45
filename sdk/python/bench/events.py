#!/usr/bin/env python3
"""Measures the plain client: how fast the events of one prompt reach the program.

    events.py --zot PATH --base-url URL --deltas N

The server is to answer `say:N` with N text deltas, as scripted-model does. Prints one JSON object:
`events` and `seconds` from the prompt to its end, `cpu_seconds` of this process meanwhile.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import zot  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zot", required=True)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--deltas", type=int, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        client = zot.Client(
            program=options.zot,
            provider="openai",
            model="gpt-5",
            api_key="none",
            base_url=options.base_url,
            cwd=home,
            env={"ZOT_HOME": home},
            installed_extensions=False,
        )
        with client:
            client.ask("say:1")
            events = deltas = 0
            begun, cpu = time.perf_counter(), time.process_time()
            for event in client.prompt(f"say:{options.deltas}"):
                events += 1
                deltas += isinstance(event, zot.TextDelta)
            seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    if deltas != options.deltas:
        sys.exit(f"{deltas} text deltas arrived instead of {options.deltas}")
    print(json.dumps({"events": events, "seconds": round(seconds, 6), "cpu_seconds": round(cpu_seconds, 6)}))


if __name__ == "__main__":
    main()
