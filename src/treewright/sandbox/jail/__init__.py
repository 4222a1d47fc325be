"""The host's side of the hardened sandboxes: jails, slots, and the runs handed to them."""
