"""The site: what lies in ``docs/``, a page for each rule and command made when it is built, and a check of what came out."""
