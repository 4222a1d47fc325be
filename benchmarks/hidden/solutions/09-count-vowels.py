def count_vowels(text):
    return sum(letter in "aeiouAEIOU" for letter in text)
