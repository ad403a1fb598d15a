"""``python -m bench`` is ``certigap``."""

from bench.cli import main

main()
