"""Signatures by Ed25519: who made a record, and that nothing of it was changed since.

What is signed is the pre-authentication encoding of DSSE (https://github.com/secure-systems-lab/dsse)
of the canonical record, so that a signature of one kind of file is none of another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.records.canonical import DIGEST, SIGNATURE, canonical_json, digest_of, without_seals

__all__ = ["Signer", "check_signature", "pre_authentication", "read_signer"]

_RECORD = "application/vnd.fairaudit.record+json"
_ALGORITHM = "ed25519"


def pre_authentication(kind: str, payload: bytes) -> bytes:
    """The bytes that DSSE signs.

    Examples
    --------
    >>> pre_authentication("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    name = kind.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


class Signer:
    """A private key; `key_id` names its public half: SHA-256 of its 32 bytes."""

    def __init__(self, private: Any) -> None:
        self._private = private
        self.key_id = _identify(private.public_key())

    def sign(self, kind: str, payload: bytes) -> str:
        """The signature in base 64."""
        made = self._private.sign(pre_authentication(kind, payload))
        return base64.b64encode(made).decode()

    def sign_record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The record with its digest and a signature over both."""
        plain = without_seals(record)
        plain[DIGEST] = digest_of(plain)
        value = self.sign(_RECORD, canonical_json(plain))
        plain[SIGNATURE] = {"algorithm": _ALGORITHM, "key": self.key_id, "value": value}
        return plain


def read_signer(path: str | Path) -> Signer:
    """The private key in a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it."""
    kinds, load = _ed25519(), _serialization().load_pem_private_key
    data = _read_key(path)
    try:
        private = load(data, password=None)
    except TypeError:
        raise InputError(
            f"The key {str(path)!r} has a password. Write it without one for this machine: "
            "openssl pkey -in key.pem -out open.pem.",
            argument="sign",
        ) from None
    except Exception as error:  # of several classes, by the version of the package
        raise _no_key(path, "private", error) from None
    if not isinstance(private, kinds.Ed25519PrivateKey):
        raise _no_key(path, "private", "it is of another kind")
    return Signer(private)


def check_signature(record: Mapping[str, Any], key: str | Path) -> str:
    """The id of the public key in a PEM file, if its private half has signed this record."""
    public = _read_public(key)
    signature = record.get(SIGNATURE)
    if not isinstance(signature, Mapping):
        raise InputError(
            "The record is not signed. Ask its author for one that is, or leave the key out.",
            argument="key",
        )
    own = _identify(public)
    signed = {name: value for name, value in record.items() if name != SIGNATURE}
    try:
        value = base64.b64decode(str(signature.get("value")), validate=True)
        public.verify(value, pre_authentication(_RECORD, canonical_json(signed)))
    except (_invalid(), binascii.Error, ValueError):
        why = (
            "it was signed by another key"
            if signature.get("key") != own
            else "it was changed after it was signed"
        )
        raise InputError(
            f"The signature of the record does not fit the key {str(key)!r}: {why}. Do not "
            "believe this file.",
            argument="key",
        ) from None
    return own


def _read_public(path: str | Path) -> Any:
    kinds, load = _ed25519(), _serialization().load_pem_public_key
    data = _read_key(path)
    if b"PRIVATE KEY" in data:
        raise InputError(
            f"{str(path)!r} is the private key. Pass the public one: "
            "openssl pkey -in key.pem -pubout -out pub.pem.",
            argument="key",
        )
    try:
        public = load(data)
    except Exception as error:  # of several classes, by the version of the package
        raise _no_key(path, "public", error) from None
    if not isinstance(public, kinds.Ed25519PublicKey):
        raise _no_key(path, "public", "it is of another kind")
    return public


def _read_key(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"The key {str(path)!r} cannot be read: {error.strerror}.") from None


def _no_key(path: str | Path, kind: str, why: object) -> InputError:
    text = str(why).partition("\n")[0][:120].rstrip(".")
    return InputError(
        f"{str(path)!r} is not a {kind} Ed25519 key in PEM ({text}). Make one: "
        "openssl genpkey -algorithm ed25519 -out key.pem."
    )


def _identify(public: Any) -> str:
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingDependencyError(
            "Signatures need the package cryptography. Install it: pip install cryptography"
        ) from None
    return ed25519


def _serialization() -> Any:
    from cryptography.hazmat.primitives import serialization

    return serialization


def _invalid() -> type[Exception]:
    from cryptography.exceptions import InvalidSignature

    return InvalidSignature
