totals = {}
for _ in range(int(input())):
    name, points = input().split()
    totals[name] = totals.get(name, 0) + int(points)

previous = None
place = 0
for row, (name, total) in enumerate(sorted(totals.items(), key=lambda entry: (-entry[1], entry[0])), 1):
    if total != previous:
        place = row
    previous = total
    print(f"{place}. {name} {total}")
