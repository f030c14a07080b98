"""Collaborators that find something in one episode: small files, none of which needs a model."""
