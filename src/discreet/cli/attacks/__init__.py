"""The methods of `discreet attack`, one file each, and how their findings are shown."""
