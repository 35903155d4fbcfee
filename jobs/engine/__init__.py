"""Commands that run replicas, simulate them or read from running ones."""
