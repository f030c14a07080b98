"""What memory holds, and the rows about it: frozen values, times in aware UTC.

A :class:`Record` is one row of memory: the columns that every kind shares, and a ``content``
whose class is the kind. No record saves itself; a changed record is a copy.

Columns are what a store keeps and what a change names: plain JSON values, times as whole
microseconds since 1970 UTC. :func:`to_columns` and :func:`from_columns` are the only
translation, so that every store, digest and export agrees.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, NewType, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

RecordId = NewType("RecordId", str)
Plain: TypeAlias = "str | int | float | bool | list[Any] | dict[str, Any] | None"
"""A value that JSON can hold."""

Kind = Literal["episode", "entity", "fact", "summary", "note", "procedure"]
State = Literal["active", "condensed", "archived", "merged", "superseded", "retracted", "forgotten"]
Role = Literal["user", "assistant", "tool", "system"]
Trust = Literal["marked", "imported", "assistant", "tool", "user"]
"""How far a record may be relied on, least first; derived ones take their evidence's least."""
Status = Literal["draft", "approved", "rejected", "retired"]
LinkKind = Literal[
    "mentions", "co_occurred", "evidence", "summarises", "supersedes", "same_as", "part_of"
]
SeenKind = Literal["mention", "pattern", "statement", "window", "nothing"]
UseKind = Literal["recalled", "confirmed", "spread", "base", "mention"]

DERIVED_KINDS: Final[tuple[Kind, ...]] = ("entity", "fact", "summary", "procedure")
"""What maintenance makes of episodes; everything else was told."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
ROLES: Final[tuple[Role, ...]] = get_args(Role)
TRUST_ORDER: Final[tuple[Trust, ...]] = get_args(Trust)
VISIBLE_STATES: Final[tuple[State, ...]] = ("active", "condensed")
"""What recall may return unasked. Condensed episodes stay candidates."""

HIDDEN_STATES: Final[tuple[State, ...]] = ("archived", "merged", "superseded", "retracted")
"""What takes a record out of recall, without losing it."""

READABLE_STATES: Final[tuple[State, ...]] = ("active", "condensed", "archived")
"""What a phase may read again when its settings change."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call an agent made. ``ok`` is ``None`` where the source does not say, or not yet.

    ``arguments`` is the parsed object, or the raw text where it was not valid JSON. ``id`` is what
    a result that comes later names the call by.
    """

    name: str
    id: str | None = None
    arguments: Plain = None
    result: str | None = None
    ok: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One observed turn; its text, session, position and times are the record's columns.

    ``flags`` says what the importer had to mend: ``future``, ``orphan_result``,
    ``attachment``, ``raw_arguments``, ``redacted``, ``replaced_characters`` and so on.
    """

    role: Role
    name: str | None = None
    calls: tuple[ToolCall, ...] = ()
    source_id: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, place, organisation or thing; ``confidence`` is 0 to 1."""

    name: str
    entity_kind: str
    aliases: tuple[str, ...] = ()
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement about a subject, true from ``valid_from`` until ``valid_to``."""

    subject: str
    attribute: str
    value: str
    valid_from: str | None = None
    valid_to: str | None = None
    many_valued: bool = False
    identity: bool = False
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a batch of old episodes said; the text is the record's ``text`` column."""

    method: str
    episode_count: int
    first_at: str
    last_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something told to memory directly: kept, kept until a time, or due at a time.

    A working note ends at the record's ``until``; a prospective one falls due then.
    """

    note_kind: Literal["kept", "working", "prospective"] = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a procedure: a tool and what its calls shared, or an action in words.

    An argument that differed between occurrences stands as ``{name}``.
    """

    action: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """What the agent does when; its review status is the record's ``status`` column.

    ``support``, ``successes`` and ``failures`` count distinct sessions. ``would_change`` is
    the id of the decided procedure that this draft would replace.
    """

    title: str
    trigger: str
    steps: tuple[Step, ...]
    origin: Literal["calls", "stated", "proposed"]
    support: int = 0
    successes: int = 0
    failures: int = 0
    would_change: str | None = None
    decided_by: str | None = None
    decided_at: str | None = None


Content: TypeAlias = Episode | Entity | Fact | Summary | Note | Procedure
_CONTENT: Final[dict[Kind, type[Content]]] = {
    "episode": Episode,
    "entity": Entity,
    "fact": Fact,
    "summary": Summary,
    "note": Note,
    "procedure": Procedure,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of memory.

    ``version`` is the scope's change counter at the row's last write, ``seq`` at its first;
    neither takes part in a digest. ``strength`` is the base-2 logarithm of the decayed sum of
    its uses, in thousandths (see ``strength.py``). ``until`` ends a note or a fact, or names the
    time at which a note falls due.
    """

    id: RecordId
    scope: str
    kind: Kind
    key: str | None
    content: Content
    text: str = ""
    state: State = "active"
    pinned: bool = False
    trust: Trust = "user"
    strength: int = 0
    occurred_at: datetime | None = None
    recorded_at: datetime = EPOCH
    until: datetime | None = None
    session: str | None = None
    position: int | None = None
    status: Status | None = None
    version: int = 0
    seq: int = 0

    @property
    def at(self) -> datetime:
        """The effective time: when it happened, never later than when it was recorded.

        A stated time from a fast clock must not make a row look newer than everything else.
        """
        if self.occurred_at is None or self.occurred_at > self.recorded_at:
            return self.recorded_at
        return self.occurred_at

    @property
    def order(self) -> tuple[datetime, str, int, str]:
        """The order of episodes everywhere: effective time, session, position, then id."""
        return (self.at, self.session or "", self.position or 0, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge. ``at`` is the effective time of the source it came from."""

    source: RecordId
    kind: LinkKind
    target: RecordId
    count: int = 1
    at: datetime = EPOCH
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a reader found in one episode; kind ``nothing`` says that it found nothing.

    ``score`` is 0 to 1; ``ok`` says whether the calls of a pattern succeeded. A row with a
    ``window`` is about that stretch of the session and not about its episode alone: the rows of a
    window are replaced together.
    """

    episode: RecordId
    reader: str
    kind: SeenKind
    key: str
    session: str
    at: datetime
    ok: bool | None = None
    score: float = 1.0
    body: dict[str, Any] = field(default_factory=dict)
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How much a record was used in one hour, and how much of that has spread to neighbours.

    ``hour`` counts whole hours since 1970 UTC.
    """

    record: RecordId
    hour: int
    kind: UseKind
    weight: float
    spread_weight: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """In how many distinct episodes and sessions a key was seen; successes are sessions too.

    A session with at least one occurrence that did not fail is a success; one in which every
    occurrence failed is a failure.
    """

    key: str
    episodes: int
    sessions: int
    successes: int
    failures: int
    first_at: datetime
    last_at: datetime


COLUMNS: Final = (
    "kind", "key", "state", "pinned", "trust", "strength", "occurred_at", "recorded_at",
    "until", "session", "position", "status", "text", "body",
)  # fmt: skip
"""A record's content columns, as changes and exports name them."""

Columns: TypeAlias = dict[str, Plain]


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970 UTC, exact for any aware datetime."""
    return (moment - EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    """The aware UTC time of ``value`` microseconds since 1970."""
    return EPOCH + timedelta(microseconds=value)


def to_columns(record: Record) -> Columns:
    """The record's content columns; ``id``, ``scope``, ``version`` and ``seq`` stand apart."""
    return {
        "kind": record.kind,
        "key": record.key,
        "state": record.state,
        "pinned": int(record.pinned),
        "trust": record.trust,
        "strength": record.strength,
        "occurred_at": None if record.occurred_at is None else to_microseconds(record.occurred_at),
        "recorded_at": to_microseconds(record.recorded_at),
        "until": None if record.until is None else to_microseconds(record.until),
        "session": record.session,
        "position": record.position,
        "status": record.status,
        "text": record.text,
        "body": encode_content(record.content),
    }


def from_columns(
    columns: Mapping[str, Any],
    *,
    id: str,
    scope: str,
    version: int = 0,
    seq: int = 0,
) -> Record:
    """The record whose columns these are; the inverse of :func:`to_columns`."""
    occurred_at, until = columns["occurred_at"], columns["until"]
    return Record(
        id=RecordId(id),
        scope=scope,
        kind=columns["kind"],
        key=columns["key"],
        state=columns["state"],
        pinned=bool(columns["pinned"]),
        trust=columns["trust"],
        strength=columns["strength"],
        occurred_at=None if occurred_at is None else from_microseconds(occurred_at),
        recorded_at=from_microseconds(columns["recorded_at"]),
        until=None if until is None else from_microseconds(until),
        session=columns["session"],
        position=columns["position"],
        status=columns["status"],
        text=columns["text"] or "",
        content=decode_content(columns["kind"], columns["body"]),
        version=version,
        seq=seq,
    )


def encode_content(content: Content) -> str:
    """The content as canonical JSON: what the ``body`` column holds."""
    if isinstance(content, Episode):  # the hot path of ingest: asdict is five times slower
        body: dict[str, Any] = {"role": content.role}
        if content.name is not None:
            body["name"] = content.name
        if content.calls:
            body["calls"] = [_call_body(call) for call in content.calls]
        if content.source_id is not None:
            body["source_id"] = content.source_id
        if content.flags:
            body["flags"] = list(content.flags)
        return canonical(body)
    if isinstance(content, Entity):
        return canonical(
            {"name": content.name, "entity_kind": content.entity_kind,
             "aliases": content.aliases, "confidence": content.confidence}
        )  # fmt: skip
    return canonical(asdict(content))


def _call_body(call: ToolCall) -> dict[str, Any]:
    body = {
        "name": call.name, "id": call.id, "arguments": call.arguments, "result": call.result,
        "ok": call.ok,
    }  # fmt: skip
    return {name: value for name, value in body.items() if value is not None}


def decode_content(kind: Kind, body: str | None) -> Content:
    """The content that ``body`` encodes. A tombstone's empty body gives empty content."""
    fields: dict[str, Any] = json.loads(body) if body else _EMPTY[kind]
    match kind:
        case "episode":
            return Episode(
                role=fields["role"],
                name=fields.get("name"),
                calls=tuple(ToolCall(**call) for call in fields.get("calls", ())),
                source_id=fields.get("source_id"),
                flags=tuple(fields.get("flags", ())),
            )
        case "entity":
            return Entity(**{**fields, "aliases": tuple(fields["aliases"])})
        case "procedure":
            return Procedure(**{**fields, "steps": tuple(Step(**s) for s in fields["steps"])})
        case _:
            return _CONTENT[kind](**fields)


_EMPTY: Final[dict[Kind, dict[str, Any]]] = {
    "episode": {"role": "user"},
    "entity": {"name": "", "entity_kind": "", "aliases": ()},
    "fact": {"subject": "", "attribute": "", "value": ""},
    "summary": {"method": "", "episode_count": 0, "first_at": "", "last_at": ""},
    "note": {},
    "procedure": {"title": "", "trigger": "", "steps": (), "origin": "calls"},
}


_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
)


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces: one text for one value, whatever built it."""
    return _ENCODER.encode(value)


def rounded(value: float) -> float:
    """``value`` to nine decimals: the one rounding before a number is compared or stored.

    The last bits of a sum differ between machines; a threshold must not. Minus zero becomes zero.
    """
    if not math.isfinite(value):
        message = f"a weight or score is {value}"
        raise ValueError(message)
    return round(value, 9) + 0.0


def identify(salt: bytes, *parts: str) -> RecordId:
    """An id from its parts, keyed with the scope's salt: 96 bits in hexadecimal.

    Planning twice gives the same ids, and an id says nothing about a text that was forgotten.
    """
    digest = blake2b(key=salt, digest_size=12)
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(4, "big"))
        digest.update(encoded)
    return RecordId(digest.hexdigest())


def least_trust(levels: list[Trust]) -> Trust:
    """The least of ``levels``: what derived text may claim. ``imported`` where there is none."""
    return min(levels, key=TRUST_ORDER.index, default="imported")
