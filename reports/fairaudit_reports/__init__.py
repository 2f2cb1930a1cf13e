"""How a result is shown: `view` says what, the other packages are one family of formats each."""
