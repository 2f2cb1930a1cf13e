"""What the pages of a remedy and of several models share: their style, and what they cannot say."""

from __future__ import annotations

__all__ = ["LIMIT", "STYLE"]

LIMIT = (
    "The audit found what it says in these rows. Other people, later data or another outcome are "
    "other questions, and a test that finds nothing does not show that there is nothing."
)
STYLE = """
.outcome { margin-bottom: 1.25rem; }
.pair { display: grid; gap: 1.25rem; margin: 0 0 1.5rem; }
.pair > * { min-width: 0; }
.pair .banner { align-content: start; }
.banner .was { margin: 0.125rem 0 0; color: var(--verdict); font-size: 1.75rem; font-weight: 700;
  letter-spacing: -0.01em; line-height: 1.15; }
.pair .banner .was::first-letter { text-transform: uppercase; }
.pair .banner .because { font-size: 1rem; }
.pair .banner .icon { width: 3.25rem; height: 3.25rem; }
.pair h3 { margin-top: 0; }
.verdict { color: var(--verdict); font-weight: 650; }
.path { stroke: var(--link); stroke-width: 2; }
.trivial { stroke: var(--muted); stroke-width: 1.5; stroke-dasharray: 5 4; }
.chosen { fill: var(--page); stroke: var(--none); stroke-width: 4; }
.curve { --verdict: var(--none); }
.ring { fill: var(--page); stroke: var(--muted); stroke-width: 2; }
.moved { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 2; }
.thin { opacity: 0.55; }
.key .k-dash { width: 1.75rem; height: 0; background: none; border-top: 2px dashed var(--muted);
  vertical-align: 0.25rem; }
.key .k-path { width: 1.75rem; height: 2px; background: var(--link); vertical-align: 0.25rem; }
.key .k-small { width: 6px; height: 6px; border-radius: 50%; background: var(--link);
  vertical-align: 0.15rem; }
.key .k-chosen { width: 0.9rem; height: 0.9rem; border-radius: 50%; background: var(--page);
  border: 4px solid var(--none); }
.key .k-ring { width: 0.7rem; height: 0.7rem; border-radius: 50%; background: var(--page);
  border: 2px solid var(--muted); vertical-align: 0; }
@media print, (min-width: 48rem) { .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
"""
