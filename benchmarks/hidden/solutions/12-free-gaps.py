def free_gaps(bookings, closing):
    gaps = []
    free_from = 0
    for start, end in sorted(bookings):
        if start == end:
            continue
        if start > free_from:
            gaps.append([free_from, min(start, closing)])
        free_from = max(free_from, end)
        if free_from >= closing:
            break
    if free_from < closing:
        gaps.append([free_from, closing])
    return [gap for gap in gaps if gap[0] < gap[1]]
