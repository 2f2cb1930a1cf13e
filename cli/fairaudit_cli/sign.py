"""`fairaudit sign`: a signature on a saved record, and a statement for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairaudit._words import quiet
from fairaudit.errors import InputError
from fairaudit_cli.exit_codes import ExitCode

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A key: openssl genpkey -algorithm ed25519 -out key.pem; its public half, which others "
        "need: openssl pkey -in key.pem -pubout -out pub.pem. Exit status: 0 written, 2 bad input."
    )
    parser.add_argument("record", metavar="RECORD.JSON", help="written by --report")
    parser.add_argument("--key", metavar="FILE", help="a private Ed25519 key (PEM)")
    parser.add_argument(
        "--statement",
        metavar="FILE",
        help="write the verdict as a test result of in-toto (.intoto.json); with --key signed, in "
        "a DSSE envelope",
    )


def run(args: argparse.Namespace) -> int:
    from fairaudit.data.reading.write import check_writable, write_bytes
    from fairaudit.records.attestation import envelope_of, statement_of
    from fairaudit.records.signing import read_signer
    from fairaudit.results import json_text, read_record
    from fairaudit_cli.report import result_of

    if args.key is None and args.statement is None:
        raise InputError("Nothing to do. Pass --key FILE to sign, or --statement FILE.")
    record = read_record(args.record)
    result_of(record)  # which says what is damaged
    signer = None if args.key is None else read_signer(args.key)
    files: dict[str, str] = {}
    if signer is not None:
        files[args.record] = json_text(signer.sign_record(record))
    if args.statement is not None:
        if Path(args.statement).resolve() == Path(args.record).resolve():
            raise InputError(f"{args.statement!r} is the record itself. Pass another --statement.")
        statement = statement_of(record, Path(args.record).name)
        files[args.statement] = json_text(
            statement if signer is None else envelope_of(statement, signer)
        )
    for path in files:
        check_writable(path)
    for path, text in files.items():
        write_bytes(path, f"{text}\n".encode())
    if signer is not None:
        print(quiet(f"signed: {args.record} (key {signer.key_id})"))
    if args.statement is not None:
        print(quiet(f"statement: {args.statement}"))
    return ExitCode.OK
