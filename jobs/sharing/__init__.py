"""Commands that give what a lake holds to others: report, register, publish."""
