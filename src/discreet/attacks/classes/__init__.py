"""What the classes of one release tell about sensitive columns."""
