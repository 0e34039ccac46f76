"""Contains a program that nobody trusts: bubblewrap or Landlock, seccomp, control groups, a keeper that ends it.

Hostile input. May be touched with a test that tries to get out. Empty: some of it runs with the standard library alone.
"""
