"""The package formats, one module each: `make(release, output)` writes files and returns their paths."""
