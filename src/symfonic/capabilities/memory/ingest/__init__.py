"""From files and live messages to turns: one reader per format, one shared normaliser."""
