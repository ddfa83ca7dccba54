"""The kinds of hierarchies, one file each: how a value becomes coarser, level by level."""
