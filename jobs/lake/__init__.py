"""Commands that fill a lake and keep it: ingest, build, quality, lake, maintain, forget, demo."""
