def fewest_stamps(drawer, postage):
    impossible = postage + 1  # more stamps than any way needs
    fewest = [0] + [impossible] * postage
    for value, count in drawer.items():
        bundle = 1
        while count > 0 and value * bundle <= postage:
            bundle = min(bundle, count)
            count -= bundle
            worth = value * bundle
            for total in range(postage, worth - 1, -1):
                if fewest[total - worth] + bundle < fewest[total]:
                    fewest[total] = fewest[total - worth] + bundle
            bundle *= 2
    return fewest[postage] if fewest[postage] < impossible else None
