"""Entry points for inference hosts: thin, each built on the public API as any host would use it."""
