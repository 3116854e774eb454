import sys

from tests.bounds.run import main

sys.exit(main())
