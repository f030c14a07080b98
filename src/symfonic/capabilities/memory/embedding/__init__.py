"""Embedders: text to vectors, behind one small protocol. None is needed; one improves recall."""
