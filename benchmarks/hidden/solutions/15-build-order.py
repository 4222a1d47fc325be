import heapq


def build_order(needs):
    missing = {part: set(required) for part, required in needs.items()}
    parts = set(missing).union(*missing.values())
    users = {part: [] for part in parts}
    for part, required in missing.items():
        for need in required:
            users[need].append(part)
    ready = [part for part in parts if not missing.get(part)]
    heapq.heapify(ready)
    order = []
    while ready:
        part = heapq.heappop(ready)
        order.append(part)
        for user in users[part]:
            missing[user].remove(part)
            if not missing[user]:
                heapq.heappush(ready, user)
    return order if len(order) == len(parts) else None
