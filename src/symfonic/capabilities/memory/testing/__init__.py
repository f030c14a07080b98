"""What a test of this package needs, shipped so that other stores and phases can be held to it.

``builders`` makes small values, ``strategies`` random ones, ``scripted`` collaborators that answer
from a script, and ``store_contract`` is the suite that every store has to pass.
"""
