"""The scan of a repository by ``afflint init``, and the configuration that it proposes."""
