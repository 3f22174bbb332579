"""What the page shows is what the commands say."""
CHECKS = []
