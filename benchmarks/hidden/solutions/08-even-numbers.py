def even_numbers(numbers):
    return [number for number in numbers if number % 2 == 0]
