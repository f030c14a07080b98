"""A run as one HTML page: what changed and why, what it rests on, what declined, how to undo it.

The page is one file that loads nothing, for a person who was sent it: it reads on a phone, prints,
and needs no script. What memory holds comes from strangers, so every text passes ``markup.py``.
"""
