"""What ``afflint init`` finds in a repository, and the configuration that it proposes."""
