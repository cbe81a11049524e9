"""What a person at one node can see and choose from."""

import sqlite3
from contextlib import closing

from catalogue import KINDS


class Look:
    def __init__(self, node):
        self.node = node

    def select(self, sql, *values):
        address = f"file:{self.node.store}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=20)) as store:
            return store.execute(sql, values).fetchall()

    def visible(self, kind):
        return {bytes.fromhex(text.replace("-", "")) for text, in self.select(f"SELECT id FROM {KINDS[kind].view}")}

    def dead(self):
        """Records that were deleted."""
        return [
            (kind.number, record) for kind in KINDS.values() if kind.view
            for record, in self.select(f"SELECT id FROM {kind.table} WHERE life = 0")]

    def operations(self):
        """The operations that the store knows, oldest first."""
        return list(dict.fromkeys(
            operation for operation, in self.select("SELECT operation FROM change_sets WHERE folded = 1 ORDER BY number")))

    def conflicts(self):
        return sorted(self.node.ask("conflicts.list")["conflicts"], key=lambda conflict: conflict["id"])
