"""Programs that measure the promised figures; run each with `python -m`."""
