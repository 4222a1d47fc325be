"""What runs inside a jail: standard library only, since the interpreter of the programs loads it."""
