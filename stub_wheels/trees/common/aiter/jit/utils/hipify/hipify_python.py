"""Source translation; the stub translates nothing."""
