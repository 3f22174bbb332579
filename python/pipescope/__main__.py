"""`python -m pipescope`: the command `pipescope` of this Python's wheel, wherever PATH leads."""
import sys

try:
    from pipescope_training import main
except ImportError:
    sys.exit("pipescope: the program does not come with this copy of the package")
main()
