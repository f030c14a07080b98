"""One small file per phase, one public factory in each; `roster.py` alone knows their order."""
