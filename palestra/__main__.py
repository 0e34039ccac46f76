"""python -m palestra: the same as the command `palestra`."""

from palestra.cli import main

main()
