"""`history RECORD`: every write of a record has a line with its outcome."""

import collections

from catalogue import KINDS, uuid_text
from change_set import is_whole
from compare import Difference, brief, describe, expect, milliseconds
from model import LIFE


def compare_history(node, model, keys):
    for key in keys:
        document = node.ask("history", record=uuid_text(key[1]), limit="1000000")
        Past(node.name, model, key, document["writes"]).check()


def keys_with_history(model):
    """The records with an unambiguous id."""
    kinds = collections.Counter(record for _, record in model.records)
    return sorted(key for key in model.records if key[0] in KINDS and kinds[key[1]] == 1)


class Past:
    def __init__(self, who, model, key, lines):
        self.who, self.model, self.key, self.lines = f"{who}: history of {describe(key)}", model, key, lines

    def check(self):
        sets = {write.set for of_cell in self.model.records[self.key].values() for write in of_cell}
        wanted = collections.Counter(map(self.name, sets))
        found = collections.Counter(
            (line["id"].replace("-", ""), line["device"], milliseconds(line["time"])) for line in self.lines)
        if wanted - found:
            raise Difference(f"{self.who}: no line for {brief(wanted - found)}")
        by_name = {self.name(each): each for each in sets} if len(wanted) == len(sets) else {}
        for line in self.lines:
            each = by_name.get((line["id"].replace("-", ""), line["device"], milliseconds(line["time"])))
            if each is not None:
                self.cells(each, {cell["field"]: cell for cell in line["fields"]}, line["hidden"])

    @staticmethod
    def name(each):
        return each.operation.hex(), each.device.hex(), each.clock >> 16

    def cells(self, each, lines, is_hidden):
        for number, of_cell in self.model.records[self.key].items():
            write = next((write for write in of_cell if write.set is each), None)
            winner = self.model.winners[self.key][number]
            if write is None or write.is_absent:
                continue
            if is_whole(self.key[0]):
                for line in lines.values():
                    expect(line["state"] == "shows", write is winner, f"{self.who}: whether it shows")
                continue
            line = lines[self.field(number)]
            expect(line["state"] == "shows", write is winner, f"{self.who}: whether {line['field']} shows")
            if write in self.model.maximal(of_cell) and write.says != winner.says:
                expect(line["state"], "lost", f"{self.who}: what became of {line['field']}")

    def field(self, number):
        if number == LIFE:
            return "life"
        known = KINDS[self.key[0]].fields
        return known[number].name if number in known else f"field {number}"
