"""Tables of storage options: deltalake's names, and the setting or refusal behind each.

deltalake's options are those of the Rust library object_store: for the server and the credentials, and for
the HTTP client. An option works, is known to have no effect here, or is refused with the reason. Names of the
library below pass through unchanged.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import StorageError

__all__ = [
    "BACKOFF",
    "HTTP2",
    "Option",
    "OptionTable",
    "as_count",
    "as_flag",
    "as_opposite",
    "as_proxies",
    "as_seconds",
    "as_text",
]

_ALLOW_HTTP = "allow_http"

HTTP2 = (
    *("http2_only", "http2_keep_alive_interval", "http2_keep_alive_timeout", "http2_keep_alive_while_idle"),
    "http2_max_frame_size",
)
"""Options for HTTP/2, which no library here speaks."""
BACKOFF = (
    *("retry_timeout", "backoff_config.init_backoff", "backoff_config.max_backoff", "backoff_config.base"),
)
"""Options for the waits between attempts."""


def as_text(key: str, value: Any) -> Any:
    """Return the value."""
    return value


def as_flag(key: str, value: Any) -> bool:
    """Return a truth value, from itself or a text such as ``true``."""
    text = str(value).lower()
    if text in ("true", "1", "yes", "on", "y"):
        return True
    if text in ("false", "0", "no", "off", "n"):
        return False
    raise StorageError(f"the storage option {key!r} must be true or false, and has neither value")


def as_opposite(key: str, value: Any) -> bool:
    """Return the opposite of a truth value."""
    return not as_flag(key, value)


def as_count(key: str, value: Any) -> int:
    """Return a number, 0 or more."""
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()):
        raise StorageError(f"the storage option {key!r} must be a number, 0 or more, not {text!r}")
    return int(text)


_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(
    r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|millis(?:econds?)?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)?(?![a-z])\s*"
)


def as_seconds(key: str, value: Any) -> float:
    """Return seconds, from a number or a text such as ``30s`` or ``1m 30s``; a number alone means seconds."""
    text, place, total = str(value), 0, 0.0
    while place < len(text):
        found = _DURATION.match(text, place)
        if found is None:
            break
        unit = found[2] or "s"
        total += float(found[1]) * _SECONDS["ms" if unit.startswith(("ms", "mil")) else unit[0]]
        place = found.end()
    if not text.strip() or place < len(text) or isinstance(value, bool):
        raise StorageError(
            f"the storage option {key!r} must be a time such as '30s' or '5 minutes', not {text!r}"
        )
    return total


def as_proxies(key: str, value: Any) -> dict[str, str]:
    """Return a proxy for both schemes."""
    return {"http": str(value), "https": str(value)}


class Option(NamedTuple):
    """An option of deltalake: its place in the arguments of the library, and how its value is read.

    `names` are in lower case and without the service's prefix; those with a dot are as another program spells
    them. `meaning` is for the documentation.
    """

    names: tuple[str, ...]
    place: tuple[str, ...]
    read: Callable[[str, Any], Any]
    meaning: str
    is_credential: bool = False
    """Where one is given, variables of the environment give no other."""


@dataclass(frozen=True)
class OptionTable:
    """The options of one service."""

    prefixes: tuple[str, ...]
    """In lower case; the first is the one of the documentation."""
    of_service: tuple[Option, ...]
    """Options for the server and the credentials, with or without a prefix."""
    of_client: tuple[Option, ...]
    """Options for the HTTP client."""
    without_effect: Mapping[str, str]
    """Options of deltalake that change nothing here -> why."""
    refused: Mapping[str, str]
    """Options of deltalake that cannot be followed -> why, or what to do."""
    of_library: tuple[str, ...]
    """Names that pass through."""
    endpoint: tuple[str, ...]
    """The place of the server's URL."""

    def read(
        self, storage_options: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the arguments of the library, some of which are mappings themselves.

        Options of the server that are not given come from variables in `environment`, named with a prefix in
        upper case; an empty one counts as absent. Raises `StorageError` for an unknown name, for an option
        that cannot be followed, for a value without meaning, and for two options that disagree.
        """
        options: dict[str, Any] = {}
        translated: dict[tuple[str, ...], Any] = {}
        allow_http, is_identified = True, False
        options_of = (*self.of_service, *self.of_client)
        by_name = {name.lower(): option for option in options_of for name in option.names}
        for key, given in storage_options.items():
            if not isinstance(key, str):
                raise StorageError(f"the name of a storage option is a text, not {key!r}")
            name = self._bare(key)
            option = by_name.get(name)
            if name == _ALLOW_HTTP:
                allow_http = as_flag(key, given)
            elif option is not None:
                value = option.read(key, given)
                is_identified = is_identified or option.is_credential
                if translated.setdefault(option.place, value) != value:
                    raise StorageError(
                        f"the storage option {key!r} disagrees with another of the same meaning; remove one"
                        " of them"
                    )
            elif key in self.of_library:
                options[key] = given
            elif name not in self.without_effect:
                raise self._refusal(key, name, [*by_name])
        is_identified = is_identified or any(
            option.is_credential and _holds(options, option.place) for option in self.of_service
        )
        for option in self.of_service:
            is_given = option.place in translated or _holds(options, option.place)
            if environment and not is_given and not (is_identified and option.is_credential):
                variable = next((each for each in self._variables(option) if environment.get(each)), None)
                if variable is not None:
                    translated[option.place] = option.read(variable, environment[variable])
        for place, value in translated.items():
            _put(options, place, value)
        endpoint: Any = options
        for step in self.endpoint:
            endpoint = endpoint.get(step, {}) if isinstance(endpoint, Mapping) else ""
        if not allow_http and str(endpoint).lower().startswith("http://"):
            raise StorageError("the endpoint is http://, which the storage option allow_http forbids")
        return options

    def _bare(self, key: str) -> str:
        name = key.lower()
        prefix = next((each for each in self.prefixes if name.startswith(each)), "")
        return name.removeprefix(prefix)

    def _variables(self, option: Option) -> Iterator[str]:
        return (f"{prefix}{name}".upper() for name in option.names for prefix in self.prefixes)

    def _refusal(self, key: str, name: str, names: list[str]) -> StorageError:
        if name in self.refused:
            return StorageError(f"the storage option {key!r} cannot be followed: {self.refused[name]}")
        prefix = key.lower().removesuffix(name)
        spelled = [f"{prefix}{each}" for each in names]
        known = [each.upper() for each in spelled] if key.isupper() else [*spelled, *self.of_library]
        return StorageError(f"unknown storage option {key!r}{did_you_mean(key, known)}")

    def render(self) -> str:
        """Return the options of deltalake, as a Markdown table for the documentation."""

        def rows() -> Iterator[str]:
            yield "| Option | Meaning |"
            yield "|---|---|"
            for option in self.of_service:
                names = (
                    f"`{each}`" if "." in each else f"`{self.prefixes[0]}{each}`".upper()
                    for each in option.names
                )
                yield f"| {', '.join(names)} | {option.meaning} |"
            for option in self.of_client:
                yield f"| {', '.join(f'`{each}`' for each in option.names)} | {option.meaning} |"
            yield f"| `{_ALLOW_HTTP}` | `false` refuses an endpoint with `http://` |"
            for said, names_of in (("no effect", self.without_effect), ("refused: ", self.refused)):
                for why in dict.fromkeys(names_of.values()):
                    same = (f"`{each}`" for each in sorted(names_of) if names_of[each] == why)
                    yield f"| {', '.join(same)} | {said}{why} |"

        return "\n".join(rows())


def _holds(options: Mapping[str, Any], place: tuple[str, ...]) -> bool:
    found: Any = options
    for key in place:
        if not isinstance(found, Mapping) or key not in found:
            return False
        found = found[key]
    return True


def _put(options: dict[str, Any], place: tuple[str, ...], value: Any) -> None:
    *outer, last = place
    for key in outer:
        # Copy, because the mapping may belong to the caller.
        options[key] = dict(options.get(key) or {})
        options = options[key]
    if options.setdefault(last, value) != value:
        raise StorageError(
            f"the storage option {'.'.join(place)!r} is given twice, with different values; remove one of"
            " them"
        )
