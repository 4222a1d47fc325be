def backwards(text):
    return text[::-1]
