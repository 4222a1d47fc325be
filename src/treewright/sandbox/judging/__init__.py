"""How a program is judged: its tests taken apart, run, compared. `harness` is the way in."""
