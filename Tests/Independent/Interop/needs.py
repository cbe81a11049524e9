"""Protocol/session.md, "Heads and needs": what a peer has of a lane and is missing here."""

from encoding import require

WANTS_MAX = 1_024
# How many sets before the first request the second one begins; each further one goes back four times as far.
STEP_BACK = 16


class Needs:
    """The heads that a peer has sent in one lane of a session, and the requests that follow from them."""

    def __init__(self, lane, may_author):
        self.lane, self.may_author = lane, may_author
        # Log → {id of a tip: its sequence}.
        self.told = {}
        # Log → how many sets before our oldest tip its next request begins; log → where its last request begins.
        self.back, self.begun = {}, {}

    def hear(self, complete, heads):
        if complete:
            self.told = {}
        for log in {(device, incarnation) for device, incarnation, *_ in heads}:
            tips = {tip: sequence for *of, sequence, tip, _ in heads if tuple(of) == log}
            known = self.told.get(log, {})
            # One head replaces the one that was known, unless the log has forked.
            self.told[log] = {**known, **tips} if len(tips) > 1 or len(known) > 1 else tips

    def arrive(self, verified, now):
        """Stores a set; one that came too early counts as a head."""
        try:
            self.lane.place(verified, now)
        except KeyError:
            self.came_early(verified)
        else:
            self.back.pop(verified.log, None)

    def came_early(self, verified):
        log, told = verified.log, self.told.setdefault(verified.log, {})
        if all(sequence < verified.sequence for sequence in told.values()):
            told[verified.id] = verified.sequence
        if self.begun.get(log) == verified.sequence > 1:
            self.back[log] = 4 * self.back[log] if log in self.back else STEP_BACK

    def wants(self):
        """One tip of each log first, then further tips of forked logs."""
        found = {log: self.lacking(log) for log in sorted(self.told) if self.may_be_stored(log)}
        firsts = [(log, tips[0]) for log, tips in found.items() if tips]
        rest = [(log, tip) for log, tips in found.items() for tip in tips[1:]]
        return [self.want(*each) for each in firsts + rest][:WANTS_MAX]

    def may_be_stored(self, log):
        cuts = self.lane.cuts_of(*log, self.lane.lane)
        return self.may_author(log[0]) and (not cuts or any(cuts))

    def lacking(self, log):
        """(sequence, id) of the tips that are missing here, ascending."""
        tips = sorted((sequence, tip) for tip, sequence in self.told[log].items())
        return [tip for tip in tips if self.lacks(log, *tip)]

    def lacks(self, log, sequence, tip):
        if tip in self.lane.by_id or self.lane.is_beyond(log, sequence):
            return False
        if self.lane.cuts_of(*log, self.lane.lane):
            # While a kept tip is missing, any set may lead to it; afterwards all that is kept is here.
            return None in self.lane.cuts(log)
        own = self.own(log)
        if len(own) > 1 or len(self.told[log]) > 1:
            return True
        return not own or sequence >= own[0]

    def own(self, log):
        """The sequences of our tips of a log, ascending."""
        return sorted(each.sequence for each in self.lane.tips() if each.log == log)

    def want(self, log, tip):
        sequence, id = tip
        own = self.own(log)
        first = max(1, min(sequence, own[0] + 1 if own else 1) - self.back.get(log, 0))
        self.begun[log] = first
        require(first <= sequence, "range of a want")
        return [*log, first, sequence, id]
