"""The operations of ``Memory``, by what they are about: each class is a part of it."""
