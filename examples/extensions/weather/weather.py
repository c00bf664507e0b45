"""A tool for the model and a command for the user, with the Python SDK.

The weather is made up, but the same every time.
"""

import hashlib
import sys
from pathlib import Path
from typing import Annotated

# Only so that the example runs from a clone. With the SDK installed (pip install ./sdk/python), or
# with a copy of zot_ext beside this file, this line goes away.
sys.path.append(str(Path(__file__).resolve().parents[3] / "sdk" / "python"))

from zot_ext import CommandError, Extension, ToolError  # noqa: E402

MAX_DAYS = 7
SKIES = ["sun", "clouds", "rain", "fog", "snow", "wind"]

ext = Extension("weather", "1.0.0")


def forecast(city: str, day: int) -> str:
    digest = hashlib.sha256(f"{city.strip().lower()}/{day}".encode()).digest()
    sky = SKIES[digest[0] % len(SKIES)]
    degrees = digest[1] % 5 - 4 if sky == "snow" else digest[1] % 30
    return f"{sky}, {degrees} °C"


# The schema the model sees, and the check of what it sends, come from the signature.
@ext.tool("weather", "The weather in a city, today and on the following days.")
def weather(
    city: Annotated[str, "which city"],
    days: Annotated[int, "how many days, 1 to 7"] = 1,
) -> str:
    if not city.strip():
        raise ToolError("say which city")
    if not 1 <= days <= MAX_DAYS:
        raise ToolError(f"days must be 1 to {MAX_DAYS}, not {days}")
    lines = [f"{city}: {forecast(city, 0)}"]
    lines += [f"in {day} day{'s' if day > 1 else ''}: {forecast(city, day)}" for day in range(1, days)]
    return "\n".join(lines)


# A string is displayed; the model does not see it.
@ext.command("weather", "show today's weather in a city")
def show(city: str) -> str:
    if not city:
        raise CommandError("say which city: /weather Oslo")
    return f"{city}: {forecast(city, 0)}"


if __name__ == "__main__":
    ext.run()
