def average(numbers):
    return sum(numbers) / len(numbers) if numbers else 0
