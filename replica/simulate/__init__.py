"""The simulator: what a seed decides. So far its disk, which loses what was not synced."""
