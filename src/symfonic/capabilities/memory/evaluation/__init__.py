"""Measurements that a user can repeat on data of their own."""
