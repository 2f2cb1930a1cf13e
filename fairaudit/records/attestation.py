"""An audit as a statement of in-toto, which tools of software supply chains read.

The predicate is that of test results (https://in-toto.io/attestation/test-result/v0.1): the model
is the subject; the record and the data are the configuration. Signed, it stands in an envelope of
DSSE.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fairaudit.errors import InputError
from fairaudit.records.canonical import canonical_json, digest_of
from fairaudit.records.signing import Signer

__all__ = ["envelope_of", "statement_of"]

_PAYLOAD = "application/vnd.in-toto+json"
_RESULTS = {
    "violation": "FAILED",
    "no violation found": "PASSED",
    "equivalent within tolerance": "PASSED",
    "inconclusive": "WARNED",
}


def statement_of(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The statement about the record of an audit, which is called `name`."""
    capsule = record.get("capsule")
    result = _RESULTS.get(str(record.get("verdict")))
    if not isinstance(capsule, Mapping) or result is None:
        raise InputError("Only the record of an audit becomes a statement of in-toto.")
    data = [_describe(source) for source in capsule["data"]]
    subject = data if capsule["model"] is None else [_describe(capsule["model"])]
    if not subject or not all(source["digest"]["sha256"] for source in subject):
        raise InputError(
            "The audit was not of files: a statement needs the SHA-256 of a model or a table."
        )
    tests: dict[str, list[str]] = {"passed": [], "warned": [], "failed": []}
    for finding in record["findings"]:
        open_ = finding["inconclusive"] is not None
        kind = "warned" if open_ else "failed" if finding["significant"] else "passed"
        tests[kind].append(str(finding["name"]))
    own = {
        "name": name,
        "mediaType": "application/json",
        "digest": {"sha256": digest_of(record).removeprefix("sha256:")},
        "annotations": {
            "what": "SHA-256 of the canonical JSON (RFC 8785) without digest and signature",
            "schema": record["schema"],
            "verdict": record["verdict"],
            "created": capsule["created"],
            "fairaudit": capsule["version"],
            "command": capsule["command"],
        },
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subject,
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": result,
            "configuration": [own, *data],
            **{f"{kind}Tests": names for kind, names in tests.items()},
        },
    }


def envelope_of(statement: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """The statement in an envelope of DSSE."""
    payload = canonical_json(statement)
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": _PAYLOAD,
        "signatures": [{"keyid": signer.key_id, "sig": signer.sign(_PAYLOAD, payload)}],
    }


def _describe(source: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": PurePath(str(source["path"] or source["kind"])).name,
        "digest": {"sha256": source["sha256"]},
    }
