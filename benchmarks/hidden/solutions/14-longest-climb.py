def longest_climb(heights):
    best = 0
    clean = struck = 0  # longest climbs that end here: with nothing struck out, and with one milestone inside
    previous_clean = 0
    for i, height in enumerate(heights):
        higher = i > 0 and height > heights[i - 1]
        over_a_gap = previous_clean + 1 if i > 1 and height > heights[i - 2] else 0
        previous_clean = clean
        struck = max(struck + 1 if higher and struck else 0, over_a_gap)
        clean = clean + 1 if higher else 1
        best = max(best, clean, struck)
    return best
