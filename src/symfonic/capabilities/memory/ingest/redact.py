"""Take well-known secrets out of text before it is stored.

A token that reaches memory is recalled into prompts, drafted into procedures and exported. What
is recognised has a form that ordinary prose, commit hashes and UUIDs do not have; a secret in
plain words is not found. Always on: there is no option to store secrets.
"""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = (
    r"(?:password|passwd|passphrase|pgpassword|pwd|secret|secret[_-]?key|client[_-]?secret"
    r"|api[_-]?key|access[_-]?key|secret[_-]?access[_-]?key|private[_-]?key"
    r"|(?:access|api|auth|bearer|bot|deploy|private|refresh|session)[_-]?token)"
)

_ASSIGNED: Final = (
    "password", "passwd", "passphrase", "pwd", "secret", "token",
    "api_key", "apikey", "api-key", "access_key", "accesskey", "access-key",
    "private_key", "privatekey", "private-key",
)  # fmt: skip

_PATTERNS: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    (
        "private key",
        ("-----begin",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:(?!-----BEGIN)[\s\S]){0,20000}?"
            r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|[A-Za-z0-9+/=\s\\]*)"
        ),
    ),
    (
        "bearer token",
        ("bearer",),
        re.compile(r"(?i:(?<=bearer\s))\s{0,8}(?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/-]{16,}={0,2}"),
    ),
    (
        "bearer token",
        ("authorization",),
        re.compile(
            r"(?i:(?P<keep>(?<![\w-])(?:proxy-)?authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?"
            r"(?:bearer|token|bot|key|apikey|api-key)\s{1,3}))"
            r"(?:(?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/-]{8,}|[A-Za-z0-9._~+/-]{20,})={0,2}"
        ),
    ),
    (
        "credentials",
        ("basic ",),
        re.compile(r"(?i:(?<=authorization: basic\s))[A-Za-z0-9+/]{8,}={0,2}"),
    ),
    (
        "credentials",
        ("curl",),
        re.compile(
            r"(?P<keep>(?<![\w-])curl\s[^\n|;&]{0,300}?(?<=\s)(?:-u|--user)[ =]?[\"']?"
            r"[^\s:\"']{1,100}:)[^\s\"'\[$]{1,200}"
        ),
    ),
    (
        "api key",
        ("sk-", "k_live_", "k_test_", "aiza", "hf_", "npm_", "pypi-"),
        re.compile(
            r"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z0-9_-]{0,200}?[A-Za-z0-9]{16})"
            r"(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{20,}"
            r"|(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"
            r"|(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"
            r"|(?<![A-Za-z0-9])(?:hf|npm)_[A-Za-z0-9]{30,}"
            r"|(?<![A-Za-z0-9])pypi-[A-Za-z0-9_-]{40,}"
        ),
    ),
    (
        "github token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ),
    (
        "api key",
        ("whsec_", "sg.", "ya29.", "dop_v1_", "hvs.", ":aa", "hooks.slack.com/"),
        re.compile(
            r"(?<![A-Za-z0-9])whsec_[A-Za-z0-9+/]{24,}"
            r"|(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
            r"|(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,}"
            r"|(?<![A-Za-z0-9])dop_v1_[a-f0-9]{40,}"
            r"|(?<![A-Za-z0-9])hvs\.[A-Za-z0-9_-]{20,}"
            r"|(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"
            r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"
        ),
    ),
    ("gitlab token", ("glpat-",), re.compile(r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,}")),
    (
        "slack token",
        ("xox", "xapp-"),
        re.compile(
            r"(?<![A-Za-z0-9])(?:xox[abeoprs]-|xapp-)(?=[A-Za-z-]{0,100}\d)[A-Za-z0-9-]{10,}"
        ),
    ),
    (
        "aws key",
        ("akia", "asia"),
        re.compile(r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ),
    (
        "jwt",
        ("eyj",),
        re.compile(
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
        ),
    ),
    (
        "password",
        ("://",),
        re.compile(r"(?<=://)(?P<keep>[^\s/:@\[\]]{0,100}:)[^\s/@\[\]]{1,200}(?=@)"),
    ),
    (
        "secret",
        _ASSIGNED,
        re.compile(rf"(?i:(?P<keep>[?&]{_WORD}=))[^\s&#\"'<>\[\]]{{6,}}"),
    ),
    (
        "secret",
        ("token",),
        re.compile(
            r"(?i:(?P<keep>(?<![A-Za-z0-9])(?<!page[_-])(?<!next[_-])(?<!sync[_-])(?<!cursor[_-])"
            r"(?<!start[_-])(?<!end[_-])(?<!continuation[_-])token"
            r"\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?))"
            r"(?=[^\s\d]{0,200}\d)(?=[^\sA-Za-z]{0,200}[A-Za-z])[A-Za-z0-9._~+/-]{16,}={0,2}"
        ),
    ),
    (
        "secret",
        ("cookie:", "accountkey=", "sharedaccesskey="),
        re.compile(
            r"(?i:(?P<keep>cookie:\s{0,3}[\w.-]{1,60}=|(?:account|sharedaccess)key=))"
            r"[^\s;&\"'\[]{16,}"
        ),
    ),
    (
        "password",
        ("sshpass",),
        re.compile(r"(?P<keep>(?<![\w-])sshpass\s{1,3}-p\s{0,3}[\"']?)[^\s\"'\[$]{4,200}"),
    ),
    (
        "secret",
        _ASSIGNED,
        re.compile(
            rf"(?i:(?P<keep>(?<![A-Za-z0-9]){_WORD}(?![A-Za-z0-9_-])\\?[\"']?\s{{0,3}}"
            r"(?:=\s{0,3}\\?[\"']?|:\s{0,3}\\?[\"'](?!\s))))"
            r"(?![\s/~.]|None\b|null\b|true\b|false\b|os\.|process\.|self\.|settings\.|config\.)"
            r"[A-Za-z0-9!@#%^&*+/_.~?-]{6,200}(?![A-Za-z0-9(\[{])"
        ),
    ),
    (
        "secret",
        _ASSIGNED,
        re.compile(
            rf"(?i:(?P<keep>(?<![A-Za-z0-9]){_WORD}(?![A-Za-z0-9_-])\s{{0,3}}:\s{{0,3}}))"
            r"(?![/~.])(?=[^\s\d]{0,200}\d)(?=[^\sA-Za-z]{0,200}[A-Za-z])"
            r"[A-Za-z0-9!@#%^&*+/_.~?-]{6,200}(?![A-Za-z0-9(\[{])"
        ),
    ),
    (
        "password",
        ("mysql", "mariadb"),
        re.compile(
            r"(?P<keep>(?<![\w-])(?:mysql|mariadb)(?:dump|admin|-dump|-admin|check|import|show)?\s"
            r"(?:[^\s-]\S{0,60}\s)?(?:-{1,2}[^\s-]\S{0,60}\s(?:[^\s-]\S{0,60}\s)?){0,8}?"
            r"(?:-p|--password=)[\"']?)(?!assword)[^\s\"'\[$]{3,200}"
        ),
    ),
    (
        "password",
        ("password", "passwd", "passphrase", "passwort"),
        re.compile(
            r"(?P<keep>(?<![A-Za-z0-9])(?i:password|passwd|passphrase|passwort)\s{1,3}"
            r"(?i:is|was|to|ist|war|auf)\s{1,3}[\"'`]?)(?i:(?!sha\d|md5|base\d|argon2|v\d|utf-?8))"
            r"(?=[^\s\d]{0,40}\d)(?=[^\sA-Za-z]{0,40}[A-Za-z])[A-Za-z0-9!@#$%^&*+/_.~?-]{6,100}?"
            r"(?=[\"'`.,;:!?)]{0,3}(?:\s|$))"
        ),
    ),
    (
        "password",
        ("-password", "-passwd", "-token", "-api-key", "-secret"),
        re.compile(
            r"(?P<keep>(?<![\w-])--?(?i:password|passwd|token|api-key|secret)[ =])"
            r"(?=[^\s\d]{0,200}\d)[A-Za-z0-9!@#%^&*+/_.~?-]{6,200}"
        ),
    ),
)
"""Kind, what lower-cased text must hold for the pattern to be worth trying, and the pattern."""

_NEEDLES: Final = tuple(sorted({n for _, needles, _ in _PATTERNS for n in needles}))

_SECRET_NAME: Final = re.compile(
    rf"(?i)(?:[a-z0-9]+[_-]){{0,5}}(?:{_WORD}|authorization|proxy-authorization|x-api-key)"
)
_TOKEN_NAME: Final = re.compile(r"(?i)(?:x[_-])?(?:\w{1,30}[_-])?token")
_PAGE_TOKEN: Final = re.compile(r"(?i)(?:next|page|sync|continuation|cursor|start|end)")


def redact(text: str) -> str:
    """``text`` with each recognised secret replaced by ``[redacted: KIND]``.

    Text without one comes back as the same object. Redacting twice changes nothing more.
    """
    lowered = text.lower()
    for needle in _NEEDLES:  # a loop: one pattern of alternatives takes five times as long
        if needle in lowered:
            break
    else:
        return text
    for kind, needles, pattern in _PATTERNS:
        if any(needle in lowered for needle in needles):
            text = pattern.sub(_MARKS[kind], text)
    return text


def names_secret(name: str, value: str) -> bool:
    """Whether an argument called ``name`` holds a secret, whatever its value looks like.

    ``token`` alone also names page cursors and the like, so there the value must look random.
    """
    if not value or value.startswith("[redacted: "):
        return False
    if _SECRET_NAME.fullmatch(name) is not None:
        return not (name.lower() == "pwd" and value[0] in "/~.")  # the working directory
    return (
        len(value) >= 16
        and " " not in value
        and any(c.isdigit() for c in value)
        and _TOKEN_NAME.fullmatch(name) is not None
        and _PAGE_TOKEN.search(name) is None
    )


class _Mark:
    """The replacement for one kind, keeping the part of a match that is not secret."""

    __slots__ = ("text",)

    def __init__(self, kind: str) -> None:
        self.text = f"[redacted: {kind}]"

    def __call__(self, match: re.Match[str]) -> str:
        kept = match.groupdict().get("keep") or ""
        return kept + self.text


_MARKS: Final = {kind: _Mark(kind) for kind, _, _ in _PATTERNS}
