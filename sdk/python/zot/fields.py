"""Reads fields of a JSON object; raises KeyError for a missing field, TypeError for a wrong type."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

Frame = Dict[str, Any]


def text(frame: Frame, name: str) -> str:
    value = frame[name]
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a string")
    return value


def optional_text(frame: Frame, name: str) -> Optional[str]:
    return None if frame.get(name) is None else text(frame, name)


def whole(frame: Frame, name: str) -> int:
    value = frame[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name}: expected an integer")
    return value


def number(frame: Frame, name: str) -> float:
    value = frame[name]
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name}: expected a number")
    return float(value)


def truth(frame: Frame, name: str) -> bool:
    value = frame[name]
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected a boolean")
    return value


def mapping(frame: Frame, name: str) -> Frame:
    value = frame[name]
    if not isinstance(value, dict):
        raise TypeError(f"{name}: expected an object")
    return value


def objects(frame: Frame, name: str) -> List[Frame]:
    value = frame[name]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise TypeError(f"{name}: expected a list of objects")
    return value


def texts(frame: Frame, name: str) -> List[str]:
    """Returns the list, or an empty one if the field is missing."""
    value = frame.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"{name}: expected a list of strings")
    return value
