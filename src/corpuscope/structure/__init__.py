"""Offline tables of contents."""
