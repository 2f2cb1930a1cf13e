"""One text for equal records, and the digest over it.

The text is canonical JSON (RFC 8785): keys in order, no spaces, numbers in their shortest form. A
program that writes the file anew, with other spaces or in another order, does not change the
digest. Whole numbers keep all their digits, also beyond 2**53.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = [
    "DIGEST",
    "SIGNATURE",
    "canonical_json",
    "digest_of",
    "has_digest",
    "is_unchanged",
    "parse_json",
    "without_seals",
]

DIGEST = "digest"
SIGNATURE = "signature"


def canonical_json(value: Any) -> bytes:
    """The bytes that a digest or a signature is over.

    Examples
    --------
    >>> canonical_json({"b": [1.0, 1e-7, None], "a": "é"}).decode()
    '{"a":"é","b":[1,1e-7,null]}'
    """
    return _text(value).encode("utf-8", "surrogatepass")


def parse_json(text: str | bytes) -> Any:
    """JSON that means one thing: no key twice, and no number beyond those of a digest.

    Of two values under one key a reader may show the first, and a digest is over the last.

    Examples
    --------
    >>> parse_json('{"verdict": "violation", "verdict": "no violation found"}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'verdict' stands there twice
    """
    return json.loads(
        text, object_pairs_hook=_only_once, parse_constant=_refuse, parse_float=_finite
    )


def _only_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands there twice")
    return made


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _refuse(digits[:40])


def digest_of(record: Mapping[str, Any]) -> str:
    """SHA-256 over everything in a record but its digest and its signature.

    Examples
    --------
    >>> record = {"p_value": 0.03, "created": "2026-01-01"}
    >>> digest_of(record) == digest_of({**record, "digest": "sha256:…"})
    True
    >>> digest_of(record) == digest_of({**record, "created": "2026-01-02"})
    False
    """
    return f"sha256:{hashlib.sha256(canonical_json(without_seals(record))).hexdigest()}"


def without_seals(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record without its digest and its signature."""
    return {key: value for key, value in record.items() if key not in (DIGEST, SIGNATURE)}


def has_digest(record: Mapping[str, Any]) -> bool:
    """Whether a record says what its digest was; those of 0.1 do not."""
    return DIGEST in record


def is_unchanged(record: Mapping[str, Any]) -> bool:
    """Whether the digest of a record is that of its content."""
    return bool(record.get(DIGEST) == digest_of(record))


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_quote(key)}:{_text(item)}" for key, item in items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)  # None, truth values and whole numbers


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """As ECMAScript writes it: the shortest digits, with an exponent beyond 21 of them."""
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # where the point stands: the number is 0.digits times ten to the power of `point`
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if power > 0 else '-'}{abs(power)}"
