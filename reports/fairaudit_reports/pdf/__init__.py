"""Reports to print, sign and archive: tagged PDF by Typst."""
