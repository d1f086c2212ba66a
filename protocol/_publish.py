"""Let public names say the path they are imported from."""

from types import FunctionType
from typing import Any, get_type_hints

import msgspec


def publish(namespace: dict[str, Any]) -> None:
    """Give what a package's `__all__` names the package as its `__module__`.

    For the `globals()` of a package whose exports are complete. Pickles,
    tracebacks and the documentation then name the public path. A value that
    another package exported before keeps that package's name.
    """
    package: str = namespace["__name__"]
    for name in namespace["__all__"]:
        value = namespace.get(name)  # None for a name that is loaded when it is used
        if not isinstance(value, type | FunctionType):
            continue
        if not value.__module__.startswith(f"{package}."):
            continue
        if isinstance(value, type) and issubclass(value, msgspec.Struct):
            _resolve(value)
        value.__module__ = package


def _resolve(struct: type[msgspec.Struct]) -> None:
    """Evaluate the annotations while `__module__` still says where to.

    msgspec does it at the first use, in the namespace that `__module__` names.
    """
    hints = get_type_hints(struct, include_extras=True)
    own = struct.__annotations__
    struct.__annotations__ = {name: hints[name] for name in own}
