"""What each command prints. One file a command; the work itself is in the rooms."""
