"""What releases of AITER lack of what a host uses, and what a host should change."""
