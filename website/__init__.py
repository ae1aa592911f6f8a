"""Build the site from ``docs/``, with generated pages for rules and commands, and check the result."""
