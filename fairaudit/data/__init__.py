"""What is audited: columns, their kinds and roles, the checked table."""
