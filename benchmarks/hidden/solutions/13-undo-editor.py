import sys

states = [""]
current = 0
for line in sys.stdin.read().splitlines():
    command, _, argument = line.partition(" ")
    if command in ("type", "drop"):
        text = states[current]
        text = text + argument if command == "type" else text[: max(0, len(text) - int(argument))]
        del states[current + 1 :]
        states.append(text)
        current += 1
    elif command == "undo":
        current = max(0, current - 1)
    elif command == "redo":
        current = min(len(states) - 1, current + 1)
    else:
        print(f"[{states[current]}]")
