import heapq
import sys

numbers = iter(map(int, sys.stdin.read().split()))
towns, trains, most = next(numbers), next(numbers), next(numbers)
markets = {next(numbers) for _ in range(next(numbers))}
leaving = [[] for _ in range(towns + 1)]
for _ in range(trains):
    start, end, price = next(numbers), next(numbers), next(numbers)
    leaving[start].append((end, price))

queue = [(0, 1, most)]
done = set()
while queue:
    paid, town, coupons = heapq.heappop(queue)
    if town == towns:
        print(paid)
        break
    if (town, coupons) in done:
        continue
    done.add((town, coupons))
    for end, price in leaving[town]:
        for used in range(min(coupons, 1) + 1):
            left = min(most, coupons - used + (end in markets))
            heapq.heappush(queue, (paid + (price // 2 if used else price), end, left))
else:
    print("no way")
