"""A small model of a deployment: what must happen to every id, in plain dicts; it knows nothing of agents."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818
    """The call must fail, with an error of this name."""


class Model:
    """Ids and what became of them: pending, closed; the reward; whether the agent learned it, in which order."""

    def __init__(self, window, default, most):
        self.window, self.default, self.most = window, default, most
        self.now = 0.0
        self.order, self.status, self.value, self.body, self.closes = [], {}, {}, {}, {}
        self.taught = {}
        self.learned = []

    def close(self):
        """Learn, in the order of the decisions, all whose window has ended; how many."""
        count = 0
        while self.order and self.window is not None and self.closes[self.order[0]] <= self.now:
            id_ = self.order.pop(0)
            self.status[id_] = "closed"
            value = self.default if self.value[id_] is None else self.value[id_]
            if value is not None and self.taught[id_]:
                self.learned.append((id_, value))
                count += 1
        return count

    def decide(self, id_, body, holdout):
        """``holdout`` tells whether the deployment drew the action; True if the id is new."""
        self.close()
        if id_ in self.status:
            if self.body[id_] != body:
                raise Refused("Conflict")
            return False
        if len(self.order) >= self.most:
            raise Refused("Full")
        self.order.append(id_)
        self.status[id_], self.body[id_], self.value[id_] = "pending", body, None
        self.closes[id_] = None if self.window is None else self.now + self.window
        self.taught[id_] = not holdout
        return True

    def reward(self, id_, value):
        self.close()
        if id_ not in self.status:
            raise Refused("Unknown")
        if self.value[id_] is not None:
            if self.value[id_] != value:
                raise Refused("Conflict")
            return False
        if self.status[id_] == "closed":
            raise Refused("Closed")
        self.value[id_] = value
        if self.window is None:
            self.order.remove(id_)
            self.status[id_] = "closed"
            if self.taught[id_]:
                self.learned.append((id_, value))
        return True

    def forget(self, id_):
        if id_ not in self.status:
            raise Refused("Unknown")
        if self.status[id_] == "closed":
            raise Refused("Closed")
        self.order.remove(id_)
        self.status[id_], self.value[id_] = "closed", None

    def restart(self):
        for id_ in self.order:
            self.taught[id_] = False
        self.learned = []
