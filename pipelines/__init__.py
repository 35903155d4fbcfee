"""From directories to tables: everything that runs on Spark and Delta. See DESIGN.md section 5."""
