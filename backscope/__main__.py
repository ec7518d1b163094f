"""`python -m backscope train.py …`: runs a PyTorch script and explains the error that ends it.

The script runs as Python would run it. When autograd raises, the explanation follows the traceback: what happened, the
line that saved, the line that changed, what cures it. How it is done: backscope/script/.
"""

import sys

if __name__ == "__main__":
    from backscope.script.command import main

    main(sys.argv[1:])
