"""Commands that give the content of a lake to others: report, export, mcp, register."""
