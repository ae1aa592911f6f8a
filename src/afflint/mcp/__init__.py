"""The MCP server: afflint for coding agents. It runs the commands of afflint and returns their output, bounded."""
