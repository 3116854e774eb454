"""Renderers of a Report: one file per format.  A renderer only reads; nothing is decided here."""
