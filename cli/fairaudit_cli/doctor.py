"""`fairaudit doctor`: what is installed, what is missing, how to get it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairaudit_cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from fairaudit.integrations.environment import Component, Diagnosis
    from fairaudit.models.sandbox import Layer

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the facts as JSON")
    shown.add_argument(
        "--sbom", action="store_true", help="print the installed packages as CycloneDX 1.6"
    )


def run(args: argparse.Namespace) -> int:
    if args.sbom:
        import json

        from fairaudit.integrations.bill_of_materials import bill_of_materials

        print(json.dumps(bill_of_materials(), indent=2))
        return ExitCode.OK
    from fairaudit.integrations.environment import examine

    diagnosis = examine()
    print(_as_json(diagnosis) if args.json else _as_text(diagnosis))
    return ExitCode.OK if diagnosis.ok else ExitCode.BAD_INPUT


def _as_json(diagnosis: Diagnosis) -> str:
    import json
    from dataclasses import asdict

    components = [{**asdict(part), "state": part.state} for part in diagnosis.components]
    facts = {
        "ok": diagnosis.ok,
        "components": components,
        "warnings": diagnosis.warnings,
        "sandbox": [asdict(layer) for layer in diagnosis.sandbox],
    }
    return json.dumps(facts, indent=2)


def _as_text(diagnosis: Diagnosis) -> str:
    from fairaudit_reports.text.aligned import aligned_table

    core = [_row(part) for part in diagnosis.components if part.core]
    optional = [_row(part) for part in diagnosis.components if not part.core]
    layers = [_layer_row(layer) for layer in diagnosis.sandbox]
    optional += [[], ["sandbox of model files"], *layers] if layers else []
    lines = [aligned_table([*core, [], ["optional"], *optional])]
    return "\n".join([*lines, *(f"\nwarning: {text}" for text in diagnosis.warnings)])


def _layer_row(layer: Layer) -> list[str]:
    if layer.problem is None:
        return [layer.name, "ok", layer.detail, layer.protects]
    return [layer.name, "missing", layer.detail, f"{layer.problem}; for {layer.protects}"]


def _row(part: Component) -> list[str]:
    if part.state == "ok":
        return [part.name, "ok", part.version or ""]
    why = f"{part.problem}; " if part.problem else ""
    return [part.name, part.state, part.version or "", f"{why}for {part.needed_for}", part.install]
