"""Spark itself: how it is started, its sessions, their settings."""
