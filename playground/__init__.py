"""The playground: a page that runs afflint in a browser. ``python -m playground FOLDER`` builds it."""
