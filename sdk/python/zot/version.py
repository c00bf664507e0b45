"""The version of this package, which is that of the zot it was released with."""

__version__ = "0.1.0"
