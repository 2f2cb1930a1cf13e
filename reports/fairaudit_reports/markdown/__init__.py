"""GitHub-flavored Markdown: a file, the summary of a workflow step, a comment on a change."""
