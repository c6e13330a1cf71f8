"""The session settings: their types, their defaults, and the values of one session.

``SET name = value`` gives a setting a value, and ``RESET`` its default again. A statement reads it by its
record::

    session.settings[AUTO_MERGE]    # False, unless the session says otherwise

Settings that only tune Spark's own work are taken and have no effect, and others have one value; both are in
`deltaarrow.sql.spark_settings`. Any other name is refused: a setting that is ignored may change what a script
does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import FEATURE_PREFIX, PROPERTIES, find_feature
from deltaarrow.features.property import parse_boolean
from deltaarrow.operations import CommitProperties, PostCommitHookProperties, Transaction
from deltaarrow.spark_sql import UTC, TimeZone, parse_time_zone
from deltaarrow.sql.spark_settings import FIXED, has_no_effect

__all__ = [
    "ANSI",
    "APPLICATION",
    "APPLICATION_VERSION",
    "APPLICATION_VERSION_RESETS",
    "AUTO_COMPACT",
    "AUTO_MERGE",
    "COMMIT_METADATA",
    "MAX_FILE_SIZE",
    "NULLS_FOR_MISSING",
    "OPTIMIZE_WRITE",
    "OVERWRITE_MODE",
    "REPLACEMENT_CHECK",
    "RETENTION_CHECK",
    "SETTINGS",
    "TIME_ZONE",
    "Setting",
    "Settings",
]

T = TypeVar("T")

UNDEFINED = "<undefined>"
"""What Spark shows for a setting that has neither value nor default."""


@dataclass(frozen=True)
class Setting(Generic[T]):
    """A setting that statements obey.

    Args:
        name: as SET spells it; its letters have their case, as in Spark.
        default: its value where nothing is set.
        shown: the default as text.
        parse: reads a text; raises `ValueError`, with what a text must be, for one that is none.
        meaning: what it does, in one sentence.
    """

    name: str
    default: T
    shown: str
    parse: Callable[[str], T]
    meaning: str


class _NoOptionError(ValueError):
    """A text is none of a few values."""


def _switch(text: str) -> bool:
    try:
        return parse_boolean(text)
    except ValueError:
        raise ValueError("true or false") from None


def _on(text: str) -> bool:
    if not _switch(text):
        raise _NoOptionError("true, which is the only value that is supported here")
    return True


class _NoZoneError(ValueError):
    """A text is no time zone."""


def _time_zone(text: str) -> TimeZone:
    try:
        return parse_time_zone(text.strip("'\""))
    except ValueError as error:
        raise _NoZoneError(str(error)) from None


def _text(text: str) -> str:
    if not text:
        raise ValueError("a text that is not empty")
    return text


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("a whole number from 0 on")
    return int(text)


def _size(text: str) -> int:
    size = _whole_number(text)
    if not size:
        raise ValueError("a number of bytes, 1 or more")
    return size


def _overwrite_mode(text: str) -> str:
    if text.upper() not in ("STATIC", "DYNAMIC"):
        raise _NoOptionError("one of STATIC and DYNAMIC")
    return text.lower()


_DELTA = "spark.databricks.delta."

RETENTION_CHECK = Setting[bool](
    _DELTA + "retentionDurationCheck.enabled",
    True,
    "true",
    _switch,
    "Whether VACUUM refuses a retention that is shorter than the table's.",
)
REPLACEMENT_CHECK = Setting[bool](
    _DELTA + "replaceWhere.constraintCheck.enabled",
    True,
    "true",
    _switch,
    "Whether each row of INSERT ... REPLACE WHERE has to fulfil the condition.",
)
AUTO_MERGE = Setting[bool](
    _DELTA + "schema.autoMerge.enabled",
    False,
    "false",
    _switch,
    "Whether INSERT and MERGE add columns of their source to the table.",
)
OVERWRITE_MODE = Setting[str](
    "spark.sql.sources.partitionOverwriteMode",
    "static",
    "STATIC",
    _overwrite_mode,
    "Whether INSERT OVERWRITE replaces all partitions (static), or those of its rows (dynamic).",
)
APPLICATION = Setting[str | None](
    _DELTA + "write.txnAppId",
    None,
    UNDEFINED,
    _text,
    "The application whose progress is committed with the rows of a write; such a write is made once.",
)
APPLICATION_VERSION = Setting[int | None](
    _DELTA + "write.txnVersion",
    None,
    UNDEFINED,
    _whole_number,
    "The application's own version of its next write.",
)
APPLICATION_VERSION_RESETS = Setting[bool](
    _DELTA + "write.txnVersion.autoReset.enabled",
    False,
    "false",
    _switch,
    "Whether a write takes the application's version away from the session.",
)
COMMIT_METADATA = Setting[str | None](
    _DELTA + "commitInfo.userMetadata", None, UNDEFINED, _text, "A text that commits keep for history."
)
OPTIMIZE_WRITE = Setting[bool | None](
    _DELTA + "optimizeWrite.enabled",
    None,
    UNDEFINED,
    _switch,
    "Whether rows are gathered before a write, for fewer files; else the table says so.",
)
AUTO_COMPACT = Setting[bool | None](
    _DELTA + "autoCompact.enabled",
    None,
    UNDEFINED,
    _switch,
    "Whether small files are compacted after a write; else the table says so.",
)
NULLS_FOR_MISSING = Setting[bool](
    "spark.sql.defaultColumn.useNullsForMissingDefaultValues",
    True,
    "true",
    _switch,
    "Whether a column without a default that an INSERT leaves out is NULL; else it is an error.",
)
MAX_FILE_SIZE = Setting[int | None](
    _DELTA + "optimize.maxFileSize", None, UNDEFINED, _size, "The bytes of a file that OPTIMIZE writes."
)
TIME_ZONE = Setting[TimeZone](
    "spark.sql.session.timeZone",
    UTC,
    "UTC",
    _time_zone,
    "The time zone in which timestamps have their dates, hours and texts.",
)
ANSI = Setting[bool](
    "spark.sql.ansi.enabled",
    True,
    "true",
    _on,
    "Whether a value that cannot be computed is an error: it is.",
)

PRECISION_LOSS = Setting[bool](
    "spark.sql.decimalOperations.allowPrecisionLoss",
    True,
    "true",
    _on,
    "Whether a decimal result that needs more than 38 digits is rounded: it is.",
)

SETTINGS: dict[str, Setting[Any]] = {
    setting.name: setting
    for setting in (
        ANSI,
        APPLICATION,
        APPLICATION_VERSION,
        APPLICATION_VERSION_RESETS,
        AUTO_COMPACT,
        AUTO_MERGE,
        COMMIT_METADATA,
        MAX_FILE_SIZE,
        NULLS_FOR_MISSING,
        OPTIMIZE_WRITE,
        OVERWRITE_MODE,
        PRECISION_LOSS,
        REPLACEMENT_CHECK,
        RETENTION_CHECK,
        TIME_ZONE,
    )
}
"""The settings that statements obey, by name."""

_DEFAULTS = _DELTA + "properties.defaults."
_DEFAULT_FEATURES = f"{_DEFAULTS}{FEATURE_PREFIX.partition('.')[2]}"
_DEFAULT_PROPERTIES = {_DEFAULTS + each.name.partition(".")[2]: each.name for each in PROPERTIES.values()}
"""The properties of new tables that do not say otherwise, by the names of settings."""

_ERROR_KINDS: dict[type, str] = {_NoOptionError: "OUT_OF_RANGE_OF_OPTIONS", _NoZoneError: "TIME_ZONE"}


class Settings:
    """The values of one session's settings.

    >>> settings = Settings()
    >>> settings.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    >>> settings[AUTO_MERGE], settings[OVERWRITE_MODE]
    (True, 'static')
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._values: dict[str, Any] = {}

    def __getitem__(self, setting: Setting[T]) -> T:
        """The value of a setting."""
        return cast("T", self._values.get(setting.name, setting.default))

    def set(self, name: str, text: str) -> None:
        """Give a setting a value.

        Raises `UnsupportedFeatureError` for a name that means nothing here, and for a text that is no value
        of the setting.
        """
        _ensure_known(name)
        setting = SETTINGS.get(name)
        fixed = FIXED.get(name)
        if fixed is not None and text.lower() != fixed.value.lower():
            raise UnsupportedFeatureError(
                f"[INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS] {name} can only be {fixed.value} here, not"
                f" {text!r}: {fixed.reason}",
                feature=name,
            )
        if setting is not None:
            try:
                self._values[name] = setting.parse(text)
            except ValueError as error:
                kind = _ERROR_KINDS.get(type(error), "TYPE_MISMATCH")
                raise UnsupportedFeatureError(
                    f"[INVALID_CONF_VALUE.{kind}] {text!r} is no value of {name}: it must be {error}",
                    feature=name,
                ) from None
        self._texts[name] = text

    def take(self, texts: Mapping[str, str]) -> None:
        """Take over those settings of a Spark session that statements obey; others are Spark's own.

        Raises `UnsupportedFeatureError` for a value that they do not obey, and for the default of a property
        that no table has.

        >>> settings = Settings()
        >>> settings.take({"spark.app.name": "nightly", "spark.databricks.delta.autoCompact.enabled": "true"})
        >>> settings.texts()
        {'spark.databricks.delta.autoCompact.enabled': 'true'}
        """
        for name, text in texts.items():
            if name in SETTINGS or name.startswith(_DEFAULTS):
                self.set(name, text)

    def reset(self, name: str | None = None) -> None:
        """Give a setting, or all of them, the default again. `UnsupportedFeatureError` as for `set`."""
        if name is None:
            self._texts.clear()
            self._values.clear()
            return
        _ensure_known(name)
        self._texts.pop(name, None)
        self._values.pop(name, None)

    def text(self, name: str) -> str:
        """The value as SET shows it. `UnsupportedFeatureError` for a name that means nothing here."""
        _ensure_known(name)
        setting = SETTINGS.get(name)
        fixed = FIXED.get(name)
        default = UNDEFINED if fixed is None else fixed.value
        return self._texts.get(name, default if setting is None else setting.shown)

    def texts(self) -> dict[str, str]:
        """Return what was set, in the order of the names."""
        return dict(sorted(self._texts.items()))

    def commit_properties(self, *, is_write: bool = True) -> CommitProperties | None:
        """Return what the settings say of a commit; None where they say nothing.

        Args:
            is_write: whether the commit changes rows, and so keeps the progress of the application.

        Raises `UnsupportedFeatureError` for the progress of an application of which half is told.
        """
        metadata = self[COMMIT_METADATA]
        progress = self._progress() if is_write else None
        if metadata is None and progress is None:
            return None
        return CommitProperties(
            custom_metadata=None if metadata is None else {"userMetadata": metadata},
            app_transactions=progress,
        )

    def _progress(self) -> list[Transaction] | None:
        application, version = self[APPLICATION], self[APPLICATION_VERSION]
        if application is None and version is None:
            return None
        if application is None or version is None:
            lacking = APPLICATION if application is None else APPLICATION_VERSION
            raise UnsupportedFeatureError(
                f"[DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS] a write is made once if {APPLICATION.name} and"
                f" {APPLICATION_VERSION.name} are both set, and {lacking.name} is not: SET it, or RESET the"
                " other",
                feature=lacking.name,
            )
        return [Transaction(application, version)]

    def finish_write(self) -> None:
        """Forget the application's version once a statement has changed rows, if the session says so."""
        if self[APPLICATION_VERSION_RESETS]:
            self.reset(APPLICATION_VERSION.name)

    def default_properties(self) -> dict[str, str]:
        """Return the properties of new tables that do not say otherwise."""
        found = {_default_property(name): text for name, text in self._texts.items()}
        return {name: text for name, text in found.items() if name is not None}

    def hook_properties(self) -> PostCommitHookProperties | None:
        """Return what the settings say of the time after a commit; None where they say nothing."""
        compacts = self[AUTO_COMPACT]
        return None if compacts is None else PostCommitHookProperties(auto_compact=compacts)


def _default_property(name: str) -> str | None:
    """The table property of which a setting is the default; None for any other setting."""
    feature = name.removeprefix(_DEFAULT_FEATURES)
    if feature != name and find_feature(feature) is not None:
        return FEATURE_PREFIX + feature
    return _DEFAULT_PROPERTIES.get(name)


def _ensure_known(name: str) -> None:
    known = (*SETTINGS, *FIXED)
    if name not in known and _default_property(name) is None and not has_no_effect(name):
        if name.startswith(_DEFAULTS):
            known = tuple(_DEFAULT_PROPERTIES)
        raise UnsupportedFeatureError(
            f"the setting {name} means nothing here{did_you_mean(name, known, quote='')}"
            f" (settings that are obeyed: {', '.join(sorted(SETTINGS))}): remove the SET",
            feature=name,
        )
