"""``irverify lower``: one file captured at the given shape, printed as KIR or as what its framework made.

Takes options, an entry and a form; gives text.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from irverify import sandbox
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import supervise
from irverify.prepare import prepare_one
from lowering.errors import UsageError


def lower(options: CompareOptions, entry: str | None, to: str) -> str:
    """The text of one form; a usage error names the forms that this subject has."""
    with tempfile.TemporaryDirectory(prefix="irverify-", ignore_cleanup_errors=True) as directory:
        exchange = Exchange(Path(directory))
        side, job = prepare_one(options.a, entry, options, exchange.directory)
        child = sandbox.start("a", job.to_json(), exchange.directory, options.timeout, options.memory)
        supervise([child], exchange, [side.path.name], options)
        if to == "kir":
            return exchange.read_text("a.v0.kir")
        sources = exchange.read("a.v0")["sources"]
        if to not in sources:
            raise UsageError(f"{side.path}:{side.entry} has no {to}; it has kir, {', '.join(sources)}")
        return exchange.read_text(f"a.v0.{to}")
