"""`python -m palestra.cli`: the commands. Processes that are started from here load nothing of them again, because
multiprocessing leaves out a main module of this name."""

from palestra.cli.app import main

if __name__ == "__main__":
    main()
