"""The one orchestrator of an audit, its plan, its result and its record."""
