"""What strangers tried, against a real server."""
